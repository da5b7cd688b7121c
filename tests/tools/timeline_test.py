"""bench/papers/timeline.py draws what belongs to a step, all panels on one time scale."""

import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from made_traces import all_reduced, decoupled, write

PROGRAM = Path(__file__).resolve().parents[2] / "bench" / "papers" / "timeline.py"
SVG = "{http://www.w3.org/2000/svg}"


def draw(step, **traces):
    """The result of the program, and the picture if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.svg")
        panels = []
        for title, events in traces.items():
            path = Path(folder, f"{title}.json")
            write(path, events)
            panels += ["--panel", f"{title}={path}"]
        command = [sys.executable, "-B", PROGRAM, "--out", out, "--step", str(step), *panels]
        result = subprocess.run(command, capture_output=True, text=True)
        return result, ElementTree.parse(out).getroot() if out.exists() else None


def bars(picture):
    """By what they are about: left edge, width, and whether they are faint."""
    return {bar.findtext(f"{SVG}title").split(":")[0]: (float(bar.get("x")), float(bar.get("width")),
                                                         bar.get("fill-opacity") is not None)
            for bar in picture.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None}


class Timeline(unittest.TestCase):
    def test_two_panels(self):
        result, picture = draw(2, WFBP=all_reduced(), DeAR=decoupled())
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        words = [one.text for one in picture.iter(f"{SVG}text")]
        for expected in ["WFBP (1.5 ms)", "DeAR (1.5 ms)", "forward", "reduce-scatter", "all-gather", "all-reduce"]:
            self.assertIn(expected, words)
        found = bars(picture)
        left, width, faint = found["all-gather of step 2, sections 2 to 3"]
        self.assertFalse(faint)
        self.assertAlmostEqual(left + width, 110 + 760)  # the last that belongs to the step
        scale = width / 150
        # Passes of one bucket are one bar; what the step before left over is faint.
        self.assertEqual(found["backward of step 2, sections 2 to 3"][1], round(400 * scale, 2))
        self.assertTrue(found["all-gather of step 1, sections 2 to 3"][2])
        self.assertAlmostEqual(found["all-reduce of step 2, sections 0 to 1"][1], 300 * scale, places=1)
        self.assertNotIn("reduce-scatter of step 1, sections 2 to 3", found)

    def test_the_last_step(self):
        result, picture = draw(3, DeAR=decoupled())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("DeAR", [one.text for one in picture.iter(f"{SVG}text")])

    def test_bad_input(self):
        for step, traces in [(4, {"a": decoupled()}), (1, {"a": []})]:
            result, picture = draw(step, **traces)
            self.assertEqual((result.returncode, picture), (2, None))
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)


if __name__ == "__main__":
    unittest.main()
