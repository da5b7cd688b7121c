"""How long a step of a solver takes, by formulas, and where one solver overtakes another.

Times are in units of a step's computing. With M the bytes of the model, B the bandwidth of a host and n the number of
workers, r = 2 M (n-1) / (n B) is the time of an all-reduce, so r is t_comm / t_comp.
"""

import math
import random

HEADER = 16  # bytes that precede a slice of the model on its way to the centre, not on its way back
DRAWS = 40_000


def mean_of_slowest(workers, sigma, slow=1.0):
    """The expected time of the slowest of them; steps vary lognormally around 1, one worker's around `slow`."""
    draw = random.Random(1)
    factors = [slow] + [1.0] * (workers - 1)
    rounds = max(20, DRAWS // workers)
    return sum(max(f * math.exp(sigma * draw.gauss(0, 1) - sigma * sigma / 2) for f in factors)
               for _ in range(rounds)) / rounds


def step_times(workers, slowest, ratio, model_bytes):
    """By the name of the solver: time of a step, that is of a round of all workers' steps.

    At a server the models of all workers share its link in, so they arrive together, and then the answers share its
    link out: a round takes both times.
    """
    model = ratio * workers / (2 * (workers - 1))  # one way, alone on the link
    headers = 1 + HEADER * workers / (2 * model_bytes)
    return {
        "Sync SGD": slowest + ratio,
        "Sync EASGD": max(slowest, ratio),
        "Async SGD": 1 + 2 * workers * model,
        "Async EASGD": max(1, 2 * workers * model),
        "EA-wild": max(1, ratio * headers),
    }


def first(times):
    return min(times, key=times.get)


def advantage(times, synchronous):
    """The logarithm of the best asynchronous time over the best synchronous one: above 0, synchronous is first."""
    sync = min(time for name, time in times.items() if name in synchronous)
    other = min(time for name, time in times.items() if name not in synchronous)
    if math.isinf(sync) and math.isinf(other):
        return 0.0
    if math.isinf(sync) or math.isinf(other):
        return math.inf if math.isinf(other) else -math.inf
    return math.log(other / sync)


def borders(ratios, advantages):
    """The ratios at which the advantage changes its sign, between two of `ratios` by interpolation of logarithms."""
    found = []
    for i in range(1, len(ratios)):
        before, after = advantages[i - 1], advantages[i]
        if (before > 0) == (after > 0):
            continue
        part = before / (before - after) if math.isfinite(before) and math.isfinite(after) else 0.5
        found.append(math.exp(math.log(ratios[i - 1]) * (1 - part) + math.log(ratios[i]) * part))
    return found


def predicted_borders(workers, slowest, steps, synchronous, model_bytes, lowest, highest):
    """`steps`: what each solver needs where communication takes less time than computing, and where it takes more."""
    count = 400
    ratios = [lowest * (highest / lowest) ** (i / count) for i in range(count + 1)]

    def times(ratio):
        one, needed = step_times(workers, slowest, ratio, model_bytes), steps[ratio >= 1]
        return {name: one[name] * needed[name] for name in needed}

    return borders(ratios, [advantage(times(ratio), synchronous) for ratio in ratios])
