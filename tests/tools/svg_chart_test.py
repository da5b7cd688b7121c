"""tools/svg_chart.py, and the tools that draw with it: pictures are XML and show every value."""

import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.append(str(TOOLS))
from svg_chart import AHEAD, BEHIND, WIDTH, HeatMap, Panel, chart  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture):
    return [element.text for element in xml.fromstring(picture).iter(f"{SVG}text")]


def lengths(picture, series):
    """Of the bars, behind the background and the legend."""
    return [float(element.get("width")) for element in list(xml.fromstring(picture).iter(f"{SVG}rect"))[1 + series:]]


def drawn_by(tool, report):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.json")
        path.write_text(json.dumps(report), encoding="utf-8")
        return subprocess.run([TOOLS / tool, path], check=True, capture_output=True, text=True).stdout


class ChartTest(unittest.TestCase):
    def test_lengths_are_proportional(self):
        picture = chart([("a < b", ["one"], [("x", [1]), ("y", [4])], "s")])
        self.assertIn("a < b", texts(picture))
        self.assertIn("4 s", texts(picture))
        widths = lengths(picture, 1)
        self.assertEqual(widths, [WIDTH / 4, WIDTH])

    def test_missing_values_are_said_or_left_out(self):
        rows = [("x", [1, None])]
        self.assertIn("not reached", texts(chart([Panel("t", ["a", "b"], rows)])))
        self.assertNotIn("not reached", texts(chart([Panel("t", ["a", "b"], rows, missing=None)])))

    def test_logarithmic_bars_are_equally_far_apart(self):
        picture = chart([Panel("t", ["a"], [("x", [1]), ("y", [10]), ("z", [100])], logarithmic=True)])
        widths = lengths(picture, 1)
        self.assertAlmostEqual(widths[1] - widths[0], widths[2] - widths[1], delta=0.2)


class HeatMapTest(unittest.TestCase):
    def setUp(self):
        cells = [(0, 1.0, "us"), (1, -0.5, "them")]
        self.picture = chart([HeatMap("t", 0, 1, [("a row", cells, [(0.5, False), (1, True)])], [(0.25, "here")],
                                      lambda place: f"{10 ** place}")])
        self.elements = xml.fromstring(self.picture)

    def test_says_rows_cells_ticks_and_points(self):
        for said in ("t", "a row", "us", "them", "1", "10", "here"):
            self.assertIn(said, texts(self.picture))

    def test_colours_say_who_is_ahead_and_how_far(self):
        cells = list(self.elements.iter(f"{SVG}rect"))[1:]
        self.assertEqual([cell.get("fill") for cell in cells], [AHEAD, BEHIND])
        self.assertGreater(float(cells[0].get("fill-opacity")), float(cells[1].get("fill-opacity")))
        self.assertAlmostEqual(sum(float(cell.get("width")) for cell in cells), WIDTH, delta=0.2)

    def test_marks_are_lines_at_their_places(self):
        solid, dashed = self.elements.iter(f"{SVG}line")
        self.assertAlmostEqual(float(dashed.get("x1")) - float(solid.get("x1")), WIDTH / 2, delta=0.2)
        self.assertIsNone(solid.get("stroke-dasharray"))
        self.assertIsNotNone(dashed.get("stroke-dasharray"))


class ToolsTest(unittest.TestCase):
    def test_collectives(self):
        row = {"op": "allreduce", "ranks": 2, "bytes": 4096, "starling_us": 3.0, "mpi_us": 2000.0, "gloo_us": None}
        machine = {"cpu": "A CPU", "cores": 2, "date": "2026-01-02T03:04"}
        shown = texts(drawn_by("plot_collectives", {"results": [row], "machine": machine}))
        for text in ["2 ranks, 4 KB", "3 us", "2 ms", "A CPU, 2 cores, 2026-01-02"]:
            self.assertIn(text, shown)

    def test_strategies(self):
        row = {"strategy": "--ps", "equal_seconds": 12.0, "straggler_seconds": None}
        shown = texts(drawn_by("plot_strategies", {"rows": [row]}))
        for text in ["ps", "12 s", "not reached"]:
            self.assertIn(text, shown)


if __name__ == "__main__":
    unittest.main()
