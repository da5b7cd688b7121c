"""A host is lost in the middle of a run and the others finish it: lost_host_test.py STARLING [TIMES]

Its cable is pulled, and a moment later its processes are killed. Each time at another moment. Skipped where namespaces
cannot be made or `starling train` is not there.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from beds import BED, Bed, hosts, leave_without_hosts, leave_without_trainer, pids_on, start_training

PATIENCE = 120  # seconds; a run takes 15
STEPS = 300


def kill_host(host):
    pids = pids_on(host)
    if pids:
        subprocess.run(["kill", "-9", *pids], stderr=subprocess.DEVNULL)


def lose_a_host(program, moment):
    """Returns the error, or nothing."""
    with tempfile.TemporaryDirectory() as folder, Bed("a,b,c"):
        launcher = start_training(program, "a:2,b:1,c:1", "ripples", STEPS, f"{folder}/run")
        try:
            while "epoch" not in (line := launcher.stderr.readline()) and line:
                pass  # until it trains
            time.sleep(moment.uniform(0, 1.5))  # any moment must do
            assert hosts("link", "--name", BED, "c", "down").returncode == 0
            time.sleep(moment.uniform(0, 1))
            kill_host("c")
            _, err = launcher.communicate(timeout=PATIENCE)
            if launcher.returncode != 0:
                return f"exit code {launcher.returncode}: {err}"
            steps = json.loads(Path(f"{folder}/run/summary.json").read_text())["steps_per_worker"]
            fine = steps[:3] == [STEPS] * 3 and steps[3] < STEPS
            print(f"steps of the workers: {steps}", flush=True)
            return "" if fine else f"steps of the workers: {steps}; {err}"
        finally:
            launcher.kill()


def main():
    leave_without_hosts()
    program = os.path.abspath(sys.argv[1])
    leave_without_trainer(program)
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    moment = random.Random(times)
    wrong = [why for why in (lose_a_host(program, moment) for _ in range(times)) if why]
    print(f"{times - len(wrong)} of {times} runs went on", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
