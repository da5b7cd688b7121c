"""Reads the events of a trace.json that have details (docs/runs.md), for tools that examine steps."""

import json
from typing import NamedTuple

PASSES = ("forward", "backward")
COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather")
MOST_SECTIONS = 1_000_000


class BadTrace(Exception):
    """An error in the file, described in one line."""


class Span(NamedTuple):
    worker: int
    kind: str
    step: int
    first: int
    last: int
    begin: float  # in microseconds
    end: float

    def sections(self):
        return range(self.first, self.last)


def kind_of(event):
    """None if the event has no detail. A wait has the name of its collective in its args."""
    if not isinstance(event, dict) or event.get("ph") != "X" or not isinstance(event.get("args"), dict):
        return None
    if event.get("name") in PASSES + COLLECTIVES:
        return event["name"]
    of = event["args"].get("of")
    return of if of in PASSES + COLLECTIVES else None


def span_of(event, kind):
    numbers = [event["pid"], *(event["args"][key] for key in ("step", "first", "last"))]
    times = [event["ts"], event["dur"]]
    if not all(type(number) is int for number in numbers) or not all(type(time) in (int, float) for time in times):
        raise ValueError
    span = Span(numbers[0] - 1, kind, *numbers[1:], times[0], times[0] + times[1])
    if not 0 <= span.first <= span.last <= MOST_SECTIONS or span.end < span.begin:
        raise ValueError
    return span


def read(path):
    """All spans with details, by begin. BadTrace if there are none or the file is not a trace."""
    try:
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    except OSError as error:
        raise BadTrace(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadTrace(f"{path}: not JSON") from error
    except (KeyError, TypeError) as error:
        raise BadTrace(f"{path}: has no traceEvents") from error
    spans = []
    for event in events if isinstance(events, list) else []:
        kind = kind_of(event)
        if kind is None:
            continue
        try:
            spans.append(span_of(event, kind))
        except (KeyError, ValueError) as error:
            raise BadTrace(f"{path}: no event of a run: {json.dumps(event)[:200]}") from error
    if not spans:
        raise BadTrace(f"{path}: no event says which step and sections it belongs to")
    return sorted(spans, key=lambda span: span.begin)


def whole(pieces):
    """The collectives that the spans belong to, each from its first begin to its last end, by begin."""
    found = {}
    for piece in pieces:
        key = piece[:5]
        before = found.get(key, piece)
        found[key] = piece._replace(begin=min(before.begin, piece.begin), end=max(before.end, piece.end))
    return sorted(found.values(), key=lambda span: span.begin)
