"""The part of bench/papers/ea_wild for many workers: the paper's 90 epochs of ResNet-50 on 3,200 nodes, simulated."""

from pathlib import Path

from solver_map import EQUAL, to_loss
from solvers import FAMILIES, median, or_none, run, shown

NODES, IMAGES, EPOCHS = 3200, 1_281_167, 90
BATCH = 10  # of a node: 32,000 of all, as large batches of the time
IMAGES_PER_SECOND = 50  # of a node
REPLAY_IMAGES_PER_SECOND = 294  # docs/workloads.md
NETWORK, BANDWIDTH, MODEL_BYTES = "100gib", 1.25e10, 4 * 25_557_032
PAPER_MINUTES = 15
STEPS = 2
RATIO = 0.1


def cluster(folder, nodes):
    path = Path(folder, f"nodes_{nodes}.toml")
    speed = IMAGES_PER_SECOND / REPLAY_IMAGES_PER_SECOND
    path.write_text(f'network = "{NETWORK}"\n[[host]]\nworkers = 1\ncount = {nodes}\nspeed = {speed:.6g}\n')
    return str(path)


def seconds_per_step(program, folder, nodes, strategy):
    """Of the last of the steps: the first one begins with nothing under way."""
    def duration(steps):
        words = ["simulate", "--cluster", cluster(folder, nodes), "--workload", "replay:resnet50", "--batch",
                 str(BATCH), "--strategy", *strategy, "--steps", str(steps), "--record", "off"]
        return run(program, words)[0]["seconds"]
    return duration(STEPS) - duration(STEPS - 1)


def minutes(step, nodes):
    return step * EPOCHS * IMAGES / (nodes * BATCH) / 60


def simulate_headline(program, folder, quick, report):
    nodes, few = (64, 16) if quick else (NODES, 256)
    computing = BATCH / IMAGES_PER_SECOND
    synchronous = seconds_per_step(program, folder, nodes, ["allreduce", "--algorithm", "halving"])
    sharded = seconds_per_step(program, folder, few, ["ea-wild", "--centre", "sharded"])
    server = max(computing, nodes * MODEL_BYTES / BANDWIDTH)
    found = {"nodes": nodes, "all-reduce": synchronous, "ea-wild": sharded, "ea-wild nodes": few, "server": server}
    print(f"\n4. {EPOCHS} epochs of ResNet-50 on {nodes} nodes of {IMAGES_PER_SECOND} images/s, {BATCH} images a step, "
          f"{NETWORK} (the paper: {PAPER_MINUTES} min on {NODES})\n")
    for name, step in (("computing alone", computing), ("Sync SGD", synchronous),
                       (f"EA-wild, sharded (step of {few} nodes)", sharded), ("EA-wild, one server (formula)", server)):
        print(f"{name:<40}{1e3 * step:>12.1f} ms a step{minutes(step, nodes):>12.1f} min")
    report["headline"] = found | {"minutes": {"computing": minutes(computing, nodes), "all-reduce": minutes(
        synchronous, nodes), "ea-wild": minutes(sharded, nodes), "server": minutes(server, nodes)}}


def simulate_many(program, settings, report):
    """The training of the map on 3,200 workers, where it is feasible: a centre in slices would send 10 million messages
    per step."""
    solvers = [solver for solver in FAMILIES if solver.name in ("Sync SGD", "Sync EASGD")]
    wild = FAMILIES[-1]._replace(words=("ea-wild", "--centre", "server"))
    print(f"\n5. mlp, simulated, {NODES} workers, t_comm / t_comp = {RATIO}: seconds to the loss, one seed\n")
    report["many"] = {}
    for solver in (*solvers, wild):
        time = median(to_loss(program, solver, settings[solver.name], NODES, RATIO, EQUAL, "1..1"))
        report["many"][solver.name] = or_none(time)
        print(f"{solver.name:<20}{shown(time, 0):>10}", flush=True)
