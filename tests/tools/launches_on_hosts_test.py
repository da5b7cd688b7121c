"""`starling launch` starts a run on several hosts and leaves nothing there, however it ends:
launches_on_hosts_test.py STARLING PROGRAM

The program is the example with its own gradients. Skipped where namespaces cannot be made.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from beds import BED, TOOL, OnTwoHosts, leave_without_hosts, pids_on

AGENT = f"{shlex.quote(TOOL)} agent --name {BED}"
STARLING = PROGRAM = ""
PATIENCE = 60  # seconds; nothing takes that long
ENDLESS = "sleep 1000 & echo started; wait"  # with a child


def launch(*words):
    return subprocess.Popen([STARLING, "launch", "--agent", AGENT, *words], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


class LaunchesOnHosts(OnTwoHosts):
    def assert_nothing_is_left(self):
        deadline = time.monotonic() + PATIENCE
        while left := pids_on("a") + pids_on("b"):
            self.assertLess(time.monotonic(), deadline, left)
            time.sleep(0.01)

    def run_to_end(self, *words):
        launcher = launch(*words)
        try:
            out, err = launcher.communicate(timeout=PATIENCE)
            return launcher.returncode, out, err
        finally:
            launcher.kill()

    def start_endless(self, *words):
        """Returns when all four run."""
        launcher = launch("--hosts", "a:2,b:2", *words, "--", "sh", "-c", ENDLESS)
        self.addCleanup(launcher.communicate)
        self.addCleanup(launcher.kill)
        lines = sorted(launcher.stdout.readline().strip() for _ in range(4))
        self.assertEqual(lines, ["[a 0] started", "[a 1] started", "[b 2] started", "[b 3] started"])
        self.assertGreaterEqual(len(pids_on("a")), 4)
        self.assertGreaterEqual(len(pids_on("b")), 4)
        return launcher

    def test_strategies_end_where_they_do_on_one_host(self):
        # All want the mean of the ranks; those that meet in groups stay on their way to what they want alone, which
        # is their rank: 1.5 from the mean for the first and the last.
        ripples = ("ripples", "--groups", "static", "--group-size", "2")
        for (strategy, *options), apart in {("allreduce",): 0.01, ("ps",): 0.01, ripples: 0.75}.items():
            code, out, err = self.run_to_end("--hosts", "a:2,b:2", "--strategy", strategy, *options, "--", PROGRAM)
            self.assertEqual(code, 0, f"{strategy}: {err}")
            ends = {(host, rank): float(x) for host, rank, x in re.findall(r"\[(\w) (\d)\] .* x = (\S+)", out)}
            self.assertEqual(set(ends), {("a", "0"), ("a", "1"), ("b", "2"), ("b", "3")}, out)
            for x in ends.values():
                self.assertAlmostEqual(x, 1.5, delta=apart, msg=strategy)
            self.assert_nothing_is_left()

    def test_a_host_whose_own_name_is_of_its_loopback_is_reached_by_it(self):
        names = Path(f"/etc/netns/starling-{BED}-a/hosts")
        before = names.read_text()
        try:
            names.write_text("127.0.1.1 a\n" + "".join(line for line in before.splitlines(True) if line.split()[1] != "a"))
            code, _, err = self.run_to_end("--hosts", "a,b", "--", PROGRAM)
            self.assertEqual(code, 0, err)
        finally:
            names.write_text(before)

    def test_a_signal_ends_the_run_everywhere(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            launcher = self.start_endless()
            launcher.send_signal(number)
            self.assertEqual(launcher.wait(PATIENCE), 128 + number)
            self.assert_nothing_is_left()

    def test_the_death_of_the_launcher_ends_the_run_everywhere(self):
        launcher = self.start_endless()
        launcher.kill()
        launcher.wait(PATIENCE)
        self.assert_nothing_is_left()

    def test_a_failure_ends_the_run_everywhere(self):
        code, _, err = self.run_to_end("--hosts", "a:2,b:2", "--", "sh", "-c",
                                       f"[ $STARLING_RANK = 3 ] && exit 4; {ENDLESS}")
        self.assertEqual(code, 4)
        self.assertIn("starling: rank 3 on b ended with exit code 4\n", err)
        self.assert_nothing_is_left()

    def test_a_worker_that_is_lost_ends_only_what_cannot_do_without(self):
        launcher = self.start_endless("--strategy", "ripples")
        # The children of the workers stand in for them: one dies, and then all others come to their end.
        sleeping = {host: [pid for pid in pids_on(host) if Path(f"/proc/{pid}/comm").read_text() == "sleep\n"]
                    for host in "ab"}
        parents = [Path(f"/proc/{pid}/stat").read_text().split()[3] for pid in sleeping["b"]]
        os.kill(int(parents[0]), signal.SIGKILL)
        self.assertRegex(launcher.stderr.readline(),
                         r"starling: rank [23] on b ended with signal 9 \(Killed\); the others go on\n")
        for pid in sleeping["a"] + sleeping["b"][1:]:
            os.kill(int(pid), signal.SIGTERM)
        self.assertEqual(launcher.wait(PATIENCE), 0)
        self.assert_nothing_is_left()

    def test_a_host_that_is_not_there_is_named(self):
        code, _, err = self.run_to_end("--hosts", "a,nowhere", "--strategy", "ripples", "--", "sh", "-c", ENDLESS)
        self.assertNotEqual(code, 0)
        self.assertIn(f"starling: rank 1 on nowhere could not be started: {TOOL} ended with exit code 2\n", err)
        self.assert_nothing_is_left()


if __name__ == "__main__":
    leave_without_hosts()
    STARLING = os.path.abspath(sys.argv.pop(1))
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
