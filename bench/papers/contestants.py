"""Who takes part in bench/papers/nonblocking, and under which conditions."""

from typing import NamedTuple

from solvers import LARGE, Solver

BATCH = 8  # samples of a worker's step, one in each of the eight pieces; with half of it the ring needs 1.4 x the steps


class Entry(NamedTuple):
    solver: Solver
    base: str = ""  # whose rate and momentum it has, and whose time it is compared with; its own if empty
    batch: int = BATCH

    @property
    def name(self):
        return self.solver.name


def entry(name, *words, base="", batch=BATCH, adds_up=False):
    return Entry(Solver(name, words, adds_up=adds_up), base, batch)


def family(name, base_words, words):
    """A base, the same cut in pieces, that without blocking, and that with a step in proportion to the pieces."""
    cut = ("nonblocking", "--base", *words)
    return [entry(name, *base_words), entry(name + CUT, *cut, "--trigger", "all", base=name),
            entry(name + FREE, *cut, base=name), entry(name + SCALED, *cut, "--scale", "pieces", base=name)]


CUT, FREE, SCALED = ", same pieces", ", non-blocking", ", non-blocking, scaled"
RING, DPSGD, DPSGD_MANY, MATCHA, RIPPLES = BASES = ["ring", "dpsgd", "dpsgd, exponential", "matcha", "ripples"]
FAMILIES = [
    *family(RING, ("allreduce", *LARGE), ("ring", *LARGE)), *family(DPSGD, ("dpsgd",), ("dpsgd",)),
    *family(DPSGD_MANY, ("dpsgd", "--graph", "exponential"), ("dpsgd", "--graph", "exponential")),
    *family(MATCHA, ("matcha",), ("matcha",)),
    # Nobody waits there for all others, so cut in pieces it would be the same.
    *(one for one in family(RIPPLES, ("ripples",), ("ripples",)) if one.name != RIPPLES + CUT)]
OURS = ("nonblocking", "--base", "ring", *LARGE)
OTHERS = [
    entry("ring, late finish", *OURS, "--late", "finish", base=RING),
    entry("ring, late drop", *OURS, "--late", "drop", base=RING),
    entry("ring, half the batch", "allreduce", *LARGE, batch=BATCH // 2),
    entry("ring, balanced", "allreduce", "--balance", "speed", *LARGE, base=RING),
    entry("ps asp", "ps", "--mode", "asp"),
    entry("ps ssp", "ps", "--mode", "ssp", adds_up=True),
    entry("adpsgd", "adpsgd"),
    entry("ea-wild", "ea-wild", "--centre", "sharded", "--alpha", "0.5"),
]


class Condition(NamedTuple):
    name: str
    slow: tuple = ()  # pairs of a worker and its factor; worker -1 stands for every second one
    jitter: str = "lognormal:0.02"  # workers that march exactly in step exist in simulators only
    span: str = "step"
    wanders: bool = False  # every five seconds another worker is four times slower
    mean_speed: float = 1  # of a worker, by its jitter: the mean of 1 / factor where it does not depend on the strategy

    def factors(self, workers):
        if -1 in dict(self.slow):
            return {rank: dict(self.slow)[-1] for rank in range(0, workers, 2)}
        return dict(self.slow)

    def words(self, workers):
        slow = [f"{rank}:{factor}" for rank, factor in self.factors(workers).items()]
        if self.wanders:
            slow = [f"{5 * i % workers}:4@{5 * i}s-{5 * i + 5}s" for i in range(200)]
        return (["--jitter", self.jitter, "--jitter-span", self.span]
                + (["--slow", ",".join(slow)] if slow else []))

    def most_speed(self, workers):
        """No strategy can be faster, in steps a second of all workers: 2 % are for the jitter, 10 % for a wide one."""
        factors = {0: 4} if self.wanders else self.factors(workers)
        steady = workers - len(factors) + sum(1 / factor for factor in factors.values())
        return steady * self.mean_speed * (1.02 if "lognormal" in self.jitter else 1.1)


# A draw that lasts for a step, however short, is not a property of the machine alone: a strategy that ends slow steps
# early has the slow draws for a shorter time. The speed is then the mean of 1 / factor: 25 / 21 for Pareto 2.5, and
# for the exponential infinite. With a draw for each piece every strategy has the mean speed 1.
ANY = float("inf")
EQUAL = Condition("equal")
ONE_SLOW = [Condition(f"one {factor}x slower", ((0, factor),)) for factor in (2, 4, 8)]
CLASSES = Condition("half 2.5x slower", ((-1, 2.5),))
WANDERING = Condition("changing 4x", wanders=True)
JITTERS = [Condition("exponential", jitter="exponential", mean_speed=ANY),
           Condition("exponential, piece", jitter="exponential", span="piece"),
           Condition("pareto", jitter="pareto:2.5", mean_speed=25 / 21),
           Condition("pareto, piece", jitter="pareto:2.5", span="piece")]
CONDITIONS = [EQUAL, *ONE_SLOW, CLASSES, WANDERING, *JITTERS]
FEW = [EQUAL, ONE_SLOW[1], CLASSES, WANDERING, *JITTERS[::2]]
# Few draws have no mean to go by, but Pareto's are at least 0.6.
LONGER = [one._replace(name=f"{one.name}, {span} steps", span=span, mean_speed=max(one.mean_speed, 5 / 3))
          for one in JITTERS[::2] for span in ("10", "100")]
