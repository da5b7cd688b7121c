"""Traces of one worker and two or more steps, made by hand for the tests of what reads them. Times are microseconds."""

import json


def event(name, step, first, last, begin, end, worker=0, **more):
    return {"ph": "X", "pid": worker + 1, "tid": 1, "ts": begin, "dur": end - begin, "name": name,
            "args": {**more, "step": step, "first": first, "last": last}}


def decoupled(steps=3, worker=0):
    """Two buckets of two sections: 100 forward and 200 backward per section, each collective takes 150.

    Reduce-scatters begin when their gradients are there, all-gathers after the backward pass and go on beside the next
    forward pass.
    """
    events, begin = [], 0
    for step in range(1, steps + 1):
        for i in range(4):
            at = begin + 100 * i
            events.append(event("forward", step, i, i + 1, at, at + 100, worker))
        backward = begin + 400
        for i in range(4):
            at = backward + 200 * i
            events.append(event("backward", step, 3 - i, 4 - i, at, at + 200, worker))
        events += [
            {**event("wait for 1", step, 2, 4, backward + 400, backward + 420, worker, of="reduce-scatter"), "tid": 3},
            event("reduce-scatter", step, 2, 4, backward + 420, backward + 550, worker),
            event("reduce-scatter", step, 0, 2, backward + 800, backward + 950, worker),
            event("all-gather", step, 0, 2, backward + 950, backward + 1100, worker),
            event("all-gather", step, 2, 4, backward + 1100, backward + 1250, worker),
        ]
        begin = backward + 1100
    return events


def all_reduced(steps=3):
    """The same, but each bucket is all-reduced in one go before the next forward pass."""
    events, begin = [], 0
    for step in range(1, steps + 1):
        events.append(event("forward", step, 0, 4, begin, begin + 400))
        events.append(event("backward", step, 2, 4, begin + 400, begin + 800))
        events.append(event("backward", step, 0, 2, begin + 800, begin + 1200))
        events.append(event("all-reduce", step, 2, 4, begin + 800, begin + 1100))
        events.append(event("all-reduce", step, 0, 2, begin + 1200, begin + 1500))
        begin += 1500
    return events


def write(path, events):
    metadata = {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "worker 0"}}
    plain = {"ph": "X", "pid": 1, "tid": 2, "ts": 0, "dur": 1, "name": "update"}
    path.write_text(json.dumps({"displayTimeUnit": "ms", "traceEvents": [metadata, plain, *events]}))
