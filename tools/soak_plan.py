"""What tools/soak does to a run, drawn from a seed before the run begins."""

import random
from dataclasses import dataclass

STRATEGIES = ("allreduce", "dear", "local-sgd", "noloco", "ps", "dpsgd", "matcha", "adpsgd", "ripples", "easgd",
              "ea-wild", "async-sgd", "hogwild")  # all go on without any worker
FEWEST_LEFT = 2  # workers

STALL = 2.0  # seconds after which the ranks of a host end one of them that stands still
SILENCE = 4.0  # seconds after which a rank of another host counts as lost
LONGEST_PAUSE = 0.4 * STALL
# A cut is felt for longer than it lasts: TCP waits twice as long for each next attempt. So two cuts are also apart.
LONGEST_CUT = 0.25 * SILENCE
SETTLING = max(STALL, SILENCE)  # before the end of a run nothing is injected for so long

LOSING = ("kill", "stop", "sever")
KINDS = {  # how often
    "pause": 8,  # a rank is stopped and goes on within the stall limit
    "stop": 1,  # a worker is stopped and goes on after it was given up
    "kill": 1,
    "cut": 3,  # a host's cable is out for less than the silence limit
    "sever": 1,  # for longer
    "fill": 2,  # the disk with the run's folder is full for a while
}


@dataclass(frozen=True)
class Fault:
    at: float  # seconds after the run has begun
    kind: str
    ranks: tuple = ()  # that it is about: those of the host if it has one
    host: str = ""
    lasts: float = 0  # seconds until it is undone

    @property
    def until(self):
        return self.at + self.lasts

    @property
    def target(self):
        if self.kind == "fill":
            return "the disk"
        return f"host {self.host}" if self.host else f"rank {self.ranks[0]}"


@dataclass(frozen=True)
class Setting:
    """What a plan depends on besides its seed."""

    strategy: str
    hosts: dict  # the workers of each host; one host without a name if there is no network
    servers: tuple = ()  # ranks that only serve
    has_disk: bool = False  # one that can be filled
    seconds: float = 0

    @property
    def workers(self):
        return [rank for ranks in self.hosts.values() for rank in ranks]


class Planner:
    def __init__(self, setting, seed):
        self.setting = setting
        self.source = random.Random(seed)
        self.faults = []
        self.recent = []  # those that matter for the next one
        self.lost = {}  # when, by rank

    def plan(self):
        at, end = self.source.uniform(0.05, 0.6), self.setting.seconds - SETTLING
        while at < end:
            self.recent = [fault for fault in self.recent if fault.until + SILENCE > at]
            fault = self.draw(at)
            if self.is_free(fault) and (fault.kind == "stop" or fault.until < end):
                self.add(fault)
            at += self.source.uniform(0.05, 0.6)
        return self.faults

    def add(self, fault):
        self.faults.append(fault)
        self.recent.append(fault)
        if fault.kind in LOSING:
            self.lost.update(dict.fromkeys(fault.ranks, fault.at))

    def draw(self, at):
        targets = {kind: self.targets(kind, at) for kind in KINDS}
        kinds = [kind for kind in KINDS if targets[kind]]
        kind = self.source.choices(kinds, [KINDS[kind] for kind in kinds])[0]
        ranks, host = self.source.choice(targets[kind])
        return Fault(at, kind, ranks, host, self.duration(kind))

    def duration(self, kind):
        shortest, longest = {"pause": (0.01, LONGEST_PAUSE), "stop": (2 * SETTLING, 3 * SETTLING), "kill": (0, 0),
                             "cut": (0.01, LONGEST_CUT), "sever": (1.5 * SILENCE, 2 * SILENCE), "fill": (0.2, 3)}[kind]
        return self.source.uniform(shortest, longest)

    def targets(self, kind, at):
        """Ranks and host of each."""
        setting = self.setting
        living = [rank for rank in setting.workers if rank not in self.lost]
        if kind == "pause":
            return [((rank,), "") for rank in [*living, *setting.servers]]
        if kind == "fill":
            return [((), "")] if setting.has_disk else []
        if kind in ("cut", "sever"):
            living_on = {host: tuple(rank for rank in ranks if rank in living) for host, ranks in setting.hosts.items()}
            cables = [(ranks, host) for host, ranks in living_on.items() if ranks and len(setting.hosts) > 1]
            return cables if kind == "cut" else [(ranks, host) for ranks, host in cables if self.can_go(ranks, at)]
        return [((rank,), "") for rank in living if self.can_go((rank,), at)]

    def can_go(self, ranks, at):
        """Between hosts those that are left must be more than half of the workers, or half with the lowest. Workers that were
        lost a moment ago may still count."""
        left = {rank for rank in self.setting.workers if rank not in self.lost} - set(ranks)
        if len(left) < FEWEST_LEFT or len(self.setting.hosts) == 1:
            return len(left) >= FEWEST_LEFT
        members = {rank for rank in self.setting.workers if self.lost.get(rank, at) > at - 2 * SETTLING}
        return 2 * len(left) + (min(members) in left) > len(members)

    def is_free(self, fault):
        """Faults that are survived one by one may be too long together; what undoes one must not undo another."""
        clash = {"pause": ("pause", "cut"), "cut": ("pause", "cut", "sever"), "sever": ("cut", "sever"),
                 "stop": ("pause",), "fill": ("fill",)}
        return all(other.kind not in clash.get(fault.kind, ()) or fault.at > other.until + self.apart(fault, other)
                   for other in self.recent)

    @staticmethod
    def apart(fault, other):
        return SILENCE if fault.kind == other.kind == "cut" else 0.1


def make_plan(setting, seed):
    """The faults in the order of their times."""
    return Planner(setting, seed).plan()
