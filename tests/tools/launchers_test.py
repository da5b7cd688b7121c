"""Programs that use Starling join when other launchers start them: launchers_test.py LAUNCHER PROGRAM STARLING [WITH]

LAUNCHER is mpirun, srun or torchrun; PROGRAM the example with its own gradients; WITH the launcher's program, for torchrun a
Python that has torch. srun is played by its variables. Skipped where the launcher is not there.
"""

import json
import os
import random
import re
import socket
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = STARLING = WITH = ""
SKIPPED = 77
TOKEN = f"secret{os.getpid()}"  # memory is found by it, and tests run side by side
PATIENCE = 100  # seconds; nothing takes that long
TRAIN = ["train", "--model", "mlp", "--steps", "3", "--eval-points", "1", "--json"]


def has_trainer():
    return (Path(STARLING).parent / "starling-trainer").exists()


def clean(**more):
    """An environment without a launcher's variables."""
    mine = {name: value for name, value in os.environ.items()
            if not re.match(r"(STARLING_|SLURM_|OMPI_|PMI|TORCHELASTIC_|(LOCAL_)?RANK$|(LOCAL_)?WORLD_SIZE$)", name)}
    return mine | {name: str(value) for name, value in more.items()}


def free_port():
    """One that was free a moment ago, and the next one too; none of those that the system gives out by itself."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


def start(words, **variables):
    return subprocess.Popen(words, env=clean(**variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(processes):
    try:
        return [(*process.communicate(timeout=PATIENCE), process.returncode) for process in processes]
    finally:
        for process in processes:
            process.kill()


class Case(unittest.TestCase):
    def check_workers(self, out, workers, strategy="allreduce"):
        """All want the mean of their ranks."""
        lines = sorted(line for line in out.splitlines() if line.startswith("worker"))
        mean = (workers - 1) / 2
        self.assertEqual(lines, [f"worker {rank} of {workers} with {strategy}: x = {mean:.2f}" for rank in range(workers)])

    def check_refused_once(self, err, part):
        """One line from us, whatever the launcher says."""
        lines = [line for line in err.splitlines() if re.match(r"(\[.*\]:?)?starling: ", line)]
        self.assertEqual(len(lines), 1, err)
        self.assertIn(part, lines[0])

    def check_weights(self, *words):
        """The three-line program ends with the same weights on four workers, whoever starts it."""
        program = Path(PROGRAM).parent / "01_three_lines"
        if not program.exists():
            self.skipTest("there is no LibTorch")
        found = []
        for launcher in [STARLING, "launch", "-n", "4", "--"], words:
            out, err, code = finish([start([*launcher, str(program)])])[0]
            self.assertEqual(code, 0, err)
            found.append(re.findall(r"sum of the weights (\S+)", out))
        self.assertEqual(found[0], [found[0][0]] * 4)
        self.assertEqual(found[0], found[1])

    def check_trained(self, out, workers):
        """The first rank prints, nobody else."""
        self.assertEqual(json.loads(out)["steps_per_worker"], [3] * workers)


class Mpirun(Case):
    FLAGS = ["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]

    def run_all(self, ranks, *words, **variables):
        return finish([start([WITH, *self.FLAGS, "-n", str(ranks), *words], **variables)])[0]

    def two_hosts(self, **variables):
        """Two ranks on each of two hosts, as STARLING_HOST has it."""
        words = [["-n", "2", "-x", f"STARLING_HOST={host}", PROGRAM] for host in "ab"]
        return finish([start([WITH, *self.FLAGS, *words[0], ":", *words[1]], **variables)])[0]

    def test_ranks_of_one_host(self):
        for transport in "auto", "mpi":
            out, err, code = self.run_all(4, PROGRAM, STARLING_TRANSPORT=transport)
            self.assertEqual(code, 0, err)
            self.check_workers(out, 4)

    def test_ranks_of_several_hosts(self):
        out, err, code = self.two_hosts()
        self.assertEqual(code, 0, err)
        self.check_workers(out, 4)
        out, err, code = self.two_hosts(STARLING_TRANSPORT="mpi")
        self.assertEqual(code, 0, err)
        self.check_workers(out, 4)
        self.assertIn("4 ranks on 2 hosts, connected by shm+mpi", err)

    def test_the_same_weights(self):
        self.check_weights(WITH, *self.FLAGS, "-n", "4")

    def test_the_last_rank_serves(self):
        out, err, code = self.run_all(3, PROGRAM, STARLING_STRATEGY="ps")
        self.assertEqual(code, 0, err)
        self.check_workers(out, 2, "ps")

    def test_info_shows_it(self):
        out, _, _ = self.run_all(2, STARLING, "info")
        self.assertIn("mpirun: OMPI_COMM_WORLD_RANK=1 of OMPI_COMM_WORLD_SIZE=2, all on this host", out)

    def test_bad_flags_are_told_once(self):
        for flags, part in ((["--steps", "0"], "--steps: '0'"), (["--steps"], "--steps"), (["--link", "1gbe"], "--link"),
                            (["--workers", "7"], "--workers: '7'; 3 ranks train of those started by mpirun")):
            out, err, code = self.run_all(3, STARLING, *TRAIN[:3], *flags)
            self.assertEqual((code, out), (2, ""))
            self.check_refused_once(err, part)

    def test_train(self):
        if not has_trainer():
            self.skipTest("there is no starling-trainer")
        out, err, code = self.run_all(2, STARLING, *TRAIN)
        self.assertEqual(code, 0, err)
        self.check_trained(out, 2)

    def test_bench(self):
        """Starling and MPI in the same processes."""
        out, err, code = self.run_all(2, STARLING, "bench", "collectives", "--sizes", "4k", "--rounds", "1", "--json", "-")
        self.assertEqual(code, 0, err)
        row, = json.loads(out)["results"]
        self.assertEqual((row["op"], row["ranks"], row["hosts"], row["transport"]), ("allreduce", 2, 1, "shm"))
        self.assertGreater(min(row["starling_us"], row["mpi_us"]), 0)
        _, err, code = self.run_all(2, STARLING, "bench", "collectives", "--ranks", "8")
        self.assertEqual(code, 2)
        self.check_refused_once(err, "--ranks: '8'; there are 2, started by mpirun")

    def test_a_death_ends_the_run_and_is_told(self):
        if not has_trainer():
            self.skipTest("there is no starling-trainer")
        flags = ["--max-seconds", str(PATIENCE), "--pace", "10ms", "--kill", "1@200ms"]
        words = [["-n", "1", "-x", f"STARLING_HOST={host}", STARLING, *TRAIN[:3], *flags] for host in "ab"]
        for transport in "auto", "mpi":
            process = start([WITH, *self.FLAGS, *words[0], ":", *words[1]], STARLING_TRANSPORT=transport)
            _, err, code = finish([process])[0]
            self.assertNotEqual(code, 0)
            self.assertIn("rank 1 ", err)


class Srun(Case):
    def run_all(self, ranks, words, hosts=1, each=lambda rank: {}, **variables):
        said = {"SLURM_STEP_NUM_TASKS": ranks, "SLURM_NTASKS": ranks, "SLURM_JOB_ID": os.getpid(),
                "SLURM_STEP_ID": 0, "SLURM_STEP_NUM_NODES": hosts, "SLURM_STEP_NODELIST": "127.0.0.[1-2]"} | variables
        return finish([start(words, **(said | {"SLURM_PROCID": rank} | each(rank))) for rank in range(ranks)])

    def test_ranks_of_one_host(self):
        results = self.run_all(3, [PROGRAM])
        self.assertEqual([code for _, _, code in results], [0, 0, 0], results)
        self.check_workers("".join(out for out, _, _ in results), 3)

    def test_ranks_of_several_hosts(self):
        results = self.run_all(4, [PROGRAM], hosts=2, STARLING_TOKEN=TOKEN,
                               each=lambda rank: {"STARLING_HOST": f"host{rank // 2}"})
        if "no network" in results[0][1]:
            self.skipTest(results[0][1])
        self.assertEqual([code for _, _, code in results], [0, 0, 0, 0], results)
        self.check_workers("".join(out for out, _, _ in results), 4)

    def test_without_a_token_it_says_what_to_do(self):
        for _, err, code in self.run_all(2, [PROGRAM], hosts=2):
            self.assertEqual(code, 2)
            self.assertIn("STARLING_TOKEN is not set; before srun: export STARLING_TOKEN=", err)
            self.assertEqual(err.count("\n"), 1)

    def test_a_batch_script_is_alone(self):
        out, err, code = finish([start([PROGRAM], SLURM_JOB_ID=7, SLURM_NTASKS=4, SLURM_PROCID=0)])[0]
        self.assertEqual(code, 0, err)
        self.check_workers(out, 1)

    def test_bad_flags_are_told_once(self):
        results = self.run_all(3, [STARLING, "train", "--steps", "0"])
        self.assertEqual([(out, code) for out, _, code in results], [("", 2)] * 3)
        self.check_refused_once("".join(err for _, err, _ in results), "--steps: '0'")

    def test_train(self):
        if not has_trainer():
            self.skipTest("there is no starling-trainer")
        results = self.run_all(3, [STARLING, *TRAIN, "--strategy", "ps", "--slow", "1:2", "--pace", "5ms"])
        self.assertEqual([code for _, _, code in results], [0, 0, 0], results)
        self.check_trained(results[0][0], 2)
        self.assertEqual([out for out, _, _ in results[1:]], ["", ""])


class Torchrun(Case):
    def words(self, *flags):
        return [WITH, "-m", "torch.distributed.run", "--no-python", *flags]

    def test_ranks_of_one_host(self):
        words = self.words("--standalone", "--nproc-per-node", "3", PROGRAM)
        out, err, code = finish([start(words)])[0]
        self.assertEqual(code, 0, err)
        self.check_workers(out, 3)

    def test_ranks_of_several_hosts(self):
        port = str(free_port())
        processes = []
        for node in "01":
            flags = ["--nnodes", "2", "--node-rank", node, "--master-addr", "127.0.0.1", "--master-port", port,
                     "--nproc-per-node", "2"]
            processes.append(start(self.words(*flags, PROGRAM), STARLING_HOST=f"host{node}", STARLING_TOKEN=TOKEN))
        results = finish(processes)
        if any("no network" in err for _, err, _ in results):
            self.skipTest(results[0][1])
        self.assertEqual([code for _, _, code in results], [0, 0], results)
        self.check_workers("".join(out for out, _, _ in results), 4)

    def test_the_same_weights(self):
        self.check_weights(*self.words("--standalone", "--nproc-per-node", "4"))

    def test_train(self):
        if not has_trainer():
            self.skipTest("there is no starling-trainer")
        words = self.words("--standalone", "--nproc-per-node", "2", STARLING, *TRAIN)
        out, err, code = finish([start(words)])[0]
        self.assertEqual(code, 0, err)
        self.check_trained(out, 2)


def why_not(launcher):
    if launcher == "mpirun" and not WITH:
        return "MPI is not in this build, or it has the thread sanitizer"
    if launcher == "torchrun":
        found = subprocess.run([WITH, "-c", "import torch.distributed.run"], capture_output=True, text=True, timeout=PATIENCE)
        return found.stderr.strip().splitlines()[-1] if found.returncode != 0 else ""
    return ""


if __name__ == "__main__":
    launcher = sys.argv[1]
    PROGRAM, STARLING = (os.path.abspath(word) for word in sys.argv[2:4])
    WITH = sys.argv[4] if len(sys.argv) > 4 else ""
    if launcher == "torchrun":
        WITH = os.environ.get("STARLING_PYTHON", WITH)
    reason = why_not(launcher)
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], {"mpirun": "Mpirun", "srun": "Srun", "torchrun": "Torchrun"}[launcher]])
