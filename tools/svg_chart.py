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


def chart(panels, foot=""):
    """A picture of panels, or tuples of what makes one, below each other; `foot` is a small line at the end."""
    parts, y = [], 0
    for one in panels:
        more, y = Panel(*one).draw(y)
        parts += more
    if foot:
        parts.append(text(10, y, foot, SMALL))
        y += 10
    return picture(LEFT + WIDTH + 90, y, parts)
