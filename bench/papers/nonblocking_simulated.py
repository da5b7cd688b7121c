"""The simulated part of bench/papers/nonblocking: a small network, really trained on virtual time.

A step takes a second on a worker of normal speed, and the bandwidth of every host makes an all-reduce of the model
last a tenth of that (r = 0.1).
"""

from contestants import (BASES, BATCH, CONDITIONS, CUT, EQUAL, FAMILIES, FEW, FREE, LONGER, ONE_SLOW, OTHERS,
                         RING, SCALED)
from solvers import MOMENTUM, NEVER, Setting, map_all, median, or_none, ratio, run, shown, times_to_target

MODEL_BYTES = 4 * 676
RATIO = 0.1
TARGET_LOSS = 0.25
GRID = [Setting(momentum, rate) for momentum, rates in ((MOMENTUM, (0.1, 0.2, 0.4)), (0, (0.4, 0.8, 1.6)))
        for rate in rates]
TUNING_STEPS = 400
MOST_STEPS = 1000


class Impossible(RuntimeError):
    """A number that cannot be true."""


def to_loss(program, one, setting, workers, condition, seeds, steps=MOST_STEPS):
    """Of each of the seeds: seconds, steps of a worker, and samples per second over what all workers can do."""
    bandwidth = 2 * MODEL_BYTES * (workers - 1) / workers / RATIO
    words = ["simulate", "--workers", str(workers), "--workload", "mlp", "--batch", str(one.batch), "--step-time",
             f"{one.batch / BATCH:g}s", "--network", f"{bandwidth:.6g}/1us", "--strategy", *one.solver.words,
             *setting.words(one.solver, workers), *condition.words(workers), "--target-loss", str(TARGET_LOSS),
             "--stop-at-target", "--eval-steps", "2", "--steps", str(steps), "--record", "off", "--seeds", seeds]
    runs = run(program, words)[0]["runs"]
    speeds = [summary["samples_per_second"] / BATCH for summary in runs]
    if max(speeds) > condition.most_speed(workers):
        raise Impossible(f"starling {' '.join(words)}: {max(speeds):.2f} steps a second of the workers together; "
                         f"more than {condition.most_speed(workers):.2f} is impossible")
    return {"seconds": [or_none(time) for time in times_to_target(runs)],
            "steps": [sum(summary["steps_per_worker"]) / workers for summary in runs],
            "speed": [speed / workers for speed in speeds]}


def middle(found):
    """The median of the seconds."""
    return median([NEVER if time is None else time for time in found["seconds"]])


def best_settings(program, workers, entries, grid, seeds):
    """By name, with equal workers; and the whole grid. Whoever has a base has its setting."""
    keys = [(one, setting) for one in entries if not one.base for setting in grid]
    found = map_all(lambda one, setting: middle(
        to_loss(program, one, setting, workers, EQUAL, seeds, TUNING_STEPS)), keys)
    best = {one.name: min(grid, key=lambda setting: found[one, setting]) for one in entries if not one.base}
    best |= {one.name: best[one.base] for one in entries if one.base}
    return best, {f"{one.name}: momentum {setting.momentum:g}, rate {setting.rate:g}": or_none(time)
                  for (one, setting), time in found.items()}


def table(title, found, conditions, cell, width=18):
    print(f"\n{title}\n\n{'':<46}" + "".join(f"{one.name:>{max(width, len(one.name) + 2)}}" for one in conditions))
    for name, row in found.items():
        print(f"{name:<46}" + "".join(f"{cell(name, row[one.name]):>{max(width, len(one.name) + 2)}}"
                                      for one in conditions))


def seconds_cell(_, one):
    times = [NEVER if time is None else time for time in one["seconds"]]
    return f"{shown(middle(one), 0)} / {shown(max(times), 0)}"


def gains(found, conditions):
    """How many times sooner than their base, by base and condition, the others are that belong to it; and without
    blocking, sooner than the same pieces."""
    out = {}
    for base in (base for base in BASES if base in found):
        cut, free, scaled = (base + text for text in (CUT, FREE, SCALED))
        for text, slower, faster in ((free, base, free), (scaled, base, scaled), (cut, base, cut),
                                     (f"{free}: than same pieces", cut, free),
                                     (f"{scaled}: than same pieces", cut, scaled)):
            if slower in found and faster in found:
                out[text] = {one.name: ratio(middle(found[slower][one.name]), middle(found[faster][one.name]))
                             for one in conditions}
    return out


def print_all(workers, seeds, found, conditions):
    table(f"{workers} workers, simulated: seconds to a loss of {TARGET_LOSS}, median / worst of the seeds {seeds}",
          found, conditions, seconds_cell)
    table("Steps of a worker until then; samples per second, over what equal workers without jitter compute",
          found, conditions, lambda _, one: f"{median(one['steps']):.0f}; {median(one['speed']):.2f}")
    table("How many times sooner than its base",
          gains(found, conditions), conditions, lambda _, number: shown(number, 2))
    print(flush=True)


def places(quick):
    """(workers, who, conditions, seeds, seeds of the grid)"""
    pairs = [one for one in FAMILIES if CUT not in one.name or one.base == RING]
    if quick:
        return [(8, FAMILIES[:4] + OTHERS[:2], [EQUAL, ONE_SLOW[1]], "1..1", "101..101")]
    others = [one for one in OTHERS if not one.name.startswith("ps")]  # the link of one server: docs/choosing.md
    return [(8, FAMILIES + OTHERS, CONDITIONS, "1..5", "101..103"),
            (16, pairs + others, CONDITIONS, "1..3", "101..101"),
            (64, pairs + others, FEW, "1..3", "101..101")]


def run_all(program, workers, entries, conditions, settings, seeds, results, here):
    """Prints what there is in the end, and keeps what there is after each condition."""
    here |= {"seeds": seeds, "found": {}}
    for condition in conditions:
        runs = map_all(lambda one: to_loss(program, one, settings[one.name], workers, condition, seeds),
                       [(one,) for one in entries])
        for (one,), found in runs.items():
            here["found"].setdefault(one.name, {})[condition.name] = found
        results.keep()
    here["gains"] = gains(here["found"], conditions)
    print_all(workers, seeds, here["found"], conditions)
    results.keep()


def simulate(program, quick, results):
    report = results.report["simulated"] = {"target": TARGET_LOSS, "r": RATIO}
    for workers, entries, conditions, seeds, tuning in places(quick):
        settings, grid = best_settings(program, workers, entries, GRID[1:2] if quick else GRID, tuning)
        print(f"\n{workers} workers, momentum and rate: " + "; ".join(
            f"{one.name} {settings[one.name].momentum:g}, {settings[one.name].rate:g}"
            for one in entries if not one.base), flush=True)
        here = report[f"{workers} workers"] = {"grid": grid}
        here["settings"] = {name: setting._asdict() for name, setting in settings.items()}
        run_all(program, workers, entries, conditions, settings, seeds, results, here)
        if workers == 8 and not quick:
            ring = [one for one in entries if RING in (one.name, one.base)]
            run_all(program, workers, ring, LONGER, settings, seeds, results, report.setdefault("longer draws", {}))
