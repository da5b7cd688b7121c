"""tools/make_replay_tables agrees with what is published of the models, and its file is up to date."""

import subprocess
import sys
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "make_replay_tables"

# Parameters; tensors; 1e9 multiply-adds of convolutions and matrices per sample, where published. From torchvision's
# model pages, timm's results (Inception-v4) and Hugging Face's models (BERT).
PUBLISHED = {
    "resnet50": (25557032, 161, 4.09),
    "densenet201": (20013928, 604, 4.29),
    "inceptionv4": (42679816, 449, 12.28),
    "vgg16": (138357544, 32, 15.47),
    "bert-base": (109482240, 199, None),
    "bert-large": (335141888, 391, None),
}


def load_tool():
    sys.dont_write_bytecode = True
    loader = SourceFileLoader("make_replay_tables", str(TOOL))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def run(*arguments):
    return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True)


class MakeReplayTables(unittest.TestCase):
    def setUp(self):
        self.models = {model.name: model for model in load_tool().models()}

    def test_published_totals(self):
        self.assertEqual(self.models.keys(), PUBLISHED.keys())
        for name, (parameters, tensors, multiply_adds) in PUBLISHED.items():
            with self.subTest(name):
                model = self.models[name]
                self.assertEqual(model.parameters(), parameters)
                self.assertEqual(len(model.tensors), tensors)
                if multiply_adds:
                    self.assertAlmostEqual(model.ops() / 2e9 / multiply_adds, 1, delta=0.01)

    # A transformer costs 2 operations per token and weight that tokens pass through, and little more.
    def test_bert_operations(self):
        for name in ("bert-base", "bert-large"):
            weights = sum(count for tensor, count, _, _ in self.models[name].tensors if "encoder" in tensor)
            self.assertAlmostEqual(self.models[name].ops() / (2 * 64 * weights), 1, delta=0.02)

    def test_rows(self):
        rows = {tensor: (count, rows) for tensor, count, rows, _ in self.models["resnet50"].tensors}
        self.assertEqual(rows["conv1.weight"], (9408, 64))
        self.assertEqual(rows["fc.weight"], (2048000, 1000))
        self.assertEqual(rows["fc.bias"], (1000, 1))
        for model in self.models.values():
            for tensor, count, rows, _ in model.tensors:
                self.assertEqual(count % rows, 0, f"{model.name}: {tensor}")

    def test_published_speeds(self):
        for name, images in (("resnet50", 294), ("inceptionv4", 79)):
            model = self.models[name]
            self.assertAlmostEqual(model.batch / model.step_seconds() / images, 1, delta=0.02)

    def test_file_is_up_to_date(self):
        result = run("--check")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_print(self):
        result = run("--print")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 1 + len(PUBLISHED))

    def test_unknown_argument(self):
        self.assertEqual(run("--bogus").returncode, 1)


if __name__ == "__main__":
    unittest.main()
