"""What must hold after a run of tools/soak, whatever was done to it."""

import json
import math
import os
from pathlib import Path

from soak_run import BATCH, GRACE

GUESSING = math.log(10)  # the loss of a guess at one of ten classes
ENOUGH_STEPS = 250  # every strategy has learnt much by then, without faults; on a busy machine a run makes fewer
MEMORY_SLACK = 16 << 20  # bytes, of what a worker may grow in the second half
MEMORY_GROWTH = 1.1


def complaints(run):
    """What is wrong, as texts. Waits for the end of the run."""
    code = run.wait()
    if code is None:
        return [f"the run still went on {GRACE} s after its time; ranks that live: {run.living()}"]
    # Of a run that was disturbed more than was planned, nothing is known but that it ends and leaves nothing.
    found = [] if run.disturbed else in_result(run, code)
    return found + in_memory(run.memory) + left_over(run)


def in_result(run, code):
    found = [] if code == 0 else [f"exit code {code}"]
    summary = run.out / "summary.json"
    return found + (in_summary(run, json.loads(summary.read_text())) if summary.exists() else ["there is no summary"])


def in_summary(run, summary):
    found = []
    ended = {int(rank) for rank in summary["ended"]}
    if ended != run.lost:
        found.append(f"lost are said to be {sorted(ended)}; they are {sorted(run.lost)}")
    steps = summary["steps_per_worker"]
    fewest = min(made for rank, made in enumerate(steps) if rank not in ended)
    learnt = fewest >= ENOUGH_STEPS
    if not (summary["final_train_loss"] or math.nan) < (0.8 if learnt else 1.05) * GUESSING:
        found.append(f"the loss after {steps} steps is {summary['final_train_loss']}")
    if learnt and not (summary["test_accuracy"] or 0) > 0.2:
        found.append(f"the accuracy is {summary['test_accuracy']}")
    if summary["samples"] != BATCH * sum(steps):
        found.append(f"{summary['samples']} samples are not {steps} steps of {BATCH}")
    if fewest == 0:
        found.append(f"a worker made no step: {steps}")
    return found


def second_half(samples):
    """The first and the last sample of it."""
    return samples[len(samples) // 2], samples[-1]


def in_memory(memory):
    """A worker's memory may not grow with the length of a run."""
    found = []
    for rank, samples in sorted(memory.items()):
        half, end = second_half(samples) if samples else (0, 0)
        if end > MEMORY_GROWTH * half + MEMORY_SLACK:
            found.append(f"rank {rank} grew from {half >> 20} MiB at half time to {end >> 20} MiB")
    return found


def memory_text(memory):
    """'rank 0 50.1 to 50.3 MiB, ...': at half time and at the end of each."""
    spans = {rank: second_half(samples) for rank, samples in sorted(memory.items()) if samples}
    return ", ".join(f"rank {rank} {half / 2**20:.1f} to {end / 2**20:.1f} MiB" for rank, (half, end) in spans.items())


def left_over(run):
    launcher = f"starling-{run.program.pid}-"  # the names of what a run on one host shares begin so
    found = [f"process {pid} still runs" for pid in run.left_processes()]
    found += [f"/dev/shm/{name} is left" for name in os.listdir("/dev/shm") if name.startswith(launcher)]
    found += [f"a socket is left: {line.split()[-1]}" for line in Path("/proc/net/unix").read_text().splitlines()
              if f"@{launcher}" in line]
    found += [f"{file} is half written" for file in run.out.rglob("*.part")]
    found += [f"temporary file {file} is left" for file in (run.out.parent.parent / "tmp").iterdir()]
    return found
