#!/usr/bin/env python3
"""PyTorch's DistributedDataParallel, for `starling bench train`: ddp_peer.py '{"workers": 2, ...}'

Trains the network `cnn` of starling/torch/models.cpp over Gloo, one process per worker, and prints one line of
JSON: by worker, when each of its steps ended.
"""

import ctypes
import json
import os
import signal
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["GLOO_SOCKET_IFNAME"] = "lo"

import torch  # noqa: E402: reads the environment when it is imported
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

PR_SET_PDEATHSIG = 1


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 512), nn.ReLU(), nn.Linear(512, 10))


class Clock:
    """Makes a worker slower: sleeps in proportion to what its own gradients took, as --slow of `starling train`.

    The backward pass of DDP ends when the gradients of all are averaged; a worker's own are there before.
    """

    def __init__(self, model, factor):
        self.factor = factor
        self.begun = self.computed = 0
        if factor != 1:
            for parameter in model.parameters():
                parameter.register_post_accumulate_grad_hook(self.note)

    def note(self, _):
        self.computed = time.perf_counter()

    def begin(self):
        self.begun = time.perf_counter()

    def end(self):
        if self.factor != 1:
            time.sleep((self.factor - 1) * (self.computed - self.begun))


class Worker:
    def __init__(self, job, rank):
        self.batch = job["batch"]
        self.share = slice(rank, None, job["workers"])
        generator = torch.Generator().manual_seed(1)
        self.pixels = torch.randint(256, (job["pictures"], 3, 32, 32), dtype=torch.uint8, generator=generator)
        self.labels = torch.randint(10, (job["pictures"],), generator=generator)
        torch.manual_seed(1)
        model = make_model()
        self.clock = Clock(model, job["slow"][rank])
        self.model = nn.parallel.DistributedDataParallel(model)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=job["lr"], momentum=job["momentum"])
        self.loss = nn.CrossEntropyLoss()
        self.indices = []
        self.epoch = 0

    def take(self):
        if len(self.indices) < self.batch:
            generator = torch.Generator().manual_seed(self.epoch)
            self.indices = torch.randperm(len(self.labels), generator=generator)[self.share]
            self.epoch += 1
        indices, self.indices = self.indices[:self.batch], self.indices[self.batch:]
        return self.pixels[indices].to(torch.float32).div_(127.5).sub_(1), self.labels[indices]

    def step(self):
        self.clock.begin()
        pictures, labels = self.take()
        self.optimizer.zero_grad()
        loss = self.loss(self.model(pictures), labels)
        loss.backward()
        self.clock.end()
        self.optimizer.step()
        return loss.item()


def run_rank(job, rank, store_path):
    """When each step ended, on the clock that all processes share."""
    torch.set_num_threads(1)
    store = dist.FileStore(store_path, job["workers"])
    dist.init_process_group("gloo", store=store, rank=rank, world_size=job["workers"])
    worker = Worker(job, rank)
    ends = []
    for _ in range(job["steps"]):
        worker.step()
        ends.append(time.monotonic())
    dist.barrier()  # none goes while another still needs it
    return ends


def start_rank(job, rank, store_path):
    """The file that the process writes its times to."""
    times = tempfile.TemporaryFile()
    parent = os.getpid()
    if os.fork() != 0:
        return times
    code = 1
    try:
        # Ends the rank with the process that forked it, however that one ends.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            times.write(json.dumps(run_rank(job, rank, store_path)).encode())
            times.flush()
            code = 0
    except Exception as error:
        print(f"rank {rank}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: ddp_peer.py JSON (started by `starling bench train`)")
    job = json.loads(sys.argv[1])
    # Where the ranks find each other: a file without a name, so that none is left behind.
    store = os.memfd_create("ddp-store", 0)
    store_path = f"/proc/{os.getpid()}/fd/{store}"
    files = [start_rank(job, rank, store_path) for rank in range(job["workers"])]
    for _ in files:
        if os.waitstatus_to_exitcode(os.wait()[1]) != 0:
            sys.exit(1)  # the others wait for it in vain; they end with this process
    for times in files:
        times.seek(0)
    print(json.dumps({"step_ends": [json.load(times) for times in files]}), flush=True)


if __name__ == "__main__":
    main()
