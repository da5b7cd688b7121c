"""tools/check_overlap accepts a trace in which all is in order, and names worker, step and sections where it is not."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from made_traces import all_reduced, decoupled, event, write

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_overlap"


def run(path, *flags):
    return subprocess.run([sys.executable, "-B", TOOL, path, *flags], capture_output=True, text=True)


def check(events, *flags):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        write(path, events)
        return run(path, *flags)


def key(one):
    return one["name"], one["args"]["step"], one["args"]["first"]


def find(events, name, step, first):
    return next(one for one in events if key(one) == (name, step, first))


def moved(name, step, first, by, events=None):
    """A good trace, but for one event that begins so much later and takes as long."""
    events = events or decoupled()
    find(events, name, step, first)["ts"] += by
    return events


def without(events, *what):
    return [one for one in events if key(one) not in what]


class CheckOverlap(unittest.TestCase):
    def assert_wrong(self, events, *expected, flags=()):
        result = check(events, *flags)
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        for text in expected:
            self.assertIn(text, result.stderr)

    def assert_good(self, events, *flags):
        result = check(events, *flags)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def test_in_order(self):
        self.assertEqual(self.assert_good(decoupled(), "--require-overlap").splitlines(), [
            "workers: 1, steps 1 to 3, all in order: 12 forward, 12 backward, 6 reduce-scatter, 6 all-gather",
            "all-gather: 0.0009 s, 33.3 % inside forward",
            "reduce-scatter and all-reduce: 0.0009 s, 50.0 % inside backward",
            "step time: 1.5 ms, mean of 2"])
        self.assertIn("50.0 % inside backward", self.assert_good(all_reduced()))

    def test_forward_before_the_all_gather_has_ended(self):
        self.assert_wrong(moved("forward", 2, 2, -70), "worker 0, step 2, section 2: forward begins 20.000 us before "
                          "the all-gather of step 1, sections 2-3, ends")
        self.assert_wrong(moved("forward", 3, 0, -2, all_reduced()), "step 3, sections 0-3: forward", "all-reduce")

    def test_a_microsecond_is_forgiven(self):
        self.assert_good(moved("forward", 3, 0, -1, all_reduced()))

    def test_communication_before_backward_has_ended(self):
        self.assert_wrong(moved("wait for 1", 2, 2, -10), "worker 0, step 2, sections 2-3: reduce-scatter begins "
                          "10.000 us before the backward of step 2, section 2, ends")
        self.assert_wrong(moved("all-reduce", 1, 0, -300, all_reduced()), "step 1, sections 0-1: all-reduce")

    def test_reduce_scatters_out_of_order(self):
        events = decoupled()
        for name, by in [("wait for 1", 402), ("reduce-scatter", 402)]:
            moved(name, 2, 2, by, events)
        moved("all-gather", 2, 2, 50, events)
        self.assert_wrong(events, "worker 0, step 2, sections 0-1: reduce-scatter begins 2.000 us before that of "
                          "sections 2-3")

    def test_all_gathers_out_of_order(self):
        events = moved("all-gather", 3, 0, 200, moved("all-gather", 3, 2, -140))
        self.assert_wrong(events, "worker 0, step 3, sections 2-3: all-gather begins while that of sections 0-1 could")
        # Before its reduce-scatter has ended the lower one is not passed over.
        self.assert_good(moved("all-gather", 3, 2, -160))

    def test_all_gather_before_its_reduce_scatter_has_ended(self):
        self.assert_wrong(moved("all-gather", 1, 0, -5), "worker 0, step 1, sections 0-1: all-gather begins 5.000 us "
                          "before the reduce-scatter of step 1, sections 0-1, ends")

    def test_sections_left_out(self):
        nothing = "backward, but neither reduce-scatter and all-gather nor all-reduce"
        self.assert_wrong(without(decoupled(), ("all-gather", 2, 2)), f"worker 0, step 2, section 3: {nothing}",
                          f"section 2: {nothing}")
        self.assert_wrong(without(all_reduced(), ("all-reduce", 3, 0)), f"worker 0, step 3, sections 0-1: {nothing}")
        self.assert_wrong(without(decoupled(), ("reduce-scatter", 1, 0)), "step 1, sections 0-1: all-gather of what "
                          "was not reduce-scattered")

    def test_steps_without_communication(self):
        alone = [one for one in decoupled() if one["name"] in ("forward", "backward")]
        self.assert_good(alone)
        # Others did communicate in these steps.
        self.assert_wrong(decoupled(worker=1) + alone, "worker 0, step 1, section 3: backward, but")

    def test_workers_are_apart(self):
        self.assertIn("workers: 2", self.assert_good(decoupled() + [
            {**one, "ts": one["ts"] + 130} for one in decoupled(worker=1)]))

    def test_a_collective_partly_in_the_background(self):
        events = decoupled()
        gather = find(events, "all-gather", 1, 2)
        gather["dur"] = 50
        rest = event("all-gather", 1, 2, 4, gather["ts"] + 50, gather["ts"] + 150)
        self.assert_good([*events, rest])
        rest["dur"] = 300
        self.assert_wrong([*events, rest], "step 2, section 2: forward begins 150.000 us before the all-gather")

    def test_earlier_steps_may_be_left_out(self):
        events = moved("all-gather", 1, 0, -5)
        self.assertIn("steps 2 to 3", self.assert_good(events, "--step-from", "2"))

    def test_overlap_required(self):
        self.assert_wrong(all_reduced(), "no all-gather lies beside a forward",
                          "no reduce-scatter lies beside a backward", flags=["--require-overlap"])

    def test_ten_lines_at_most(self):
        events = [one for one in decoupled(steps=8) if one["name"] != "all-gather"]
        lines = check(events).stderr.splitlines()
        self.assertEqual(len(lines), 10)
        self.assertEqual(lines[-1], "and 23 more")

    def test_bad_input(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "trace.json")
            for content in [None, b"", b"\xff\xfe", b"[1, 2", b"{}", b"[]", b'{"traceEvents":3}', b'{"traceEvents":[]}',
                            b'{"traceEvents":[{"ph":"X","pid":1,"ts":0,"dur":1,"name":"compute"}]}',
                            b'{"traceEvents":[{"ph":"X","pid":1,"ts":0,"dur":1,"name":"forward","args":{"step":1}}]}']:
                if content is not None:
                    path.write_bytes(content)
                with self.subTest(content=content):
                    result = run(path)
                    self.assertEqual((result.returncode, result.stdout), (2, ""))
                    self.assertRegex(result.stderr, r"\A.*trace\.json: .*\n\Z")
            write(path, decoupled())
            self.assertEqual(run(path, "--step-from", "4").returncode, 2)


if __name__ == "__main__":
    unittest.main()
