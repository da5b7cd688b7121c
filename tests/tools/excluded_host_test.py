"""A host is cut off, the others go on without it, and it comes back: excluded_host_test.py STARLING

Its worker ends with one line and exit code 75. Skipped where namespaces cannot be made or `starling train` is not there.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from beds import BED, Bed, hosts, leave_without_hosts, leave_without_trainer, start_training

PATIENCE = 100  # seconds; a run takes 15
STEPS = 400
CUT_OFF = 4  # seconds; the others wait for one


def wait_for(path, launcher):
    while not path.exists() and launcher.poll() is None:
        time.sleep(0.05)


def cut_off_and_come_back(program, folder):
    """Returns the exit code and the errors of the launcher."""
    launcher = start_training(program, "a:1,b:1,c:1", "allreduce", STEPS, folder, "--checkpoint-every", "10", "--json",
                              STARLING_SILENCE="1s")
    try:
        wait_for(Path(folder, "checkpoints", "latest.json"), launcher)
        assert hosts("link", "--name", BED, "c", "down").returncode == 0
        time.sleep(CUT_OFF)
        assert hosts("link", "--name", BED, "c", "up").returncode == 0
        _, err = launcher.communicate(timeout=PATIENCE)
        return launcher.returncode, err
    finally:
        launcher.kill()


def complaints(code, err, folder):
    if code != 0:
        yield f"exit code {code}"
    for line in ("[c 2] starling: rank 2 is no longer part of the run: ",
                 "starling: rank 2 on c ended with exit code 75; the others go on\n"):
        if err.count(line) != 1:
            yield f"not once: {line}"
    latest = json.loads(Path(folder, "checkpoints", "latest.json").read_text())
    if latest["step"] != STEPS or latest["ranks"] != [0, 1]:
        yield f"the last checkpoint: {latest}"


def main():
    leave_without_hosts()
    program = os.path.abspath(sys.argv[1])
    leave_without_trainer(program)
    with tempfile.TemporaryDirectory() as folder, Bed("a,b,c"):
        code, err = cut_off_and_come_back(program, f"{folder}/run")
        wrong = list(complaints(code, err, f"{folder}/run"))
    print(*wrong, err, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
