"""The real part of bench/papers/ea_wild: eight paced workers of this machine, seconds to an accuracy."""

import time
from typing import NamedTuple

from solvers import (EA_WILD, ELASTIC, HOGWILD, NEVER, NINE, PAIRS, SYNC_SGD, Setting, map_all, median, or_none,
                     ratio, shown, train)

WORKERS = 8
MOST_SECONDS = 15
RATES = [0.1, 0.4]
EQUAL, SLOW, JITTER = "equal", "one 4x slower", "jitter 0.3"
CONDITIONS = {EQUAL: [], SLOW: ["--slow", "0:4"], JITTER: ["--jitter", "lognormal:0.3"]}
# EA-wild with the overlap that it does not have by default, which depends on where the centre is.
OVERLAP = EA_WILD._replace(name="EA-wild, overlap on", words=("ea-wild", "--overlap", "on"))
NO_OVERLAP = EA_WILD._replace(name="EA-wild, overlap off", words=("ea-wild", "--overlap", "off"))
STRONGER = EA_WILD._replace(name="EA-wild, alpha 0.5")


class Race(NamedTuple):
    name: str
    words: list
    conditions: list
    switched: object  # EA-wild with its overlap the other way
    linked: bool = False


RACES = [
    Race("lenet", ["--model", "lenet", "--pace", "40ms", "--batch", "16", "--target-accuracy", "0.85"],
         [EQUAL, SLOW, JITTER], OVERLAP),
    Race("mlp, 1 Gbit/s", ["--model", "mlp", "--pace", "20ms", "--batch", "16", "--target-accuracy", "0.85",
                           "--link", "1gbe"], [EQUAL, SLOW, JITTER], NO_OVERLAP, True),
]


def takes_part(race, solver):
    return not (race.linked and solver.shared)


def solvers_of(race):
    return [solver for solver in (*NINE, race.switched, STRONGER) if takes_part(race, solver)]


def race_time(machine, race, solver, setting, condition, seed):
    """As train(), with the waits for locks."""
    words = ["--workers", str(WORKERS), *race.words, *CONDITIONS[condition], "--seed", str(seed), "--strategy",
             *solver.words, *setting.words(solver, WORKERS)]
    found, summary = train(machine, words, MOST_SECONDS)
    return found | {key: summary[key] for key in ("lock_waits",) if key in summary}


def best_settings(machine, race, solvers, rates):
    """By the solver's name, with equal workers and another seed than those of the table."""
    keys = [(solver, rate) for solver in solvers for rate in rates]
    found = map_all(lambda solver, rate: race_time(machine, race, solver, Setting(solver.momentum, rate), EQUAL,
                                               101)["seconds"], keys, machine.jobs)
    best = {solver.name: Setting(solver.momentum, min(rates, key=lambda rate: found[solver, rate]))
            for solver in solvers}
    return best, {f"{solver.name}, {rate:g}": or_none(seconds) for (solver, rate), seconds in found.items()}


def hold(machine, race, rates, most_seeds, deadline):
    """Runs by solver and condition, all of one seed before any of the next. A condition that would begin after the
    deadline is left out; the first one never."""
    tuned = [solver for solver in solvers_of(race) if solver in NINE]
    best, grid = best_settings(machine, race, tuned, rates)
    best[race.switched.name] = best[EA_WILD.name]
    best[STRONGER.name] = best[EA_WILD.name]._replace(alpha="0.5")
    found = {(solver, condition): [] for condition in race.conditions for solver in solvers_of(race)}
    for seed in range(1, most_seeds + 1):
        for condition in race.conditions:
            if (seed, condition) != (1, race.conditions[0]) and time.monotonic() > deadline:
                return best, grid, found
            keys = [(solver, condition) for solver in solvers_of(race)]
            runs = map_all(lambda solver, _: race_time(machine, race, solver, best[solver.name], condition, seed), keys,
                           machine.jobs)
            for key, one in runs.items():
                found[key].append(one)
    return best, grid, found


def seconds(found, solver, condition):
    return [one["seconds"] for one in found.get((solver, condition), [])]


def cell(found, solver, condition):
    times = seconds(found, solver, condition)
    return shown(median(times)) + " / " + shown(max(times)) if times else "not run"


def print_race(race, best, found):
    late = sum(one["late"] for runs in found.values() for one in runs)
    total = sum(len(runs) for runs in found.values())
    print(f"\n3. {race.name}, {WORKERS} paced workers of this machine ({' '.join(race.words)}): seconds, median and "
          f"worst of the seeds; the pace was not always kept in {late} of {total} runs\n")
    print(f"{'':<22}{'rate':>7}" + "".join(f"{condition:>18}" for condition in race.conditions))
    print(f"{'seeds':<29}" + "".join(f"{len(found[SYNC_SGD, condition]):>18}" for condition in race.conditions))
    for solver in (*NINE, race.switched, STRONGER):
        if not takes_part(race, solver):
            print(f"{solver.name:<22}{'needs common memory':>25}")
            continue
        print(f"{solver.name:<22}{best[solver.name].rate:>7g}" + "".join(
            f"{cell(found, solver, condition):>18}" for condition in race.conditions), flush=True)


def print_ratios(race, found):
    """EA-wild against its rivals, the paper's pairs, and what each switch of EA-wild brings."""
    def line(text, slower, faster):
        cells = [ratio(median(seconds(found, slower, c)), median(seconds(found, faster, c))) for c in race.conditions]
        print(f"{text:<46}" + "".join(f"{shown(cell, 2):>16}" for cell in cells))
        return cells
    print(f"\n{'how many times faster':<46}" + "".join(f"{condition:>16}" for condition in race.conditions))
    rivals = [solver for solver in NINE if solver != EA_WILD and takes_part(race, solver)]
    ratios = {f"EA-wild than {rival.name}": line(f"EA-wild than {rival.name}", rival, EA_WILD) for rival in rivals}
    for better, worse in PAIRS:
        if takes_part(race, worse):
            text = f"pair: {better.name} than {worse.name}"
            ratios[text] = line(text, worse, better)
    switches = [("switch: no locks", ELASTIC, EA_WILD)]
    if takes_part(race, HOGWILD):
        switches.append(("switch: elastic", HOGWILD, EA_WILD))
    on, off = (race.switched, EA_WILD) if race.switched == OVERLAP else (EA_WILD, race.switched)
    switches += [("switch: overlap", off, on), ("switch: alpha 0.5", EA_WILD, STRONGER)]
    return ratios | {text: line(text, worse, better) for text, worse, better in switches}


def real(machine, quick, minutes, most_seeds, report):
    """A panel for each race."""
    panels = []
    races = [RACES[0]._replace(conditions=[EQUAL])] if quick else RACES
    begin = time.monotonic()
    for i, race in enumerate(races):
        deadline = begin + 60 * minutes * (i + 1) / len(races)
        best, grid, found = hold(machine, race, RATES[1:2] if quick else RATES, most_seeds, deadline)
        print_race(race, best, found)
        ratios = print_ratios(race, found)
        report[f"real, {race.name}"] = {
            "words": race.words, "data": machine.data.split(":")[0], "grid": grid, "ratios": ratios,
            "rates": {name: setting.rate for name, setting in best.items()},
            "runs": {f"{solver.name}, {condition}": [one | {"seconds": or_none(one["seconds"])} for one in runs]
                     for (solver, condition), runs in found.items()}}
        ran = [condition for condition in race.conditions if found[SYNC_SGD, condition]]
        rows = [(solver.name, [or_none(median(seconds(found, solver, c))) for c in ran]) for solver in solvers_of(race)]
        panels.append((f"{race.name}, real: time to an accuracy of 0.85", ran, rows, "s"))
    return panels
