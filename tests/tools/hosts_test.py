"""tools/hosts makes hosts that reach each other by name, at the rate that was said, and leaves nothing behind.

Skipped where namespaces cannot be made.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TOOL = str(Path(__file__).resolve().parents[2] / "tools" / "hosts")
BED = f"test{os.getpid()}"
SKIPPED = 77
MB = 10**6

# Answers each of its clients, once it has sent all, with how many bytes came.
SERVER = """
import socket
with socket.create_server(("", 5000)) as server:
    print("ready", flush=True)
    while True:
        with server.accept()[0] as peer:
            count = 0
            while part := peer.recv(1 << 20):
                count += len(part)
            peer.sendall(str(count).encode())
"""

# Sends bytes and prints the seconds until the answer: HOST COUNT.
CLIENT = """
import socket, sys, time
count = int(sys.argv[2])
with socket.create_connection((sys.argv[1], 5000), timeout=30) as peer:
    start = time.monotonic()
    peer.sendall(bytes(count))
    peer.shutdown(socket.SHUT_WR)
    assert int(peer.recv(100)) == count
    print(time.monotonic() - start)
"""

# Is HOST reached within SECONDS? "yes" or "no".
PROBE = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 5000), timeout=float(sys.argv[2])).close()
    print("yes")
except OSError:
    print("no")
"""


def hosts(*words, **options):
    return subprocess.run([TOOL, *words], capture_output=True, text=True, timeout=60, **options)


def python(host, code, *words, bed=BED):
    """Returns the output of the code on the host."""
    done = hosts("exec", "--name", bed, host, "--", sys.executable, "-c", code, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def traces_of(bed):
    """Finds those of this bed, and not of one whose name begins the same."""
    return [path for folder in ("/run/netns", "/etc/netns") for path in Path(folder).glob(f"starling-{bed}*")
            if path.name.split("-")[1] == bed]


def is_alive(pid):
    """Neither gone nor a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


def links_of_the_machine():
    return subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout


class Server:
    def __init__(self, host, bed=BED):
        self.words = [TOOL, "exec", "--name", bed, host, "--", sys.executable, "-c", SERVER]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


class OneBed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.links = links_of_the_machine()
        done = hosts("up", "--name", BED, "--hosts", "a,b,c", "--rate", "100mbit", "--rate", "c=20mbit")
        assert done.returncode == 0, done.stderr
        cls.rows = done.stdout

    @classmethod
    def tearDownClass(cls):
        hosts("down", "--name", BED)
        assert not traces_of(BED)

    def test_says_what_there_is(self):
        self.assertEqual(self.rows, f"{BED} a 10.77.0.1 100mbit up\n{BED} b 10.77.0.2 100mbit up\n"
                                    f"{BED} c 10.77.0.3 20mbit up\n")
        self.assertIn(f"{BED} a 10.77.0.1", hosts("list").stdout)

    def test_names(self):
        self.assertEqual(python("a", "import socket; print(socket.gethostname(), socket.gethostbyname('b'))"),
                         "a 10.77.0.2")
        self.assertEqual(hosts("exec", "--name", BED, "b", "--", "hostname").stdout, "b\n")

    def test_the_machine_sees_nothing_of_it(self):
        self.assertEqual(links_of_the_machine(), self.links)

    def test_nothing_gets_out(self):
        routes = hosts("exec", "--name", BED, "a", "--", "ip", "route").stdout
        self.assertEqual(routes.split()[:3], ["10.77.0.0/24", "dev", "eth0"])
        self.assertEqual(routes.count("\n"), 1)

    def test_exit_code_and_output(self):
        done = hosts("exec", "--name", BED, "a", "--", "sh", "-c", "echo 'two  words'; exit 7")
        self.assertEqual((done.returncode, done.stdout), (7, "two  words\n"))
        self.assertEqual(hosts("exec", "--name", BED, "a", "--", "no-such-program").returncode, 127)

    def test_signals_reach_the_command(self):
        words = [TOOL, "exec", "--name", BED, "a", "--", "sh", "-c", "echo ready; exec sleep 60"]
        for number in (signal.SIGTERM, signal.SIGINT):
            with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
                process.stdout.readline()
                process.send_signal(number)
                self.assertEqual(process.wait(30), -number)

    def test_a_broken_pipe_ends_the_command(self):
        # Which signals are ignored is inherited, and Python ignores this one.
        ignored = hosts("exec", "--name", BED, "a", "--", "sed", "-n", "s/SigIgn:\\s*//p", "/proc/self/status").stdout
        self.assertFalse(int(ignored, 16) >> (signal.SIGPIPE - 1) & 1, ignored)

    def test_rate(self):
        # At least the time that the bytes need, less those that may pass at once at either end: no more than a tenth.
        with Server("b"):
            self.assertGreater(float(python("a", CLIENT, "b", str(4 * MB))), 0.9 * 0.32)
            self.assertGreater(float(python("c", CLIENT, "b", str(MB))), 0.9 * 0.4)
        with Server("c"):
            self.assertGreater(float(python("a", CLIENT, "c", str(MB))), 0.9 * 0.4)

    def test_rate_changes(self):
        with Server("b"):
            self.assertEqual(hosts("rate", "--name", BED, "a", "8mbit").returncode, 0)
            self.assertIn(f"{BED} a 10.77.0.1 8mbit up\n", hosts("list").stdout)
            self.assertGreater(float(python("a", CLIENT, "b", str(MB // 2))), 0.9 * 0.5)
            self.assertEqual(hosts("rate", "--name", BED, "a", "none").returncode, 0)
            self.assertIn(f"{BED} a 10.77.0.1 none up\n", hosts("list").stdout)
            python("a", CLIENT, "b", str(MB))
            self.assertEqual(hosts("rate", "--name", BED, "a", "100mbit").returncode, 0)

    def test_link(self):
        with Server("b"):
            self.assertEqual(python("a", PROBE, "b", "30"), "yes")
            self.assertEqual(hosts("link", "--name", BED, "b", "down").returncode, 0)
            self.assertIn(f"{BED} b 10.77.0.2 100mbit down\n", hosts("list").stdout)
            self.assertEqual(python("a", PROBE, "b", "0.5"), "no")
            self.assertEqual(python("b", PROBE, "b", "30"), "yes", "a host without a cable still reaches itself")
            self.assertEqual(hosts("link", "--name", BED, "b", "up").returncode, 0)
            python("a", CLIENT, "b", "1000")

    def test_two_beds(self):
        other = BED + "x"
        self.assertEqual(hosts("up", "--name", other, "--hosts", "a,b").returncode, 0)
        try:
            with Server("b"):
                self.assertEqual(python("a", PROBE, "b", "30"), "yes")
                self.assertEqual(python("a", PROBE, "b", "0.5", bed=other), "no")
        finally:
            hosts("down", "--name", other)
        self.assertEqual(traces_of(other), [])
        self.assertEqual(hosts("exec", "--name", BED, "a", "--", "true").returncode, 0)

    def test_up_twice(self):
        done = hosts("up", "--name", BED)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is up already", done.stderr)
        self.assertEqual(hosts("exec", "--name", BED, "c", "--", "true").returncode, 0)

    def test_agent_is_called_like_ssh(self):
        done = hosts("agent", "--name", BED, "-x", "-o", "BatchMode=yes", "-p22", "root@b",
                     "hostname;", "pwd;", "echo", "two  words", "$STARLING_MARK.$STARLING_BED;", "exit 5",
                     env={**os.environ, "STARLING_MARK": "leaked"})
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(done.stdout, f"b\n{os.path.expanduser('~root')}\ntwo words .{BED}\n")

    def test_agent_passes_input_but_no_open_files(self):
        with tempfile.TemporaryFile() as file:
            done = hosts("agent", "--name", BED, "a", "cat; ls /proc/$$/fd", input="in\n", pass_fds=[file.fileno()])
            self.assertEqual(done.stdout, "in\n0\n1\n2\n")
        self.assertEqual(hosts("agent", "--name", BED, "-n", "a", "cat", input="in\n").stdout, "")

    def test_the_bed_of_a_command_is_that_of_its_commands(self):
        done = hosts("exec", "--name", BED, "a", "--", TOOL, "agent", "b", "hostname")
        self.assertEqual(done.stdout, "b\n", done.stderr)

    def test_down_from_inside(self):
        done = hosts("exec", "--name", BED, "a", "--", TOOL, "down")
        self.assertEqual(done.returncode, 1)
        self.assertIn("from outside", done.stderr)


class Run(unittest.TestCase):
    def assert_gone(self, process):
        self.assertEqual(traces_of(f"run{process.pid}"), [])

    def run_in_bed(self, *command):
        process = subprocess.Popen([TOOL, "run", "--hosts", "2", "--", *command], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        output, errors = process.communicate(timeout=60)
        self.assert_gone(process)
        return process.returncode, output, errors

    def test_command_knows_the_hosts(self):
        code, output, _ = self.run_in_bed("sh", "-c", f"echo $STARLING_HOSTS; {TOOL} exec h2 -- hostname")
        self.assertEqual((code, output), (0, "h1,h2\nh2\n"))

    def test_command_fails(self):
        self.assertEqual(self.run_in_bed("sh", "-c", "exit 3")[0], 3)
        self.assertEqual(self.run_in_bed("sh", "-c", "kill -9 $$")[0], 137)
        code, _, errors = self.run_in_bed("no-such-program")
        self.assertEqual((code, errors.count("\n")), (2, 1))

    def test_ends_what_is_still_running_on_a_host(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "pid")
            code, _, _ = self.run_in_bed("sh", "-c", f"{TOOL} exec h1 -- sh -c 'echo $$; exec sleep 60' >{file} & "
                                         f"until [ -s {file} ]; do sleep 0.05; done")
            self.assertEqual(code, 0)
            self.assertFalse(is_alive(int(file.read_text())))

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process = subprocess.Popen([TOOL, "run", "--", "sh", "-c", "echo ready; exec sleep 60"],
                                       stdout=subprocess.PIPE)
            with process:
                process.stdout.readline()
                process.send_signal(number)
                self.assertEqual(process.wait(30), 128 + number)
            self.assert_gone(process)

    def test_signals_while_the_bed_is_made(self):
        for delay in (0.05, 0.15, 0.3):
            process = subprocess.Popen([TOOL, "run", "--hosts", "8", "--", "sleep", "60"])
            time.sleep(delay)
            process.send_signal(signal.SIGTERM)
            self.assertIn(process.wait(30), (-signal.SIGTERM, 128 + signal.SIGTERM))
            self.assert_gone(process)


class NothingIsLeft(unittest.TestCase):
    def test_half_a_bed(self):
        bed = BED + "y"
        folder = Path("/etc/netns", f"starling-{bed}-b")
        subprocess.run(["ip", "netns", "add", f"starling-{bed}-a"], check=True)
        folder.mkdir(parents=True)
        (folder / "hosts").touch()
        self.assertIn(f"{bed} broken\n", hosts("list").stdout)
        for _ in range(2):
            self.assertEqual(hosts("down", "--name", bed).returncode, 0)
            self.assertEqual(traces_of(bed), [])

    def test_up_that_fails(self):
        bed = BED + "z"
        with tempfile.TemporaryDirectory() as folder:
            tc = Path(folder, "tc")
            tc.write_text("#!/bin/sh\necho no queues today >&2\nexit 1\n")
            tc.chmod(0o755)
            path = f"{folder}:{os.environ['PATH']}"
            done = hosts("up", "--name", bed, "--rate", "1gbit", env={**os.environ, "PATH": path})
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
        self.assertIn("no queues today", done.stderr)
        self.assertEqual(traces_of(bed), [])


class BadInput(unittest.TestCase):
    def test_one_line_that_names_it(self):
        for named, *words in [
                ("SUBCOMMAND",), ("'fly'", "fly"), ("0", "up", "--hosts", "0"), ("255", "up", "--hosts", "255"),
                ("'A'", "up", "--hosts", "A,b"), ("'a' is given twice", "up", "--hosts", "a,a"),
                ("'abcdefghijklm'", "up", "--hosts", "abcdefghijklm"), ("''", "up", "--hosts", "a,,b"),
                ("'localhost'", "up", "--hosts", "localhost"), ("'fast'", "up", "--rate", "fast"),
                ("'0gbit'", "up", "--rate", "0gbit"), ("'1mbps'", "up", "--rate", "1mbps"),
                ("no host 'z'", "up", "--rate", "z=1gbit"), ("'a-b'", "up", "--name", "a-b"),
                ("--latency", "up", "--latency", "1ms"), ("a command is needed", "run", "--hosts", "2"),
                ("'nowhere'", "exec", "--name", "nowhere", "a", "--", "true"),
                ("'nowhere'", "rate", "--name", "nowhere", "a", "1gbit"), ("state", "link", "a"),
                ("a host and a command", "agent", "a"), ("-Z", "agent", "-Z", "a", "true")]:
            with self.subTest(words=words):
                done = hosts(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertRegex(done.stderr, r"\Atools/hosts: .*\n\Z")
                self.assertIn(named, done.stderr)


if __name__ == "__main__":
    reason = hosts("check")
    if reason.returncode:
        print(reason.stderr, end="")
        sys.exit(SKIPPED)
    unittest.main()
