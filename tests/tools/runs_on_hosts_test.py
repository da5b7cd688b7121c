"""Programs that use Starling run on several hosts as they do on one: runs_on_hosts_test.py PROGRAM

The program is the example with its own gradients. Skipped where namespaces cannot be made.
"""

import os
import re
import signal
import subprocess
import sys
import unittest

from beds import BED, TOOL, OnTwoHosts, leave_without_hosts

PROGRAM = ""
PLACES = ["a", "a", "b", "b"]  # of the ranks
PATIENCE = 60  # seconds; nothing takes that long


def start(rank, strategy, port, **more):
    """A process of the run, on its host."""
    said = {"RANK": rank, "WORKERS": len(PLACES), "RANKS": len(PLACES), "RENDEZVOUS": f"a:{port}", "TOKEN": BED,
            "STRATEGY": strategy} | more
    words = [f"STARLING_{name}={value}" for name, value in said.items()]
    return subprocess.Popen([TOOL, "exec", "--name", BED, PLACES[rank], "--", "env", *words, PROGRAM],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class RunsOnHosts(OnTwoHosts):
    def run_all(self, strategy, port, **more):
        processes = [start(rank, strategy, port, **more) for rank in range(len(PLACES))]
        try:
            return [(process.communicate(timeout=PATIENCE), process.returncode) for process in processes]
        finally:
            for process in processes:
                process.kill()

    def test_strategies_end_where_they_do_on_one_host(self):
        # All want the mean of the ranks; those that meet in groups stay on their way to what they want alone, which
        # is their rank: 1.5 from the mean for the first and the last.
        apart = {"allreduce": 0.01, "dear": 0.01, "dpsgd": 0.5, "ripples": 0.75}
        options = {"ripples": "groups=static,group-size=2"}
        for port, strategy in enumerate(apart, start=4000):
            for (out, err), code in self.run_all(strategy, port, OPTIONS=options.get(strategy, "")):
                self.assertEqual(code, 0, f"{strategy}: {err}")
                found = re.search(r"x = (\S+)", out)
                self.assertTrue(found, out)
                self.assertAlmostEqual(float(found[1]), 1.5, delta=apart[strategy], msg=strategy)

    def test_a_token_that_differs_is_refused(self):
        processes = [start(0, "allreduce", 4100), start(1, "allreduce", 4100, TOKEN="another")]
        try:
            _, err = processes[1].communicate(timeout=PATIENCE)
            self.assertIn("the token is wrong", err)
        finally:
            for process in processes:
                process.send_signal(signal.SIGKILL)
                process.communicate()


if __name__ == "__main__":
    leave_without_hosts()
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
