#!/usr/bin/env python3
"""A user's own program under `starling launch --out`: program_output_test.py STARLING PROGRAM

The program is examples/01_three_lines, which knows nothing of files, checkpoints or progress.
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

STARLING, PROGRAM = sys.argv[1:3]


def launch(*flags, workers=2, strategy="allreduce"):
    command = [STARLING, "launch", "-n", str(workers), "--strategy", strategy, *flags, "--", PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def sums_of_weights(result):
    """The sums that the workers print, with 17 digits."""
    assert result.returncode == 0, result.stdout + result.stderr
    return sorted(re.findall(r"sum of the weights (\S+)", result.stdout))


class ProgramOutput(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = str(Path(self.folder.name) / "x")

    def tearDown(self):
        self.folder.cleanup()

    def test_it_leaves_the_files_of_a_run(self):
        result = launch("--out", self.out)
        files = sorted(path.name for path in Path(self.out).iterdir())
        self.assertEqual(files, ["events.jsonl", "model.safetensors", "run.json", "summary.json", "trace.json"],
                         result.stdout + result.stderr)
        summary = json.loads(Path(self.out, "summary.json").read_text())
        self.assertEqual(summary["workers"], 2)
        self.assertEqual(summary["steps_per_worker"], [128, 128])
        self.assertEqual(json.loads(Path(self.out, "run.json").read_text())["program"], [PROGRAM])
        self.assertRegex(result.stderr, r"\d+\.\d s, step \d+.*samples/s")

    def test_it_goes_on_from_a_checkpoint_to_the_same_weights(self):
        for strategy in ("allreduce", "dear", "local-sgd"):
            with self.subTest(strategy=strategy):
                out = f"{self.out}-{strategy}"
                whole = sums_of_weights(launch("--out", out, "--checkpoint-every", "50", strategy=strategy))
                self.assertEqual(json.loads(Path(out, "checkpoints", "latest.json").read_text())["step"], 100)
                again = sums_of_weights(launch("--resume", out, "--out", f"{out}-again", strategy=strategy))
                self.assertEqual(again, whole)

    def test_a_run_that_was_cut_short_goes_on(self):
        whole = sums_of_weights(launch())
        sums_of_weights(launch("--out", self.out, "--checkpoint-every", "40", "--steps", "80"))
        self.assertEqual(sums_of_weights(launch("--resume", self.out)), whole)

    def test_all_workers_end_with_one_model(self):
        for strategy in ("ripples", "adpsgd", "dpsgd"):
            with self.subTest(strategy=strategy):
                self.assertEqual(len(set(sums_of_weights(launch(workers=4, strategy=strategy)))), 1)

    def test_pieces_and_balanced_batches_use_each_sample_once(self):
        for strategy, *options in (("nonblocking",), ("nonblocking", "--pieces", "auto"), ("allreduce", "--balance", "speed"),
                                   ("ps", "--balance", "speed")):
            with self.subTest(strategy=strategy, options=options):
                out = f"{self.out}-{strategy}{len(options)}"
                sums = sums_of_weights(launch(*options, "--out", out, workers=2, strategy=strategy))
                self.assertEqual(len(set(sums)), 1)
                self.assertEqual(json.loads(Path(out, "summary.json").read_text())["samples"], 4 * 2048)

    def test_the_end_may_be_known(self):
        result = launch("--out", self.out, "--steps", "30")
        self.assertRegex(result.stderr, r"step \d+ of 30 \(\d+ %, .* left\)")

    def test_bad_flags_are_refused_in_one_line(self):
        for flags, text in ((("--checkpoint-every", "5"), "--checkpoint-every needs --out"),
                            (("--resume", "/none"), "--resume: /none/checkpoints/latest.json"),
                            (("--out", self.folder.name + "/a", "--checkpoint-every", "0"), "--checkpoint-every")):
            with self.subTest(flags=flags):
                result = launch(*flags)
                self.assertEqual(result.returncode, 2)
                self.assertIn(text, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_a_checkpoint_of_another_run_is_refused(self):
        sums_of_weights(launch("--out", self.out, "--checkpoint-every", "50"))
        result = launch("--resume", self.out, workers=3)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("the checkpoint has workers 2, this run has 3", result.stderr + result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
