"""The real part of bench/papers/nonblocking: eight paced workers of this machine, seconds to an accuracy of 0.9."""

import time
from typing import NamedTuple

from contestants import FREE, SCALED, entry
from nonblocking_simulated import Impossible, table
from solvers import NEVER, map_all, median, or_none, ratio, shown, train

WORKERS = 8
MOST_SECONDS = 80
TARGET = 0.9
# The best of 0.025, 0.05, 0.1 and 0.2 for all-reduce with another seed; the others have the same.
OPTIMISER = ["--momentum", "0.9", "--lr", "0.05"]


class Condition(NamedTuple):
    name: str
    words: list
    most_speed: float  # of all workers together, in steps of a worker of normal speed


EQUAL = Condition("equal", [], WORKERS)
SLOW = Condition("one 4x slower", ["--slow", "0:4"], WORKERS - 0.75)
JITTER = Condition("exponential", ["--jitter", "exponential"], float("inf"))  # contestants.py says why
CONDITIONS = [EQUAL, SLOW, JITTER]


class Race(NamedTuple):
    model: str
    batch: int
    pace_ms: int
    jobs: int  # at the same time, at most: the cores must keep the pace


LENET, CNN = Race("lenet", 32, 100, 2), Race("cnn", 16, 200, 1)
HEATS = [(LENET, SLOW), (LENET, JITTER), (LENET, EQUAL), (CNN, SLOW)]
PAIRS = [one for base, words in (("ring", ["allreduce"]), ("dpsgd", ["dpsgd"]), ("matcha", ["matcha"]))
         for one in (entry(base, *words), entry(base + FREE, "nonblocking", "--base", base))]
SCALED_TOO = [entry(base + SCALED, "nonblocking", "--base", base, "--scale", "pieces")
              for base in ("ring", "dpsgd", "matcha")]
AUTO = entry("ring" + FREE + ", auto", "nonblocking", "--pieces", "auto")
BALANCED = entry("ring, balanced", "allreduce", "--balance", "speed")
OTHERS = [entry("ripples", "ripples"), entry("ripples" + FREE, "nonblocking", "--base", "ripples"),
          entry("adpsgd", "adpsgd")]


def entries_of(race, condition):
    """What there is time for."""
    others = SCALED_TOO if race == LENET and condition != EQUAL else []
    return PAIRS + [AUTO] + others + [BALANCED] + (OTHERS if (race, condition) == HEATS[0] else [])


def race_time(machine, race, one, condition, seed):
    """As train(), with the speed over that of equal workers."""
    words = ["--workers", str(WORKERS), "--model", race.model, "--batch", str(race.batch), "--pace",
             f"{race.pace_ms}ms", "--target-accuracy", str(TARGET), *OPTIMISER, *condition.words, "--seed", str(seed),
             "--strategy", *one.solver.words]
    found, summary = train(machine, words, MOST_SECONDS)
    if summary:
        speed = summary["samples_per_second"] / race.batch * race.pace_ms / 1000
        if speed > 1.02 * condition.most_speed:
            raise Impossible(f"starling train {' '.join(words)}: {speed:.2f} steps in {race.pace_ms} ms; more than "
                             f"{condition.most_speed} is impossible")
        found["speed"] = speed / WORKERS
    return found | {"seconds": or_none(found["seconds"])}


def middle(runs, key="seconds"):
    return median([NEVER if one.get(key) is None else one[key] for one in runs])


def cell(_, runs):
    if not runs:
        return "not run"
    times = [NEVER if one["seconds"] is None else one["seconds"] for one in runs]
    return f"{shown(middle(runs))} / {shown(max(times))}; {shown(middle(runs, 'speed'), 2)}"


def ratios(found, conditions):
    """How many times sooner without blocking than the base, by name and condition."""
    return {name: {one.name: ratio(middle(found[name.split(",")[0]][one.name]), middle(row[one.name]))
                   for one in conditions} for name, row in found.items() if FREE in name}


def show(race, found, data):
    conditions = [one for one in CONDITIONS if any(row[one.name] for row in found.values())]
    runs = [one for row in found.values() for cells in row.values() for one in cells]
    seeds = max(len(cells) for row in found.values() for cells in row.values())
    table(f"{race.model}, {data}, {WORKERS} paced workers, {race.pace_ms} ms for {race.batch} samples: seconds to an "
          f"accuracy of {TARGET}, median / worst of up to {seeds} seeds; samples per second, over those of equal "
          f"workers; the pace was not always kept in {sum(one['late'] for one in runs)} of {len(runs)} runs",
          found, conditions, cell, 22)
    found_ratios = ratios(found, conditions)
    table("How many times sooner than its base", found_ratios, conditions,
          lambda _, number: shown(number, 2), 22)
    return found_ratios


def real(machine, quick, minutes, most_seeds, results):
    """All of one seed before any of the next; nothing begins after the deadline but the first."""
    deadline, data = time.monotonic() + 60 * minutes, machine.data.split(":")[0]
    report = results.report["real"] = {"data": data, "target": TARGET}
    heats = HEATS[:1] if quick else HEATS
    for seed in range(1, (1 if quick else most_seeds) + 1):
        for race, condition in heats:
            if (seed, race, condition) != (1, *heats[0]) and time.monotonic() > deadline:
                return
            entries = PAIRS[:2] if quick else entries_of(race, condition)
            here = report.setdefault(race.model, {"found": {}})
            for one in entries:
                here["found"].setdefault(one.name, {each.name: [] for each in CONDITIONS})
            runs = map_all(lambda one: race_time(machine, race, one, condition, seed), [(one,) for one in entries],
                           min(race.jobs, machine.jobs))
            for (one,), result in runs.items():
                here["found"][one.name][condition.name].append(result)
            print(f"\nseed {seed}, {condition.name}", flush=True)
            here["ratios"] = show(race, here["found"], data)
            results.keep()
