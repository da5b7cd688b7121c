"""A run of tools/soak: its processes, its hosts and its disk, and what is done to them."""

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from soak_plan import LOSING, SILENCE, STALL

ROOT = Path(__file__).resolve().parent.parent
HOSTS = ROOT / "tools" / "hosts"
BATCH = 16
GRACE = 60  # seconds for a run to end after its time
MARK = "STARLING_SOAK"  # in the environment of every process of a run, also on hosts
TOO_LONG = {"pause": 0.75 * STALL, "cut": 0.5 * SILENCE}  # seconds after which a rank may rightly be taken for lost
SAMPLING = 0.25  # seconds between two looks at the memory of the workers


class Failed(Exception):
    pass


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{shlex.join(str(word) for word in words)}: {done.stderr.strip()}")
    return done.stdout


def environment_of(process):
    try:
        words = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(word.decode(errors="replace").split("=", 1) for word in words if b"=" in word)


def processes_with(name, value):
    """Process ids, with their environments, of those that have the variable."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and (variables := environment_of(process)).get(name) == value:
            found[int(process.name)] = variables
    return found


class Process:
    """A rank's process. Its number may be that of another after its end, so it is held by a descriptor."""

    def __init__(self, pid):
        self.pid = pid
        self.descriptor = os.pidfd_open(pid)

    def send(self, number):
        """False if it has ended."""
        try:
            signal.pidfd_send_signal(self.descriptor, number)
        except ProcessLookupError:
            return False
        return True

    def lives(self):
        return self.send(0)

    def memory(self):
        """Bytes that it shares with no other. 0 if it has ended."""
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{self.pid}/status").read_text()
            sizes = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")]
            return int(sizes[0]) * 1024 if sizes and self.lives() else 0
        return 0

    def close(self):
        os.close(self.descriptor)


class Disk:
    """A file system in memory, which is full when its size becomes what is used of it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir()
        call("mount", "-t", "tmpfs", "-o", "size=50%", "soak", self.folder)

    @staticmethod
    def is_possible():
        with tempfile.TemporaryDirectory() as folder:
            trial = ["unshare", "--mount", "mount", "-t", "tmpfs", "soak", folder]
            return os.geteuid() == 0 and subprocess.run(trial, stderr=subprocess.DEVNULL).returncode == 0

    def fill(self):
        for tries_left in reversed(range(20)):
            try:
                return self.resize(max(self.used(), 4096))  # a size of 0 would be no limit
            except Failed:  # the run has written meanwhile
                if tries_left == 0:
                    raise

    def used(self):
        state = os.statvfs(self.folder)
        return (state.f_blocks - state.f_bfree) * state.f_frsize

    def free(self):
        self.resize("50%")

    def resize(self, size):
        call("mount", "-o", f"remount,size={size}", self.folder)

    def close(self):
        call("umount", "-l", self.folder)


class Bed:
    """Hosts of the test bed."""

    def __init__(self, names):
        self.name = f"soak{os.getpid()}"
        call(HOSTS, "up", "--name", self.name, "--hosts", ",".join(names))

    def link(self, host, state):
        call(HOSTS, "link", "--name", self.name, host, state)

    def close(self):
        call(HOSTS, "down", "--name", self.name)


class Run:
    def __init__(self, program, strategy, setting, folder, bed, disk):
        self.bed, self.disk = bed, disk
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self.out = Path(folder) / "out" / "run"
        self.errors = open(Path(folder) / "errors", "w+")
        self.program = subprocess.Popen(self.command(program, strategy, setting), stdout=subprocess.DEVNULL,
                                        stderr=self.errors, env={
                                            **os.environ, MARK: self.mark, "STARLING_STALL": f"{STALL}s",
                                            "STARLING_SILENCE": f"{SILENCE}s", "TMPDIR": str(Path(folder) / "tmp")})
        self.end = time.monotonic() + setting.seconds  # or later: the run's own clock starts when it trains
        self.lost = set()
        self.disturbed = False  # the machine was so busy that a short fault became a long one
        self.ranks, self.memory = {}, {}

    def command(self, program, strategy, setting):
        train = ["train", "--model", "mlp", "--batch", str(BATCH), "--pace", "20ms", "--checkpoint-every", "20",
                 "--max-seconds", str(setting.seconds), "--out", str(self.out), "--json"]
        if not self.bed:
            return [program, *train, "--workers", str(len(setting.workers)), "--strategy", *strategy]
        hosts = ",".join(f"{host}:{len(ranks)}" for host, ranks in setting.hosts.items())
        agent = f"{shlex.quote(str(HOSTS))} agent --name {self.bed.name}"
        return [program, "launch", "--hosts", hosts, "--agent", agent, "--strategy", *strategy, "--", program, *train]

    def has_begun(self):
        """Waits for the first checkpoint. False if the run ended before."""
        while not (self.out / "checkpoints" / "latest.json").exists():
            if self.program.poll() is not None:
                return False
            time.sleep(0.01)
        for pid, variables in processes_with(MARK, self.mark).items():
            if "STARLING_RANK" in variables:
                self.ranks[int(variables["STARLING_RANK"])] = Process(pid)
        self.memory = {rank: [] for rank in self.ranks}
        return True

    def send(self, ranks, number):
        for rank in ranks:
            self.ranks[rank].send(number)

    def inject(self, fault):
        if fault.kind in LOSING:
            self.lost.update(fault.ranks)
        if fault.kind == "kill":
            self.send(fault.ranks, signal.SIGKILL)
        elif fault.kind in ("pause", "stop"):
            self.send(fault.ranks, signal.SIGSTOP)
        elif fault.kind in ("cut", "sever"):
            self.bed.link(fault.host, "down")
        else:
            self.disk.fill()

    def undo(self, fault, since):
        """Returns how long it lasted."""
        if fault.kind in ("pause", "stop"):
            self.send(fault.ranks, signal.SIGCONT)
        elif fault.kind in ("cut", "sever"):
            self.bed.link(fault.host, "up")
        elif fault.kind == "fill":
            self.disk.free()
        lasted = time.monotonic() - since
        if lasted > TOO_LONG.get(fault.kind, lasted):
            self.disturbed = True
        return lasted

    def torment(self, plan):
        """Injects the faults, and undoes them. Returns how long each lasted; none for one that came too late."""
        begin, injected, lasted = time.monotonic(), {}, {}
        todo = sorted([(fault.at, 0, fault) for fault in plan] + [(fault.until, 1, fault) for fault in plan],
                      key=lambda step: step[:2])
        for at, is_undo, fault in todo:
            self.sleep_until(begin + at)
            now = time.monotonic()
            if is_undo and fault in injected:
                lasted[fault] = self.undo(fault, injected[fault])
            elif not is_undo and self.program.poll() is None and now < self.end - SILENCE:
                self.inject(fault)
                injected[fault] = now
        return lasted

    def sleep_until(self, moment):
        """Until then, or until the run has ended."""
        while (left := moment - time.monotonic()) > 0 and self.program.poll() is None:
            for rank, process in self.ranks.items():
                if memory := process.memory():
                    self.memory[rank].append(memory)
            time.sleep(min(left, SAMPLING))

    def wait(self):
        """The exit code; none if the run does not end."""
        self.sleep_until(self.end)
        try:
            return self.program.wait(GRACE)
        except subprocess.TimeoutExpired:
            return None

    def living(self):
        """The ranks that still run, with the state of each: '2 (T)'."""
        states = {}
        for rank, process in sorted(self.ranks.items()):
            if process.lives():
                with contextlib.suppress(OSError):
                    states[rank] = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        return ", ".join(f"{rank} ({state})" for rank, state in states.items()) or "none"

    def left_processes(self):
        """Those that still run a moment after the end, by number."""
        for _ in range(100):
            left = set(processes_with(MARK, self.mark))
            if self.bed:
                left |= set(processes_with("STARLING_BED", self.bed.name))
            if not left:
                break
            time.sleep(0.05)
        return sorted(left)

    def close(self):
        for pid in processes_with(MARK, self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.program.wait()
        for process in self.ranks.values():
            process.close()
        self.errors.close()

    def said(self):
        self.errors.seek(0)
        return self.errors.read()
