#!/usr/bin/env python3
"""Models that `starling train` leaves are PyTorch's: its package reads them, and they are as good there.

    safetensors_test.py STARLING

With the Python that STARLING_PYTHON names, if it is set. Ends with 77, which is "skipped", where torch or
safetensors is not installed.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

OTHER = os.environ.pop("STARLING_PYTHON", None)
if OTHER:
    os.execv(OTHER, [OTHER, *sys.argv])

try:
    import numpy
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from models import MODELS, from_pixels

# Few steps, but enough that the accuracy is not that of guessing.
RUNS = {
    "mlp": "--steps 100",
    "deep": "--steps 60 --optimizer adam --lr 0.0002 --batch 16",
    "lenet": "--steps 60 --optimizer adam",
    "cnn": "--steps 40 --optimizer adam --lr 0.001 --batch 16",
    "resnet20": "--steps 30 --optimizer adam --lr 0.005 --batch 16",
}
TOLERATED = 1  # samples whose two best classes are so close that the order of additions decides


def starling(program, *words):
    subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)


def read_idx(path):
    data = path.read_bytes()
    sizes = numpy.frombuffer(data, ">u4", data[3], 4)
    return torch.from_numpy(numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * data[3]).reshape(sizes).copy())


def correct(model, pictures, labels):
    model.eval()
    with torch.no_grad():
        best = [model(part).argmax(1) for part in from_pixels(pictures).split(500)]
    return int((torch.cat(best) == labels).sum())


def check(name, flags, program, folder, pictures, labels):
    out = folder / name
    words = ["--model", name, "--data", "glyphs", "--workers", "2", "--out", str(out), "--eval-points", "1"]
    starling(program, "train", *words, *flags.split())
    path = out / "model.safetensors"
    with safe_open(path, "pt") as file:
        assert file.metadata()["model"] == name, file.metadata()
    model = MODELS[name]()
    model.load_state_dict(load_file(path), strict=True)
    said = round(json.loads((out / "summary.json").read_text())["test_accuracy"] * len(labels))
    found = correct(model, pictures, labels)
    print(f"{name}: {found} of {len(labels)} here, {said} there")
    return abs(found - said) <= TOLERATED


def main():
    program = sys.argv[1]
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory(prefix="starling_test_") as name:
        folder = Path(name)
        starling(program, "data", "glyphs", "--out", str(folder / "glyphs"))
        pictures = read_idx(folder / "glyphs" / "t10k-images-idx3-ubyte").unsqueeze(1)
        labels = read_idx(folder / "glyphs" / "t10k-labels-idx1-ubyte")
        assert len(labels) == 2000, len(labels)
        wrong = [model for model, flags in RUNS.items()
                 if not check(model, flags, program, folder, pictures, labels)]
    if wrong:
        sys.exit(f"not as good in PyTorch: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
