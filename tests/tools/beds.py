"""Common parts of the tests on hosts of the test bed."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

TOOL = str(Path(__file__).resolve().parents[2] / "tools" / "hosts")
BED = f"test{os.getpid()}"
SKIPPED = 77


def hosts(*words):
    return subprocess.run([TOOL, *words], capture_output=True, text=True, timeout=60)


def pids_on(host):
    return subprocess.run(["ip", "netns", "pids", f"starling-{BED}-{host}"], capture_output=True, text=True,
                          check=True).stdout.split()


def leave_without_hosts():
    """Ends the test as skipped where namespaces cannot be made."""
    check = hosts("check")
    if check.returncode != 0:
        print(check.stdout + check.stderr)
        sys.exit(SKIPPED)


def leave_without_trainer(program):
    """Ends the test as skipped where `starling train` is not there."""
    if not (Path(program).parent / "starling-trainer").exists():
        print("skipped: there is no starling-trainer")
        sys.exit(SKIPPED)


def start_training(program, places, strategy, steps, folder, *flags, **variables):
    """`starling launch` of `starling train` on the hosts of the bed. Its errors come through a pipe."""
    return subprocess.Popen(
        [program, "launch", "--hosts", places, "--strategy", strategy, "--agent", f"{TOOL} agent --name {BED}", "--",
         program, "train", "--model", "mlp", "--data", "glyphs", "--steps", str(steps), "--pace", "20ms",
         "--eval-points", "1", "--out", folder, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **variables})


class Bed:
    """The hosts are there within a `with`."""

    def __init__(self, names):
        self.names = names

    def __enter__(self):
        made = hosts("up", "--name", BED, "--hosts", self.names, "--rate", "1gbit")
        assert made.returncode == 0, made.stderr
        return self

    def __exit__(self, *_):
        hosts("down", "--name", BED)


class OnTwoHosts(unittest.TestCase):
    """a and b."""

    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(Bed("a,b"))
