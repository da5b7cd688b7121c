#!/usr/bin/env python3
"""The ranks of the benchmark's Gloo contestant: gloo_peer.py ADDRESS RANKS

Started by `starling bench collectives`; obey.h describes the protocol. PyTorch is imported once, then the
ranks are forked: importing it in every rank takes seconds of processor time each.
"""

import ctypes
import os
import signal
import socket
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["GLOO_SOCKET_IFNAME"] = "lo"

import torch  # noqa: E402: reads the environment when it is imported
import torch.distributed as dist  # noqa: E402

PR_SET_PDEATHSIG = 1


class WrongResult(Exception):
    pass


class Worker:
    def __init__(self, rank, ranks):
        self.rank = rank
        self.ranks = ranks
        self.data = None
        self.part = None
        self.gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor

    def prepare(self, op, size):
        self.data = self.part = None  # the old vector goes before the new one comes
        count = size // 4
        # Gloo gathers equal parts only: up to RANKS - 1 elements more than asked for.
        share = -(-count // self.ranks)
        self.data = torch.empty(share * self.ranks if op == "allgather" else count)
        self.part = self.data[self.rank * share:(self.rank + 1) * share]
        pattern = (torch.arange(self.data.numel()) % 7 + 1).to(torch.float32)
        self.fill(op, pattern)
        self.perform(op)
        self.check(op, size, pattern)
        self.data.zero_()

    def fill(self, op, pattern):
        begin = self.rank * self.part.numel()
        if op == "allreduce":
            self.data.copy_(pattern * (self.rank + 1))
        elif op == "broadcast":
            self.data.copy_(pattern if self.rank == 0 else torch.full_like(pattern, -1))
        else:
            self.data.fill_(-1)
            self.part.copy_(pattern[begin:begin + self.part.numel()])

    def check(self, op, size, pattern):
        right = pattern * (self.ranks * (self.ranks + 1) // 2) if op == "allreduce" else pattern
        wrong = (self.data != right).nonzero()
        if len(wrong):
            i = int(wrong[0])
            raise WrongResult(f"{op} of {size} bytes over {self.ranks} ranks: element {i} of rank {self.rank} "
                              f"is {float(self.data[i]):g} instead of {float(right[i]):g}")

    def perform(self, op):
        if op == "allreduce":
            dist.all_reduce(self.data)
        elif op == "broadcast":
            dist.broadcast(self.data, 0)
        else:
            self.gather(self.data, self.part)

    def time(self, op, iterations):
        dist.barrier()
        start = time.perf_counter()
        for _ in range(iterations):
            self.perform(op)
        return (time.perf_counter() - start) * 1e6 / iterations

    def answer(self, line):
        command, op, size, *iterations = line.split()
        if command == "prepare":
            self.prepare(op, int(size))
            return "ready"
        return f"done {self.time(op, int(iterations[0]))}"


def serve(address, worker):
    control = socket.socket(socket.AF_UNIX)
    control.connect("\0" + address)
    with control, control.makefile("rw") as lines:
        print("hello", worker.rank, file=lines, flush=True)
        for line in lines:
            if line.strip() == "quit":
                return
            try:
                reply = worker.answer(line)
            except WrongResult as error:
                reply = f"wrong {error}"
            except Exception as error:
                reply = "failed " + " ".join(str(error).split())
            print(reply, file=lines, flush=True)


def run_rank(address, rank, ranks, store_path):
    # Ends the rank with the process that forked it, however that one ends.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    torch.set_num_threads(1)
    store = dist.FileStore(store_path, ranks)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
    serve(address, Worker(rank, ranks))


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: gloo_peer.py ADDRESS RANKS (started by `starling bench collectives`)")
    address, ranks = sys.argv[1], int(sys.argv[2])
    # Where the ranks find each other: a file without a name, so that none is left behind.
    store = os.memfd_create("gloo-store", 0)
    store_path = f"/proc/{os.getpid()}/fd/{store}"
    for rank in range(ranks):
        if os.fork() == 0:
            code = 1
            try:
                run_rank(address, rank, ranks, store_path)
                code = 0
            except Exception as error:
                print(f"rank {rank}: {error}", file=sys.stderr, flush=True)
            finally:
                os._exit(code)
    codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(ranks)]
    sys.exit(1 if any(codes) else 0)


if __name__ == "__main__":
    main()
