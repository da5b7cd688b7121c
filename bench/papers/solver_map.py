"""The simulated part of bench/papers/ea_wild: which solver is first, by workers, stragglers and t_comm / t_comp.

A network of 676 parameters is really trained, on virtual time: a step takes a second, and the bandwidth of every host
makes an all-reduce of the model last as many seconds as the ratio says.
"""

import math

from solver_theory import advantage, borders, first, mean_of_slowest, predicted_borders, step_times
from solvers import (ELASTIC, ELASTIC_MOMENTUM, FAMILIES, LARGE, MOMENTUM, NEVER, NINE, Setting, map_all, median,
                     or_none, run, shown, times_to_target)
from svg_chart import HeatMap

MODEL_BYTES = 4 * 676
TARGET_LOSS = 0.5
RATES = [0.1, 0.3, 1, 3]
ALPHAS = ["auto", "0.5"]
TUNED_AT = 0.1
MOST_STEPS = 150
MOST_STEPS_OF_NINE = 400  # those without momentum need more
HALF_DECADES = [0.01, 0.0316, 0.1, 0.316, 1, 3.16, 10, 31.6, 100]
SYNCHRONOUS = {solver.name for solver in FAMILIES if solver.synchronous}

EQUAL, JITTER, WILD, SLOW = CONDITIONS = ["equal", "jitter 0.3", "jitter 1", "one 4x slower"]
WORDS = {EQUAL: ["--jitter", "lognormal:0.02"], JITTER: ["--jitter", "lognormal:0.3"],
         WILD: ["--jitter", "lognormal:1"], SLOW: ["--jitter", "lognormal:0.02", "--slow", "0:4"]}
SIGMA_AND_SLOW = {EQUAL: (0.02, 1), JITTER: (0.3, 1), WILD: (1, 1), SLOW: (0.02, 4)}

# (model, network, seconds of a step, bytes of the model, bytes per second): the replays of docs/workloads.md.
REPLAYS = [("ResNet-50, 10 GbE", 0.218, 4 * 25_557_032, 1.25e9), ("VGG-16, 10 GbE", 0.386, 4 * 138_357_544, 1.25e9),
           ("ResNet-50, 1 GbE", 0.218, 4 * 25_557_032, 1.25e8), ("VGG-16, 1 GbE", 0.386, 4 * 138_357_544, 1.25e8),
           ("ResNet-50, 100 Gbit/s", 0.218, 4 * 25_557_032, 1.25e10)]


class Place:
    """A row of the map: how many workers, what varies, and how much is tried."""

    def __init__(self, workers, condition, ratios, seeds, families):
        self.workers, self.condition, self.ratios, self.seeds, self.families = (workers, condition, ratios, seeds,
                                                                                families)
        self.name = f"{workers} workers, {condition}"

    def slowest(self):
        return mean_of_slowest(self.workers, *SIGMA_AND_SLOW[self.condition])


def places(quick):
    without_slices = [solver for solver in FAMILIES if solver.name != "EA-wild"]
    if quick:
        return [Place(16, condition, HALF_DECADES[::4], "1..1", FAMILIES) for condition in (EQUAL, SLOW)]
    return ([Place(16, condition, HALF_DECADES, "1..3", FAMILIES) for condition in CONDITIONS]
            + [Place(64, condition, HALF_DECADES, "1..3", FAMILIES) for condition in (EQUAL, WILD)]
            + [Place(256, condition, HALF_DECADES[::2], "1..1", without_slices) for condition in (EQUAL, WILD)])


def to_loss(program, solver, setting, workers, ratio, condition, seeds, steps=MOST_STEPS):
    """Seconds of each of the seeds."""
    bandwidth = 2 * MODEL_BYTES * (workers - 1) / workers / ratio
    found, _ = run(program, [
        "simulate", "--workers", str(workers), "--workload", "mlp", "--step-time", "1s", "--network",
        f"{bandwidth:.6g}/1us", "--strategy", *solver.words, *setting.words(solver, workers), *WORDS[condition],
        "--target-loss", str(TARGET_LOSS), "--stop-at-target", "--eval-steps", "2", "--steps", str(steps),
        "--record", "off", "--seeds", seeds])
    return times_to_target(found["runs"])


def tune(program, solvers, workers, momenta, rates, seeds, steps=MOST_STEPS):
    """The median time, by solver and setting."""
    keys = [(solver, Setting(momentum, rate, alpha)) for solver in solvers for momentum in momenta(solver)
            for rate in rates for alpha in (ALPHAS if solver.elastic else ALPHAS[:1])]
    return map_all(lambda solver, setting: median(
        to_loss(program, solver, setting, workers, TUNED_AT, EQUAL, seeds, steps)), keys)


def best_settings(found):
    """By the solver's name."""
    best = {}
    for (solver, setting), time in found.items():
        if solver.name not in best or time < best[solver.name][1]:
            best[solver.name] = (setting, time)
    return {name: setting for name, (setting, _) in best.items()}


def family_settings(program, quick):
    """By workers, then by family. Slices have no effect on what is computed: EA-wild has Async EASGD's."""
    tuned = [solver for solver in FAMILIES if solver.name != "EA-wild"]
    settings = {}
    for workers, seeds in [(16, "101..101")] if quick else [(16, "101..103"), (64, "101..101")]:
        found = tune(program, tuned, workers, lambda _: (0, MOMENTUM), RATES[1:3] if quick else RATES, seeds)
        settings[workers] = best_settings(found)
        settings[workers]["EA-wild"] = settings[workers]["Async EASGD"]
    for workers in (64, 256, 3200):
        settings.setdefault(workers, settings[max(known for known in settings if known <= workers)])
    return settings


def measure(program, place, settings):
    """By the family's name: the medians, by ratio."""
    keys = [(solver, ratio) for solver in place.families for ratio in place.ratios]
    found = map_all(lambda solver, ratio: median(to_loss(
        program, solver, settings[solver.name], place.workers, ratio, place.condition, place.seeds)), keys)
    return {solver.name: [found[solver, ratio] for ratio in place.ratios]
            for solver in place.families}


def steps_needed(place, times, index):
    """By the formula, from the times at one of the ratios. The number is not the same at both ends of the axis: an
    exchange that lasts longer than a step mixes the models in another order."""
    one = step_times(place.workers, place.slowest(), place.ratios[index], MODEL_BYTES)
    return {name: row[index] / one[name] for name, row in times.items() if row[index] < NEVER}


def compare_borders(place, times):
    """Borders between synchronous and asynchronous: as simulated, and by the formula, with the steps of both ends of
    the axis, and with those of the cheap end alone, which predicts more."""
    columns = [{name: row[i] for name, row in times.items()} for i in range(len(place.ratios))]
    simulated = borders(place.ratios, [advantage(column, SYNCHRONOUS) for column in columns])
    steps = [steps_needed(place, times, end) for end in (0, -1)]
    formula, cheap_end = (predicted_borders(place.workers, place.slowest(), used, SYNCHRONOUS, MODEL_BYTES,
                                            place.ratios[0], place.ratios[-1]) for used in (steps, [steps[0]] * 2))
    return {"steps": steps, "simulated": simulated, "formula": formula, "within_2": within(simulated, formula, 2),
            "formula, cheap end": cheap_end, "cheap end within_2": within(simulated, cheap_end, 2)}


def within(some, others, factor):
    """Whether both have the same number of borders, and each pair is that close."""
    return len(some) == len(others) and all(max(a / b, b / a) <= factor for a, b in zip(some, others))


def print_place(place, times, found):
    print(f"\n{place.name}: seconds to a loss of {TARGET_LOSS}, median of the seeds {place.seeds}\n")
    print(f"{'t_comm / t_comp':<16}" + "".join(f"{ratio:>9g}" for ratio in place.ratios))
    for name, row in times.items():
        print(f"{name:<16}" + "".join(f"{shown(time, 0):>9}" for time in row))
    best = [first({name: row[i] for name, row in times.items()}) for i in range(len(place.ratios))]
    print(f"{'first':<16}" + "".join(f"{name.replace('Async', 'A.').replace('Sync', 'S.'):>9}" for name in best))
    for which in ("simulated", "formula", "formula, cheap end"):
        print(f"border, {which}: " + (", ".join(f"{ratio:.3g}" for ratio in found[which]) or "none"))
    print("within a factor of 2: " + ", with the steps of the cheap end only: ".join(
        "yes" if found[key] else "no" for key in ("within_2", "cheap end within_2")), flush=True)


def draw(measured):
    """The map: a row for each place, with the first solver of each ratio, coloured by how far its side is ahead."""
    rows = []
    for place, times, found in measured:
        cells = []
        for i, ratio in enumerate(place.ratios):
            column = {name: row[i] for name, row in times.items()}
            ahead = advantage(column, SYNCHRONOUS) / math.log(4)
            cells.append((math.log10(ratio), max(-1.0, min(1.0, ahead)), first(column)))
        marks = [(math.log10(ratio), dashed) for which, dashed in (("simulated", False), ("formula", True))
                 for ratio in found[which]]
        rows.append((place.name, cells, marks))
    points = [(math.log10(replay_ratio(*replay[1:])), replay[0]) for replay in REPLAYS]
    return HeatMap("First to the loss, by t_comm / t_comp: blue synchronous, red asynchronous; darker: further ahead",
                   -2.25, 2.25, rows, points, lambda log: f"{10 ** log:g}")


def replay_ratio(step, model_bytes, bandwidth):
    return 2 * model_bytes / bandwidth / step


def simulate_map(program, quick, report):
    settings = family_settings(program, quick)
    print("\n2. mlp, simulated: which solver is first\n\n"
          "momentum, rate (that of Async SGD: divided by the workers), alpha")
    for workers, by_name in settings.items():
        print(f"{workers:>5}: " + "; ".join(f"{name} {s.momentum:g}, {s.rate:g}, {s.alpha}"
                                            for name, s in by_name.items()))
    measured = []
    for place in places(quick):
        times = measure(program, place, settings[place.workers])
        found = compare_borders(place, times)
        measured.append((place, times, found))
        print_place(place, times, found)
    report["map"] = [{"place": place.name, "ratios": place.ratios, "seeds": place.seeds, "borders": found,
                      "seconds": {name: list(map(or_none, row)) for name, row in times.items()}}
                     for place, times, found in measured]
    report["map settings"] = {workers: {name: setting._asdict() for name, setting in by_name.items()}
                              for workers, by_name in settings.items()}
    report["replays"] = {replay[0]: replay_ratio(*replay[1:]) for replay in REPLAYS}
    print("\nt_comm / t_comp of replays: " + "; ".join(f"{name} {ratio:.2g}"
                                                      for name, ratio in report["replays"].items()))
    return [draw(measured)], settings


def across_hosts(solver):
    """The centre of elastic solvers is on a server, as in the paper, and EA-wild's on all hosts."""
    if solver.synchronous:
        return solver._replace(words=(*solver.words, *LARGE))
    if solver in (ELASTIC, ELASTIC_MOMENTUM) or "round-robin" in solver.words:
        return solver._replace(words=(*solver.words, "--centre", "server"))
    return solver


def simulate_nine(program, quick, report):
    """The nine solvers as they are defined, without the one that needs common memory, on 16 workers."""
    seeds = "1..2" if quick else "1..10"
    solvers = [across_hosts(solver) for solver in NINE if not solver.shared]
    found = tune(program, solvers, 16, lambda solver: (solver.momentum,), RATES[1:3] if quick else RATES,
                 "101..101" if quick else "101..103", MOST_STEPS_OF_NINE)
    best = best_settings(found)
    columns = [(ratio, condition) for ratio in (0.1, 1) for condition in (EQUAL, SLOW)]
    keys = [(solver, *column) for solver in solvers for column in columns]
    times = map_all(lambda solver, ratio, condition: to_loss(program, solver, best[solver.name], 16, ratio, condition,
                                                             seeds, MOST_STEPS_OF_NINE), keys)
    print(f"\n1. mlp, simulated, 16 workers: seconds to a loss of {TARGET_LOSS}, median and worst of the seeds {seeds}"
          "\n\n"
          f"{'t_comm / t_comp':<20}{'rate':>6}{'alpha':>7}"
          + "".join(f"{f'{r:g}, {c}':>20}" for r, c in columns) + f"{'settings':>10}")
    report["nine"] = {}
    for solver in solvers:
        cells = [times[solver, *column] for column in columns]
        tried = [time for (other, _), time in found.items() if other == solver]
        reached = f"{sum(time < NEVER for time in tried)} of {len(tried)}"
        print(f"{solver.name:<20}{best[solver.name].rate:>6g}{best[solver.name].alpha:>7}" + "".join(
            f"{shown(median(cell), 0) + ' / ' + shown(max(cell), 0):>20}" for cell in cells)
            + f"{reached:>10}", flush=True)
        report["nine"][solver.name] = best[solver.name]._asdict() | {"settings that reach it": reached} | {
            f"{r:g}, {c}": list(map(or_none, cell)) for (r, c), cell in zip(columns, cells)}
    print("(settings: with how many of the grid the loss is reached)")
