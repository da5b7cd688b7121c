"""Pictures as SVG, with one look for all tools and benches: text, bars, and charts of bars."""

import math
from html import escape
from typing import Callable, NamedTuple, Optional

COLOURS = ["#9aa5b1", "#1b6ca8", "#9a3b26", "#3d8b40", "#b8860b"]
LEFT, BAR, GAP, WIDTH, HEAD = 190, 14, 10, 470, 62
SMALL = 'font-size="10" fill="#555"'


def text(x, y, content, extra=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" {extra}>{escape(content)}</text>'


def picture(width, height, parts):
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>')
    return "\n".join([head, *parts, "</svg>"]) + "\n"


class Panel(NamedTuple):
    """Groups of bars, one below the other."""
    title: str
    series: list  # names of the bars of a group
    rows: list  # (name, a value for each of the series, or None)
    unit: str = ""
    logarithmic: bool = False
    note: Optional[Callable] = None  # a value as text, instead of with the unit
    missing: Optional[str] = "not reached"  # says of a value None, with a faint bar; None: nothing is drawn

    def length(self):
        """The function from a value to the length of its bar."""
        values = [value for _, row in self.rows for value in row if value is not None]
        longest = max(values, default=1)
        if not self.logarithmic:
            return lambda value: value / longest * WIDTH
        low = math.log(min(values, default=1) / 2)
        return lambda value: (math.log(value) - low) / (math.log(longest) - low) * WIDTH

    def bar(self, y, index, value, length):
        if value is None and self.missing is None:
            return []
        size = WIDTH if value is None else length(value)
        faint = ' fill-opacity="0.3"' if value is None else ""
        said = self.missing if value is None else self.note(value) if self.note else f"{value:.3g} {self.unit}"
        return [f'<rect x="{LEFT}" y="{y}" width="{size:.1f}" height="{BAR - 2}" fill="{COLOURS[index]}"{faint}/>',
                text(LEFT + size + 5, y + BAR - 3, said, SMALL)]

    def legend(self, top):
        parts = []
        for i, name in enumerate(self.series):
            x = LEFT + min(150, (WIDTH + 90) / len(self.series)) * i
            parts.append(f'<rect x="{x:.0f}" y="{top + 32}" width="12" height="12" fill="{COLOURS[i]}"/>')
            parts.append(text(x + 18, top + 42, name))
        return parts

    def draw(self, top):
        """The parts, and where they end."""
        parts = [text(10, top + 20, self.title, 'font-weight="bold"'), *self.legend(top)]
        length, y = self.length(), top + HEAD
        for name, values in self.rows:
            parts.append(text(LEFT - 10, y + BAR * len(values) / 2 + 4, name, 'text-anchor="end"'))
            for i, value in enumerate(values):
                parts += self.bar(y, i, value, length)
                y += BAR
            y += GAP
        return parts, y + 10


AHEAD, BEHIND = COLOURS[1], COLOURS[2]
CELL, TICKS = 26, 18


class HeatMap(NamedTuple):
    """Rows of cells along an axis. A cell says how far, from -1 to 1, one of two sides is ahead."""
    title: str
    low: float  # the ends of the axis
    high: float
    rows: list  # (name, [(place on the axis, how far, text)], [(place of a mark, whether it is dashed)])
    points: list = []  # (place on the axis, text) of what is shown below
    tick: Callable = str  # a whole number of the axis as text

    def x(self, place):
        return LEFT + (place - self.low) / (self.high - self.low) * WIDTH

    def edges(self, cells):
        """Of the cells: halfway to their neighbours, and as far beyond the first and the last."""
        places = [cell[0] for cell in cells]
        half = (places[1] - places[0]) / 2 if len(places) > 1 else (self.high - self.low) / 2
        return [places[0] - half, *((a + b) / 2 for a, b in zip(places, places[1:])), places[-1] + half]

    def draw_row(self, y, cells, marks):
        parts, edges = [], self.edges(cells)
        for (_, ahead, said), left, right in zip(cells, edges, edges[1:]):
            x, end = self.x(max(left, self.low)), self.x(min(right, self.high))
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{end - x:.1f}" height="{CELL - 2}" '
                         f'fill="{AHEAD if ahead > 0 else BEHIND}" fill-opacity="{0.1 + 0.6 * abs(ahead):.2f}"/>')
            parts.append(text((x + end) / 2, y + CELL / 2 + 2, said, 'font-size="9" text-anchor="middle"'))
        for place, dashed in marks:
            dash = ' stroke-dasharray="3 2"' if dashed else ""
            parts.append(f'<line x1="{self.x(place):.1f}" y1="{y - 2}" x2="{self.x(place):.1f}" y2="{y + CELL}" '
                         f'stroke="#111" stroke-width="2"{dash}/>')
        return parts

    def draw(self, top):
        """The parts, and where they end."""
        parts, y = [text(10, top + 20, self.title, 'font-weight="bold"')], top + 34
        for name, cells, marks in self.rows:
            parts.append(text(LEFT - 10, y + CELL / 2 + 3, name, 'text-anchor="end"'))
            parts += self.draw_row(y, cells, marks)
            y += CELL
        for place in range(math.ceil(self.low), math.floor(self.high) + 1):
            parts.append(text(self.x(place), y + 12, self.tick(place), SMALL + ' text-anchor="middle"'))
        y += TICKS
        for place, said in sorted(self.points):
            parts.append(f'<circle cx="{self.x(place):.1f}" cy="{y + 6}" r="3" fill="#333"/>')
            parts.append(text(self.x(place) + 7, y + 10, said, SMALL))
            y += TICKS - 4
        return parts, y + 16


def chart(panels, foot=""):
    """A picture of panels, or tuples of what makes one, and maps, one below the other; `foot` is a small last line."""
    parts, y = [], 0
    for one in panels:
        more, y = (one if isinstance(one, HeatMap) else Panel(*one)).draw(y)
        parts += more
    if foot:
        parts.append(text(10, y, foot, SMALL))
        y += 10
    return picture(LEFT + WIDTH + 90, y, parts)
