"""A short tools/soak on hosts of the test bed: soak_on_hosts_test.py STARLING

The seed is one that severs a host. Skipped where namespaces cannot be made or `starling train` is not there.
"""

import subprocess
import sys
from pathlib import Path

from beds import SKIPPED, TOOL, hosts, leave_without_hosts

SEED = "5"


def main():
    leave_without_hosts()
    program = Path(sys.argv[1]).resolve()
    if not (program.parent / "starling-trainer").exists():
        print("skipped: there is no starling-trainer")
        return SKIPPED
    soak = subprocess.Popen([Path(TOOL).parent / "soak", "--program", program, "--hosts", "2", "--seconds", "15",
                             "--seed", SEED, "--strategy", "ripples"])
    code = soak.wait()
    left = [line for line in hosts("list").stdout.splitlines() if line.startswith(f"soak{soak.pid} ")]
    if left:
        print("hosts are left:", *left, sep="\n")
    return code or len(left)


if __name__ == "__main__":
    sys.exit(main())
