#!/usr/bin/env python3
"""Draws one iteration of one worker, a panel per run, from traces whose events say what they are (docs/runs.md):

bench/papers/timeline.py --out X.svg --step 5 --worker 0 --panel "WFBP=a/trace.json" --panel "DeAR=b/trace.json"

A panel goes from the first forward of the step to that of the next, both marked by a line, and on to the end of all
that belongs to the step. Bars have a colour by the place of their bucket in the model, the same in all panels, and its
number, counted from the input; those of the steps before and after are faint. All panels have the same time scale.
"""

import argparse
import sys
from html import escape
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))
from svg_chart import COLOURS, picture, text  # noqa: E402
from trace_spans import COLLECTIVES, BadTrace, read, whole  # noqa: E402

ROWS = ["forward", "backward", "reduce-scatter", "all-gather", "all-reduce"]
LEFT, BAR, GAP, WIDTH, HEAD, AXIS = 110, 18, 6, 760, 32, 34
GREY, SHADES = COLOURS[0], [COLOURS[1], COLOURS[3], COLOURS[4], COLOURS[2]]
NARROWEST_LABEL = 9  # pixels per digit


def shade(place):
    """The colour for a position in the model, from 0 to 1."""
    at = min(max(place, 0), 1) * (len(SHADES) - 1)
    low = min(int(at), len(SHADES) - 2)
    mixed = (round(int(SHADES[low][i:i + 2], 16) * (1 - at + low) + int(SHADES[low + 1][i:i + 2], 16) * (at - low))
             for i in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in mixed)


class Panel:
    """The visible part of one run. Times are microseconds from the first forward of the step."""

    def __init__(self, title, path, worker, step):
        spans = [span for span in read(path) if span.worker == worker and abs(span.step - step) <= 1]
        own = [span for span in spans if span.step == step]
        begin = min((span.begin for span in own if span.kind == "forward"), default=None)
        if begin is None:
            raise BadTrace(f"{path}: worker {worker} has no forward of step {step}")
        self.title, self.step = title, step
        self.next = min((span.begin - begin for span in spans if (span.kind, span.step) == ("forward", step + 1)),
                        default=None)
        self.end = max([span.end - begin for span in own] + [self.next or 0])
        self.sections = max(span.last for span in spans)
        self.buckets = sorted({(span.first, span.last) for span in own if span.kind in COLLECTIVES})
        shifted = [span._replace(begin=span.begin - begin, end=span.end - begin) for span in spans]
        self.rows = [(kind, self.lanes(self.bars(kind, shifted))) for kind in ROWS]
        self.rows = [(kind, lanes) for kind, lanes in self.rows if lanes]

    def bucket_of(self, span):
        """Its number; None if the span reaches beyond one."""
        return next((i for i, (first, last) in enumerate(self.buckets) if first <= span.first and span.last <= last),
                    None)

    def bars(self, kind, spans):
        """Collectives as a whole; passes as one bar while they are in the same bucket."""
        spans = [span for span in spans if span.kind == kind]
        if kind in COLLECTIVES:
            return self.clipped(whole(spans))
        found = []
        for span in spans:
            before = found[-1] if found else None
            joins = before and before.step == span.step and span.begin - before.end < 1
            if joins and self.bucket_of(before) == self.bucket_of(span) is not None:
                found[-1] = before._replace(first=min(before.first, span.first), last=max(before.last, span.last),
                                            end=span.end)
            else:
                found.append(span)
        return self.clipped(found)

    def clipped(self, spans):
        """All of the step, and of other steps the part beside it."""
        return [span._replace(begin=max(span.begin, 0), end=min(span.end, self.end)) if span.step != self.step else span
                for span in spans if span.step == self.step or (span.end > 0 and span.begin < self.end)]

    @staticmethod
    def lanes(spans):
        """Lists of bars, by time, of which none overlaps another of its list."""
        lanes = []
        for span in spans:
            lane = next((lane for lane in lanes if lane[-1].end <= span.begin), None)
            if lane is None:
                lanes.append([span])
            else:
                lane.append(span)
        return lanes

    def height(self):
        return HEAD + sum(BAR * len(lanes) + GAP for _, lanes in self.rows)

    def draw_bar(self, span, y, scale):
        bucket = self.bucket_of(span)
        colour = GREY
        if bucket is not None:
            first, last = self.buckets[bucket]
            colour = shade((first + last - 1) / 2 / max(self.sections - 1, 1))
        x, width = LEFT + span.begin * scale, (span.end - span.begin) * scale
        faint = "" if span.step == self.step else ' fill-opacity="0.3"'
        about = (f"{span.kind} of step {span.step}, sections {span.first} to {span.last - 1}: "
                 f"{span.begin / 1e3:.4g} to {span.end / 1e3:.4g} ms")
        parts = [f'<rect x="{x:.2f}" y="{y}" width="{max(width, 0.3):.2f}" height="{BAR - 2}" fill="{colour}"{faint}>'
                 f"<title>{escape(about)}</title></rect>"]
        label = "" if bucket is None else str(bucket + 1)
        if label and width >= NARROWEST_LABEL * len(label):
            ink = "white" if span.step == self.step else "#333"
            parts.append(text(x + width / 2, y + BAR - 6, label, f'font-size="10" text-anchor="middle" fill="{ink}"'))
        return parts

    def draw(self, top, scale):
        length = "" if self.next is None else f" ({self.next / 1e3:.4g} ms)"
        parts, y = [text(10, top + 18, self.title + length, 'font-weight="bold"')], top + HEAD
        for kind, lanes in self.rows:
            parts.append(text(LEFT - 10, y + BAR * len(lanes) / 2 + 3, kind, 'text-anchor="end"'))
            for lane in lanes:
                parts += [part for span in lane for part in self.draw_bar(span, y, scale)]
                y += BAR
            y += GAP
        for time in [0] + ([] if self.next is None else [self.next]):
            x = LEFT + time * scale
            parts.append(f'<line x1="{x:.2f}" y1="{top + HEAD - 6}" x2="{x:.2f}" y2="{y}" stroke="#333" '
                         'stroke-dasharray="3 2"/>')
        return parts


def tick(longest):
    """A round number of which about eight fit."""
    size = 1e-3
    while True:
        for factor in (1, 2, 5):
            if longest <= 8 * factor * size:
                return factor * size
        size *= 10


def axis(y, longest, scale):
    every = tick(longest)
    parts = [f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + WIDTH}" y2="{y}" stroke="#555"/>']
    for i in range(int(longest / every) + 1):
        x = LEFT + i * every * scale
        parts.append(f'<line x1="{x:.2f}" y1="{y}" x2="{x:.2f}" y2="{y + 4}" stroke="#555"/>')
        parts.append(text(x, y + 17, f"{i * every / 1e3:.6g}", 'font-size="10" text-anchor="middle" fill="#555"'))
    parts.append(text(LEFT - 10, y + 17, "ms", 'font-size="10" text-anchor="end" fill="#555"'))
    return parts


def draw(panels):
    longest = max(panel.end for panel in panels) or 1
    scale = WIDTH / longest
    parts, y = [], 0
    for panel in panels:
        parts += panel.draw(y, scale)
        y += panel.height() + 8
    parts += axis(y, longest, scale)
    return picture(LEFT + WIDTH + 30, y + AXIS, parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--step", required=True, type=int)
    parser.add_argument("--worker", default=0, type=int)
    parser.add_argument("--panel", required=True, action="append", metavar="TITLE=TRACE.json")
    options = parser.parse_args()
    try:
        panels = []
        for words in options.panel:
            title, equals, path = words.partition("=")
            if not equals:
                raise BadTrace(f"--panel {words}: not TITLE=TRACE.json")
            panels.append(Panel(title, path, options.worker, options.step))
        options.out.write_text(draw(panels))
    except (BadTrace, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
