"""tools/soak: its plans, its checks, and what it refuses."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOOLS))
import soak_checks  # noqa: E402
from soak_plan import FEWEST_LEFT, LOSING, STRATEGIES, Setting, make_plan  # noqa: E402

MIB = 1 << 20


def setting(strategy="ripples", hosts=None, seconds=60):
    return Setting(strategy=strategy, hosts=hosts or {"h1": range(2), "h2": range(2, 4), "h3": range(4, 6)},
                   has_disk=True, seconds=seconds)


class Plans(unittest.TestCase):
    def test_a_seed_decides(self):
        self.assertEqual(make_plan(setting(), 3), make_plan(setting(), 3))
        self.assertNotEqual(make_plan(setting(), 3), make_plan(setting(), 4))

    def test_enough_workers_are_left(self):
        for strategy in STRATEGIES:
            one = setting(strategy)
            for seed in range(20):
                faults = [fault for fault in make_plan(one, seed) if fault.kind in LOSING]
                lost = [rank for fault in faults for rank in fault.ranks]
                self.assertEqual(len(lost), len(set(lost)))
                self.assertGreaterEqual(len(one.workers) - len(lost), FEWEST_LEFT)

    def test_no_fault_takes_the_majority_away(self):
        for seed in range(50):
            members = set(setting().workers)
            for fault in (fault for fault in make_plan(setting(), seed) if fault.kind in LOSING):
                left = members - set(fault.ranks)
                self.assertGreater(2 * len(left) + (min(members) in left), len(members))
                members = left

    def test_every_worker_may_be_lost(self):
        lost = {rank for seed in range(20) for fault in make_plan(setting(), seed) if fault.kind in LOSING
                for rank in fault.ranks}
        self.assertEqual(lost, set(setting().workers))

    def test_every_kind_comes(self):
        kinds = {fault.kind for seed in range(20) for fault in make_plan(setting(), seed)}
        self.assertEqual(kinds, {"pause", "stop", "kill", "cut", "sever", "fill"})

    def test_without_network_and_disk_only_processes_are_tormented(self):
        alone = Setting(strategy="ripples", hosts={"": range(4)}, seconds=120)
        kinds = {fault.kind for seed in range(20) for fault in make_plan(alone, seed)}
        self.assertEqual(kinds, {"pause", "stop", "kill"})

    def test_a_cable_is_pulled_once_at_a_time(self):
        for seed in range(20):
            pulled = [fault for fault in make_plan(setting(), seed) if fault.kind in ("cut", "sever")]
            for one, other in zip(pulled, pulled[1:]):
                self.assertGreater(other.at, one.until)

    def test_a_pause_does_not_end_a_stop(self):
        for seed in range(20):
            faults = make_plan(setting(), seed)
            for stop in (fault for fault in faults if fault.kind == "stop"):
                pauses = [fault for fault in faults if fault.kind == "pause" and fault.ranks == stop.ranks]
                self.assertTrue(all(pause.until < stop.at for pause in pauses))


class Checks(unittest.TestCase):
    GOOD = {"ended": {"2": "lost"}, "final_train_loss": 0.4, "test_accuracy": 0.9, "steps_per_worker": [400, 400, 2],
            "samples": 16 * 802}

    def wrong_with(self, **changed):
        return soak_checks.in_summary(SimpleNamespace(lost={2}), {**self.GOOD, **changed})

    def test_a_good_summary(self):
        self.assertEqual(self.wrong_with(), [])

    def test_what_a_summary_may_have_wrong(self):
        for changed in ({"ended": {}}, {"ended": {"1": "", "2": ""}}, {"final_train_loss": 2.3},
                        {"final_train_loss": float("nan")}, {"test_accuracy": None}, {"samples": 207},
                        {"steps_per_worker": [802, 0, 0]}):
            self.assertTrue(self.wrong_with(**changed), changed)

    def test_few_steps_need_not_have_taught_much(self):
        few = {"steps_per_worker": [40, 40, 2], "samples": 16 * 82, "test_accuracy": 0.1}
        self.assertEqual(self.wrong_with(**few, final_train_loss=2.3), [])
        self.assertTrue(self.wrong_with(**few, final_train_loss=2.5))

    def test_memory_that_grows(self):
        self.assertEqual(soak_checks.in_memory({0: [50 * MIB] * 9, 1: [], 2: [10 * MIB, 60 * MIB, 61 * MIB]}), [])
        [found] = soak_checks.in_memory({3: [k * 20 * MIB for k in range(1, 9)]})
        self.assertIn("rank 3 grew from 100 MiB", found)

    def test_half_written_and_temporary_files_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            run = SimpleNamespace(program=SimpleNamespace(pid=1), out=Path(folder) / "out" / "run",
                                  left_processes=lambda: [7])
            run.out.mkdir(parents=True)
            (Path(folder) / "tmp").mkdir()
            self.assertEqual(soak_checks.left_over(run), ["process 7 still runs"])
            (run.out / "model.safetensors.part").touch()
            (Path(folder) / "tmp" / "x").touch()
            self.assertEqual(len(soak_checks.left_over(run)), 3)


class BadInput(unittest.TestCase):
    def test_one_line_with_the_value_and_exit_code_2(self):
        for words, value in ((("--strategy", "ripple"), "ripple"), (("--strategy", "ps --servers=0"), "--servers=0"),
                             (("--minutes", "0"), "0"), (("--minutes", "x"), "x"),
                             (("--hosts", "9"), "9"), (("--hosts", "3", "--workers", "2"), "3"),
                             (("--seed", "-1"), "-1"), (("--workers", "1"), "1"), (("--seconds", "nan"), "nan"),
                             (("--program", "/nowhere"), "/nowhere"), (("--stop",), "--stop")):
            ended = subprocess.run([TOOLS / "soak", *words], capture_output=True, text=True)
            self.assertEqual(ended.returncode, 2, words)
            self.assertEqual(ended.stdout, "")
            self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
            self.assertIn(value, ended.stderr)


if __name__ == "__main__":
    unittest.main()
