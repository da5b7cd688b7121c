"""The conformance suite of a transport between two hosts: conformance_on_hosts_test.py ucx TRANSPORT_TEST

... or mpi MPI_CONFORMANCE MPIRUN. Skipped where namespaces cannot be made.
"""

import os
import subprocess
import sys

from beds import BED, TOOL, Bed, hosts, leave_without_hosts

PATIENCE = 240  # seconds


def command(engine, program, mpirun):
    if engine == "ucx":
        # The test's processes go to the hosts by themselves.
        return [program, "--gtest_filter=*/ucx:*/shm_ucx"]
    # Ranks are dealt out in turn, as the suite counts its hosts.
    return [TOOL, "exec", "--name", BED, "a", "--", mpirun, "--allow-run-as-root",
            "--mca", "plm_rsh_agent", f"{TOOL} agent", "--mca", "mpi_yield_when_idle", "1",
            *(["-x", "ASAN_OPTIONS"] if "ASAN_OPTIONS" in os.environ else []),
            "-H", "a:2,b:2", "--map-by", "node", program, "--gtest_color=no"]


def passes(words):
    networks = f"starling-{BED}-a,starling-{BED}-b"
    done = subprocess.run(words, timeout=PATIENCE, env=os.environ | {"STARLING_TEST_NETWORKS": networks},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    return done.returncode == 0 and "[  PASSED  ]" in done.stdout and "[  PASSED  ] 0 tests" not in done.stdout


def main():
    leave_without_hosts()
    engine, program, mpirun = (sys.argv[1:] + [""])[:3]
    program = os.path.abspath(program)
    with Bed("a,b"):
        good = passes(command(engine, program, mpirun))
        if engine == "ucx":
            # On slow links data of a dead rank is on its way for long after its death is known.
            for host in "ab":
                assert hosts("rate", "--name", BED, host, "100mbit").returncode == 0
            good &= passes([program, "--gtest_filter=*ARankMayDieInTheMiddle*/*ucx", "--gtest_repeat=4"])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
