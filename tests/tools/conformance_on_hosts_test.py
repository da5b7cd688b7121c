"""The conformance suite of a transport between two hosts: conformance_on_hosts_test.py ucx TRANSPORT_TEST

... or mpi MPI_CONFORMANCE MPIRUN. Skipped where namespaces cannot be made.
"""

import os
import subprocess
import sys
from pathlib import Path

TOOL = str(Path(__file__).resolve().parents[2] / "tools" / "hosts")
BED = f"conf{os.getpid()}"
SKIPPED = 77
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


def main():
    check = subprocess.run([TOOL, "check"], capture_output=True, text=True)
    if check.returncode != 0:
        print(check.stdout + check.stderr)
        return SKIPPED
    engine, program, mpirun = (sys.argv[1:] + [""])[:3]
    subprocess.run([TOOL, "up", "--name", BED, "--hosts", "a,b", "--rate", "1gbit"], check=True)
    try:
        networks = f"starling-{BED}-a,starling-{BED}-b"
        done = subprocess.run(command(engine, os.path.abspath(program), mpirun), timeout=PATIENCE,
                              env=os.environ | {"STARLING_TEST_NETWORKS": networks}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True)
        print(done.stdout)
        ran = "[  PASSED  ]" in done.stdout and "[  PASSED  ] 0 tests" not in done.stdout
        return done.returncode if done.returncode != 0 or ran else 1
    finally:
        subprocess.run([TOOL, "down", "--name", BED], check=True)


if __name__ == "__main__":
    sys.exit(main())
