"""The solvers that bench/papers/ea_wild compares; and for other papers too how runs are started and summed up."""

import argparse
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

MOMENTUM = 0.9
NEVER = float("inf")


class Solver(NamedTuple):
    name: str
    words: tuple  # the strategy and its options
    momentum: float = 0
    synchronous: bool = False
    shared: bool = False  # works in the memory of one host only
    adds_up: bool = False  # the steps of n workers move one model: the rate of a step is a part of n
    elastic: bool = False  # and asynchronous, so that alpha may be larger than 2 / n


ASYNC_SGD = ("async-sgd", "--scale", "none")
ROUND_ROBIN, PLAIN, PLAIN_MOMENTUM, HOGWILD, ELASTIC, ELASTIC_MOMENTUM, EA_WILD, SYNC_EASGD, SYNC_SGD = NINE = [
    Solver("EASGD, round-robin", ("easgd", "--order", "round-robin"), elastic=True),
    Solver("Async SGD", ASYNC_SGD, adds_up=True),
    Solver("Async MSGD", ASYNC_SGD, MOMENTUM, adds_up=True),
    Solver("Hogwild SGD", ("hogwild",), shared=True, adds_up=True),
    Solver("Async EASGD", ("easgd",), elastic=True),
    Solver("Async MEASGD", ("easgd",), MOMENTUM, elastic=True),
    Solver("EA-wild", ("ea-wild",), elastic=True),
    Solver("Sync EASGD", ("easgd", "--order", "sync"), synchronous=True),
    Solver("Sync SGD", ("allreduce",), synchronous=True),
]
# The paper says that the first of each pair is the faster one.
PAIRS = [(ELASTIC, PLAIN), (ELASTIC_MOMENTUM, PLAIN_MOMENTUM), (EA_WILD, HOGWILD)]

# The same steps, seen as ways to synchronise: each may have momentum or not, whichever is faster. For a small model the
# engine would choose another algorithm of the all-reduce; this is a large model's.
LARGE = ("--algorithm", "halving")
FAMILIES = [
    Solver("Sync SGD", ("allreduce", *LARGE), synchronous=True),
    Solver("Sync EASGD", ("easgd", "--order", "sync", *LARGE), synchronous=True),
    Solver("Async SGD", ASYNC_SGD, adds_up=True),
    Solver("Async EASGD", ("easgd", "--centre", "server"), elastic=True),
    Solver("EA-wild", ("ea-wild", "--centre", "sharded"), elastic=True),
]


class Setting(NamedTuple):
    """Of the optimiser. The rate counts for one worker of a solver whose steps add up as for n of the others."""
    momentum: float
    rate: float
    alpha: str = "auto"

    def words(self, solver, workers):
        rate = self.rate / workers if solver.adds_up else self.rate
        alpha = ["--alpha", self.alpha] if solver.elastic else []
        return ["--momentum", str(self.momentum), "--lr", f"{rate:.6g}", *alpha]


class Diverged(RuntimeError):
    """The run has ended because its numbers were no longer finite."""


def run(program, words):
    """The output of the command, as JSON, and what it said besides."""
    done = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    if done.returncode != 0 and ("diverged" in done.stderr or "are not finite" in done.stderr):
        raise Diverged(f"starling {' '.join(words)}: the run has diverged")
    if done.returncode != 0:
        raise RuntimeError(f"starling {' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout), done.stderr


class Machine(NamedTuple):
    """How its real runs are made."""
    program: str
    data: str
    jobs: int  # runs at the same time


def train(machine, words, most_seconds):
    """Seconds to the target, what there is to see whether the pace was kept, and the summary."""
    try:
        summary, said = run(machine.program, [
            "train", "--data", machine.data, *words, "--max-seconds", str(most_seconds), "--eval-every", "400ms",
            "--record", "off"])
    except Diverged:
        return {"seconds": NEVER, "late": False, "diverged": True}, {}
    return {"seconds": times_to_target([summary])[0], "late": "pace is too short" in said,
            "steps": summary["steps_per_worker"], "ran": summary["seconds"]}, summary


def times_to_target(summaries):
    times = [summary["time_to_target_seconds"] for summary in summaries]
    return [NEVER if time is None else time for time in times]


def median(times):
    """The lower one of the two in the middle; NEVER if most of the runs did not arrive."""
    return sorted(times)[(len(times) - 1) // 2] if times else NEVER


def map_all(function, keys, jobs=2):
    """A dictionary; so many at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(keys, pool.map(lambda key: function(*key), keys)))


def or_none(time):
    """For JSON, which has no infinity."""
    return None if time == NEVER else time


def shown(time, digits=1):
    return "-" if time in (None, NEVER) else f"{time:.{digits}f}"


def ratio(slower, faster):
    return None if NEVER in (slower, faster) else slower / faster


def options(doc, name, minutes):
    """Of a bench with a simulated and a real part."""
    here = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=here / "build", type=Path, help="where the program starling is (build)")
    parser.add_argument("--out", default=here / "runs/papers" / name, type=Path,
                        help=f"folder for the results (runs/papers/{name})")
    parser.add_argument("--data", default="glyphs", help="of the real runs: glyphs, or mnist:DIR (glyphs)")
    parser.add_argument("--seeds", default=3, type=int, help="of the real runs, at most (3)")
    parser.add_argument("--jobs", default=2, type=int, help="real runs at the same time (2)")
    parser.add_argument("--minutes", default=minutes, type=float,
                        help=f"of the real runs: nothing further begins later than this ({minutes})")
    parser.add_argument("--quick", action="store_true", help="fewer of everything: workers, rates, seeds, real runs")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--simulated", action="store_true", help="without the real part")
    only.add_argument("--real", action="store_true", help="the real part only")
    found = parser.parse_args()
    if not (found.build / "starling").is_file():
        parser.error(f"--build: there is no program {found.build / 'starling'}")
    return found


class Results:
    """What has been found so far, in a file: a run of this length may be stopped."""

    def __init__(self, folder, name):
        self.folder, self.name, self.report, self.begin = folder, name, {}, time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)

    def path(self):
        return self.folder / f"{self.name}.json"

    def keep(self):
        self.report["minutes"] = (time.monotonic() - self.begin) / 60
        self.path().write_text(json.dumps(self.report, indent=1) + "\n", encoding="utf-8")

    def draw(self, picture, content):
        (self.folder / picture).write_text(content, encoding="utf-8")
        print(f"\n{self.folder / picture}", flush=True)
