"""Writes torch_values.h: what PyTorch's optimisers make of a small vector.

    python3 tests/optim/torch_values.py > tests/optim/torch_values.h && tools/format

Needs PyTorch (the committed values are from 2.13). The plain loops are chosen, since the kernels for AVX2 and AVX-512
fuse multiplications with additions: their bits depend on the processor.
"""

import os

os.environ["ATEN_CPU_CAPABILITY"] = "default"  # before torch is loaded

import torch  # noqa: E402

ELEMENTS = 8
STEPS = 5

# Name, class, arguments by their name in OptimizerSpec.
RUNS = [
    ("plain", "Sgd", {"learning_rate": 0.1}),
    ("momentum", "Sgd", {"learning_rate": 0.05, "momentum": 0.9}),
    ("momentum, dampening, decay", "Sgd",
     {"learning_rate": 0.05, "weight_decay": 0.01, "momentum": 0.8, "dampening": 0.3}),
    ("nesterov, decay", "Sgd",
     {"learning_rate": 0.02, "weight_decay": 0.005, "momentum": 0.9, "nesterov": True}),
    ("defaults of torch", "Adam", {"learning_rate": 0.001}),
    ("decay", "Adam", {"learning_rate": 0.02, "weight_decay": 0.1, "beta1": 0.8}),
    ("defaults of torch", "AdamW", {"learning_rate": 0.001, "weight_decay": 0.01}),
    ("slower, coarser", "AdamW",
     {"learning_rate": 0.03, "weight_decay": 0.1, "beta1": 0.4, "beta2": 0.95, "epsilon": 1e-3}),
]


def make(kind, x, spec):
    options = {"lr": spec["learning_rate"], "weight_decay": spec.get("weight_decay", 0), "foreach": False}
    if kind != "Sgd":
        return getattr(torch.optim, kind)([x], betas=(spec.get("beta1", 0.9), spec.get("beta2", 0.999)),
                                 eps=spec.get("epsilon", 1e-8), **options)
    return torch.optim.SGD([x], momentum=spec.get("momentum", 0), dampening=spec.get("dampening", 0),
                           nesterov=spec.get("nesterov", False), **options)


def run(kind, spec, start, gradients):
    """The vector after each step, and the state after the last."""
    x = torch.nn.Parameter(start.clone())
    optimizer = make(kind, x, spec)
    path = []
    for gradient in gradients:
        x.grad = gradient.clone()
        optimizer.step()
        path.append(x.detach().clone())
    state = [optimizer.state[x].get(name) for name in ("momentum_buffer", "exp_avg", "exp_avg_sq")]
    return path, [vector for vector in state if vector is not None]


def number(value):
    text = f"{value:.9g}"  # enough digits to get the same float back
    return text + ("f" if "." in text or "e" in text else ".0f")


def numbers(vector):
    return "{" + ", ".join(number(value) for value in vector.tolist()) + "}"


def rows(vectors):
    return "{" + ", ".join(numbers(vector) for vector in vectors) + "}"


def spec_text(kind, spec):
    values = [f".{name} = {str(value).lower()}" for name, value in spec.items()]
    return "{" + ", ".join([f".kind = OptimizerSpec::Kind::k{kind}"] + values) + "}"


def main():
    torch.manual_seed(7)
    start = torch.randn(ELEMENTS)
    # Several magnitudes, among them an element without gradient and one whose gradient ends.
    gradients = [torch.randn(ELEMENTS) * torch.tensor([1, 1, 1, 10, 0.1, 1e-3, 1e-6, 0]) for _ in range(STEPS)]
    gradients[-1][0] = 0
    print(f"// Written by torch_values.py with PyTorch {torch.__version__.split('+')[0]}; do not edit.\n#pragma once\n")
    print('#include <vector>\n\n#include "starling/optim/optimizer.h"\n')
    print("namespace starling::optim::testing {\n")
    print("using Vectors = std::vector<std::vector<float>>;\n")
    print("struct TorchRun {\n  const char* name;\n  OptimizerSpec spec;\n"
          "  Vectors path;   // after each step\n  Vectors state;  // after the last step\n};\n")
    print(f"inline std::vector<float> torch_start() {{ return {numbers(start)}; }}\n")
    print(f"inline Vectors torch_gradients() {{ return {rows(gradients)}; }}\n")
    print("inline std::vector<TorchRun> torch_runs() {\n  return {")
    for name, kind, spec in RUNS:
        path, state = run(kind, spec, start, gradients)
        print(f'    {{"{kind}: {name}", {spec_text(kind, spec)}, {rows(path)}, {rows(state)}}},')
    print("  };\n}\n\n}  // namespace starling::optim::testing")


main()
