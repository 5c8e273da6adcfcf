"""Random points, each made by its number, on which the packet engine and its reference agree.

``python -m tests.engines.packet_random 1000 --first 0`` compares so many of them; with ``--crowded`` those of
``crowded_point``.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path
from random import Random

from .packet_points import PROGRAM, Machine, Message, Point
from .packet_reference import Simulation


def random_graph(random: Random) -> Machine:
    routers = random.randint(2, 8)
    pairs = {(random.randrange(router), router) for router in range(1, routers)}
    pairs |= {tuple(sorted(random.sample(range(routers), 2))) for _ in range(random.randint(0, routers))}  # type: ignore[misc]
    cables = [(tail, head, random.randrange(2), random.choice((1, 1, 1, 2, 3))) for tail, head in sorted(pairs)]
    if random.random() < 0.1:
        tail, head, _, _ = random.choice(cables)
        cables.append((head, tail, random.randrange(2), 1))
    leaves = random.sample(range(routers), random.randint(1, routers)) if random.random() < 0.3 else range(routers)
    machine = Machine(routers, random.sample(cables, len(cables)), list(leaves))
    if random.random() < 0.6:
        groups = random.randint(2, max(2, routers // 2))
        machine.group = [*range(groups), *(random.randrange(groups) for _ in range(routers - groups))]
    return machine


def random_grid(random: Random) -> Machine:
    dimensions: list[tuple[int, int]] = []
    while not dimensions or math.prod(length for length, _ in dimensions) > 12:
        wraps = [random.randrange(2) for _ in range(random.randint(1, 3))]
        dimensions = [(random.randint(2, 6), wrap) for wrap in wraps]
    routers, cables, unit = math.prod(length for length, _ in dimensions), [], 1
    for d, (length, wrap) in enumerate(dimensions):
        for router in range(routers):
            at = router // unit % length
            for far in range(1, length - at):
                if far == 1 or (wrap and far == length - 1):
                    cables.append((router, router + far * unit, min(d, 1), random.choice((1, 1, 1, 2))))
        unit *= length
    return Machine(routers, cables, list(range(routers)), dimensions)


def random_tree(random: Random) -> Machine:
    low, roots = random.randint(2, 4), random.randint(1, 3)
    cables = [(leaf, low + root, root % 2, random.choice((1, 1, 2))) for leaf in range(low) for root in range(roots)]
    return Machine(low + roots, cables, list(range(low)), level=[0] * low + [1] * roots)


def longest_path(machine: Machine, weight: tuple[int, int]) -> int:
    """Return the most hops of a lightest path, or more."""
    routers = range(machine.routers)
    far = [[0.0 if a == b else math.inf for b in routers] for a in routers]
    for tail, head, _, _ in machine.cables:
        far[tail][head] = far[head][tail] = 1
    for via in routers:
        far = [[min(far[a][b], far[a][via] + far[via][b]) for b in routers] for a in routers]
    longest = int(max(map(max, far)))
    return min(machine.routers - 1, longest + 2) if machine.group or weight != (1, 1) else longest


def random_messages(random: Random, ranks: int, packet: int) -> list[Message]:
    hot = random.randrange(ranks) if random.random() < 0.4 else None
    late = random.choice((0.0, 0.0, 0.2, 0.8))
    messages: list[Message] = []
    for _ in range(random.randint(1, random.choice((5, 15, 40)))):
        sender = random.randrange(ranks)
        receiver = hot if hot is not None and random.random() < 0.7 else random.randrange(ranks)
        receiver = (sender + 1) % ranks if sender == receiver else receiver
        sizes = (1, packet, packet + 1, 2 * packet, random.randint(1, 4 * packet), random.randint(1, 12 * packet))
        posted_ps = random.choice((1, 1000, random.randint(1, 10**6))) if random.random() < late else 0
        messages.append(Message(sender, receiver, random.choice(sizes), posted_ps))
    return messages


def channels_of(random: Random, machine: Machine, kind: str, weight: tuple[int, int]) -> tuple[str, int]:
    """Return how channel classes follow from routes, and their number; sometimes too few of them."""
    rings = any(wraps for _, wraps in machine.dimensions)
    if kind == "dimension-order":
        return ("dateline", 2) if rings else ("one", 1)
    if kind == "adaptive" and machine.dimensions and not rings and random.random() < 0.8:
        return "escape", 2
    if machine.level and kind in ("minimal", "adaptive") and random.random() < 0.8:
        return "one", 1
    needed = longest_path(machine, weight) * (2 if kind in ("valiant", "ugal") else 1)
    return "hops", max(1, needed + random.choice((-1, 0, 0, 0, 0, 1)))


def random_point(number: int) -> Point:
    random = Random(number)
    machine = random.choice((random_graph, random_graph, random_grid, random_tree))(random)
    kinds = ["minimal", "valiant", "ugal", "ugal", "adaptive"]
    kind = random.choice(kinds + ["dimension-order", "dimension-order", "adaptive"] * bool(machine.dimensions))
    weight = (1, 1 if machine.dimensions else random.choice((1, 1, 2, 3)))
    scheme, classes = channels_of(random, machine, kind, weight)
    channels = random.choice((classes, classes, classes + random.randint(0, 3), 2 * classes))
    packet, per_channel = random.choice((64, 100, 250, 1000, 4096)), random.random() < 0.3
    least = packet * max(4, 0 if per_channel else classes + 1)
    ports, count = random.choice((1, 1, 1, 1, 2, 3)), random.randint(2, 10)
    ranks = [rank % count for rank in range(random.randint(2, max(3, 2 * count if random.random() < 0.4 else count)))]
    if random.random() < 0.4:
        ranks = [random.randrange(count) for _ in ranks]
    speed, speeds = random.random() < 0.5, (1e9, 2e9, 3e9, 7.3e9, 12.5e9, 25e9)
    fast, delays = random.choice(speeds), random.choice(((0.0,), (0.0, 10.0), (10.0,), (0.0, 1.0, 40.5, 0.3, 500.0)))
    return Point(
        machine,
        [random.choice(machine.leaves) for _ in range(count * ports)],
        ranks,
        random_messages(random, len(ranks), packet),
        ports,
        random.random() < 0.5 and ports > 1,
        random.randrange(2**32),
        kind,
        random.choice(("split", "positive", "alternate")),
        "group" if machine.group and random.random() < 0.5 else "router",
        random.randint(1, 3),
        random.choice((1, 1, 0.5, 2)),
        random.choice((0, 0, packet, -packet)),
        random.random() < 0.5,
        weight,
        (fast,) * 3 if speed else (random.choice(speeds), random.choice(speeds), random.choice(speeds)),
        (random.choice(delays), random.choice(delays), random.choice(delays)),
        random.choice((0, 0, 0.7, 100)),
        packet,
        random.choice((least, least, least + random.randrange(2 * packet), 2 * least, 16 * packet + least)),
        per_channel,
        channels,
        classes,
        scheme,
        random.choice((1, 1, 1.5, 2)),
        random.choice((1, 1, 2, 3, 16)),
    )


def crowded_point(number: int) -> Point:
    """Return groups of routers with many messages, so that packets wait in virtual output queues."""
    random = Random(number)
    groups, size = random.randint(2, 4), random.randint(2, 4)
    routers = range(groups * size)
    pairs = {(first + a, first + a + 1) for first in routers[::size] for a in range(size - 1)}
    pairs |= {(first, first + size - 1) for first in routers[::size] if random.random() < 0.7}
    for low in range(groups):
        for high in range(low + 1, groups):
            ends = [(low * size + random.randrange(size), high * size + random.randrange(size)) for _ in range(2)]
            pairs |= set(ends[: random.randint(1, 2)])
    cables = [(a, b, int(a // size != b // size), random.choice((1, 1, 2))) for a, b in sorted(pairs)]
    machine = Machine(len(routers), cables, list(routers), group=[router // size for router in routers])
    kind, packet = random.choice(("ugal", "ugal", "ugal", "adaptive")), 100
    classes = longest_path(machine, (1, 1)) * (2 if kind == "ugal" else 1)
    messages = [one for _ in range(4) for one in random_messages(random, len(routers), packet)]
    least, delays = packet * (classes + 1), random.choice(((0, 0, 0), (10, 40.5, 0.3)))
    return Point(
        machine,
        list(routers),
        list(routers),
        messages,
        seed=number,
        kind=kind,
        via=random.choice(("router", "group")),
        detours=random.randint(1, 3),
        bias=random.choice((1, 0.5, 2)),
        threshold=random.choice((0, packet, 4 * packet)),
        progressive=random.random() < 0.7,
        latency_ns=delays,
        packet=packet,
        buffer=random.choice((least, 2 * least)),
        channels=classes,
        classes=classes,
        scheme="hops",
        injection=random.choice((1, 4)),
    )


def differences(point: Point, folder: Path, program: Path | str = PROGRAM) -> list[str]:
    """Return in what the program's result differs from the reference's."""
    code, found = point.simulate(folder, program)
    expected = Simulation(point).run()
    if expected is None or code:
        deadlock = code == 3 and expected is None
        return [] if deadlock else [f"program: exit code {code}, {found}"[:200] + f"; reference: {expected}"[:100]]
    return [f"{key}: {found.get(key)} is not {value}" for key, value in expected.items() if found.get(key) != value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("points", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--program", default=str(PROGRAM))
    parser.add_argument("--crowded", action="store_true")
    arguments = parser.parse_args()
    make = crowded_point if arguments.crowded else random_point
    for number in range(arguments.first, arguments.first + arguments.points):
        with tempfile.TemporaryDirectory() as folder:
            if found := differences(make(number), Path(folder), arguments.program):
                print(f"{number}: " + "; ".join(found)[:400], flush=True)


if __name__ == "__main__":
    main()
