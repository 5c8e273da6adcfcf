"""Random small points for the packet engine, each made by its number: machine, settings and operations."""

from __future__ import annotations

import json
import math
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

FILES = ("packet.settings", "machine.graph", "jobs.operations")


@dataclass
class Shape:
    """Routers and cables `(tail, head, class, count)`, and what else the machine's file says."""

    routers: int
    cables: list[tuple[int, int, int, int]]
    leaves: list[int]
    more: str = ""
    kind: str = "graph"
    rings: bool = False
    group: list[int] = field(default_factory=list)

    def classes(self) -> int:
        return 1 + max(of for _, _, of, _ in self.cables)


@dataclass(frozen=True)
class PointFiles:
    settings: str
    machine: str
    operations: str

    def write(self, folder: Path) -> list[str]:
        for name, text in zip(FILES, (self.settings, self.machine, self.operations), strict=True):
            (folder / name).write_text(text)
        return list(FILES)


def random_graph(random: Random) -> Shape:
    routers = random.randint(2, 8)
    pairs = {(random.randrange(router), router) for router in range(1, routers)}
    for _ in range(random.randint(0, routers)):
        tail, head = sorted(random.sample(range(routers), 2))
        pairs.add((tail, head))
    cables = [(tail, head, random.randrange(2), random.choice((1, 1, 1, 2, 3))) for tail, head in sorted(pairs)]
    if random.random() < 0.1:
        tail, head, _, _ = random.choice(cables)
        cables.append((head, tail, random.randrange(2), 1))
    random.shuffle(cables)
    leaves = (
        random.sample(range(routers), random.randint(1, routers)) if random.random() < 0.3 else list(range(routers))
    )
    shape = Shape(routers, cables, leaves)
    if random.random() < 0.6:
        groups = random.randint(2, max(2, routers // 2))
        shape.group = [
            min(router, random.randrange(groups)) if router < groups else random.randrange(groups)
            for router in range(routers)
        ]
        shape.group[:groups] = range(groups)
        shape.more = lines(f"groups {routers}", *shape.group)
    return shape


def random_grid(random: Random) -> Shape:
    while True:
        dimensions = []
        for _ in range(random.randint(1, 3)):
            length, wrap = random.randint(2, 6), random.random() < 0.5
            gap = random.choice((0, 0, 2, 3)) if not wrap else 0
            dimensions.append((length, int(wrap), gap))
        routers = math.prod(length for length, _, _ in dimensions)
        if routers <= 12:
            break
    cables, unit = [], 1
    for d, (length, wrap, gap) in enumerate(dimensions):
        for router in range(routers):
            at = router // unit % length
            for to in range(at + 1, length):
                far = to - at
                if far == 1 or (wrap and far == length - 1) or (gap and (far - 1) % gap == 0):
                    cables.append((router, router + far * unit, min(d, 1), random.choice((1, 1, 1, 2))))
        unit *= length
    more = lines(f"dimensions {len(dimensions)}", *(" ".join(map(str, row)) for row in dimensions))
    rings = any(wrap for _, wrap, _ in dimensions)
    return Shape(routers, cables, list(range(routers)), more, "grid", rings)


def random_tree(random: Random) -> Shape:
    """Return leaves below all roots, or two pods of such trees below disjoint parts of the top."""
    low, mid = random.randint(1, 3), random.randint(1, 2)
    if random.random() < 0.5:
        low, mid = random.randint(2, 4), random.randint(1, 3)
        cables = [(leaf, low + root, 0, random.choice((1, 1, 2))) for leaf in range(low) for root in range(mid)]
        level = [0] * low + [1] * mid
        return Shape(low + mid, cables, list(range(low)), lines(f"levels {low + mid}", *level), "tree")
    tops = random.randint(1, 2)
    leaf = [[pod * low + k for k in range(low)] for pod in range(2)]
    middle = [[2 * low + pod * mid + k for k in range(mid)] for pod in range(2)]
    top = [[2 * low + 2 * mid + k * tops + j for j in range(tops)] for k in range(mid)]
    cables = [(a, b, 0, 1) for pod in range(2) for a in leaf[pod] for b in middle[pod]]
    cables += [(middle[pod][k], b, 1, random.choice((1, 1, 2))) for pod in range(2) for k in range(mid) for b in top[k]]
    level = [0] * (2 * low) + [1] * (2 * mid) + [2] * (tops * mid)
    return Shape(len(level), cables, list(range(2 * low)), lines(f"levels {len(level)}", *level), "tree")


def lines(*items: Any) -> str:
    return "".join(f"{item}\n" for item in items)


def hop_weights(shape: Shape, weight: list[int]) -> list[list[float]]:
    """Return the weights of the lightest paths between all routers."""
    far = [[0 if a == b else math.inf for b in range(shape.routers)] for a in range(shape.routers)]
    for tail, head, of, _ in shape.cables:
        far[tail][head] = far[head][tail] = min(far[tail][head], weight[of])
    for via in range(shape.routers):
        for a in range(shape.routers):
            for b in range(shape.routers):
                far[a][b] = min(far[a][b], far[a][via] + far[via][b])
    return far


def routings(random: Random, shape: Shape) -> str:
    kinds = ["minimal", "valiant", "ugal", "ugal", "adaptive"]
    if shape.kind == "grid":
        kinds += ["dimension-order"] * 3 + ["adaptive"]
    if shape.kind == "tree":
        kinds += ["d-mod-k"] * 2
    if shape.kind == "graph":
        kinds += ["table", "adaptive-table", "paths"]
    return random.choice(kinds)


def listed(random: Random, shape: Shape, kind: str, nodes: list[int], weight: list[int], channels: int) -> str:
    """Return next hops or paths, of which all make way towards the goal."""
    far = hop_weights(shape, weight)
    ends = [end for tail, head, _, _ in shape.cables for end in ((tail, head), (head, tail))]

    def leading(here: int, goal: int) -> list[int]:
        of = [weight[shape.cables[link // 2][2]] for link in range(len(ends))]
        return [k for k, (a, b) in enumerate(ends) if a == here and far[b][goal] + of[k] == far[here][goal]]

    if kind == "paths":
        rows, routers = [], []
        for source in range(shape.routers):
            for goal in (g for g in range(shape.routers) if g != source):
                for index in range(random.randint(1, 3)):
                    path = [source]
                    while path[-1] != goal:
                        path.append(ends[random.choice(leading(path[-1], goal))][1])
                    rows.append(f"{source} {goal} {random.randint(0, 3) + (index == 0)} {len(path) - 1}")
                    routers += path[1:]
        return lines(f"paths {len(rows)}", *rows, f"path_routers {len(routers)}", *routers)
    by_node = random.random() < 0.5
    goals = nodes if by_node else list(range(shape.routers))
    rows = []
    for here in range(shape.routers):
        for number, goal in enumerate(goals):
            if goal != here:
                links = leading(here, goal)
                for link in random.sample(links, random.randint(1, len(links))):
                    rows.append(f"{here} {number} {link} {random.randrange(channels)} {random.randint(1, 3)}")
    return lines(f"{'node' if by_node else 'router'}_hops {len(rows)}", *rows)


def random_operations(random: Random, nodes: int, ports: int, packet: int) -> tuple[str, int]:
    """Return the file and the number of its jobs."""
    jobs = random.choice((1, 1, 1, 2, 3))
    head = "jobs" if ports == 1 else random.choice(("ports", "stripes"))
    text = "operations 1\n" + (f"{head} {ports}\n" if ports > 1 else "") + f"jobs {jobs}\n"
    apart = random.random() < 0.5 and nodes >= 2 * jobs
    for job in range(jobs):
        mine = list(range(job, nodes, jobs)) if apart else list(range(nodes))
        background = job > 0 and random.random() < 0.4
        text += random_job(random, mine, background, packet)
    return text, jobs


def random_job(random: Random, nodes: list[int], background: bool, packet: int) -> str:
    ranks = random.randint(2, max(3, 2 * len(nodes)) if random.random() < 0.4 else max(2, len(nodes)))
    places = [random.choice(nodes) for _ in range(ranks)]
    if random.random() < 0.6:
        places = [nodes[rank % len(nodes)] for rank in range(ranks)]
    streams = random.randint(1, 3)
    owner_stream = [random.randrange(ranks) for _ in range(streams)]
    events: list[list[list[int]]] = [[] for _ in range(ranks)]
    pairs = []
    hot = random.randrange(ranks) if random.random() < 0.4 else None
    chain = random.choice((0.0, 0.2, 0.6, 1.0))
    for _ in range(random.randint(1, 8 if background else random.choice((5, 15, 40)))):
        if random.random() < 0.15:
            stream = random.randrange(streams)
            events[owner_stream[stream]].append([0, stream, random.choice((0, 1, 1000, random.randrange(10**6))), 0])
            continue
        sender = random.randrange(ranks)
        receiver = hot if hot is not None and random.random() < 0.7 else random.randrange(ranks)
        if sender == receiver:
            receiver = (sender + 1) % ranks
        size = random.choice(
            (1, packet, packet + 1, 2 * packet, random.randint(1, 4 * packet), random.randint(1, 12 * packet))
        )
        for rank, kind in ((sender, random.choice((1, 1, 3))), (receiver, 2)):
            events[rank].append([kind, 0, size if kind != 2 else 0, len(pairs)])
        pairs.append((sender, receiver))
    if background:
        for rank, of_rank in enumerate(events):
            of_rank.insert(0, [0, streams + rank, random.randrange(10**5, 10**6), 0])
        streams += ranks
    number_of: dict[tuple[int, bool], int] = {}
    number, rows, dependencies = 0, [], []
    for of_rank in events:
        first = number
        for kind, _, _, pair in of_rank:
            if kind:
                number_of[pair, kind == 2] = number
            earlier = list(range(first, number))
            if earlier and background:
                dependencies.append((first, number, 0))
            elif earlier and random.random() < chain:
                for needs in random.sample(earlier, random.randint(1, min(2, len(earlier)))):
                    dependencies.append((needs, number, int(random.random() < 0.2)))
            number += 1
    for rank, of_rank in enumerate(events):
        for kind, stream, length, pair in of_rank:
            partner = number_of[pair, kind != 2] if kind else 0
            rows.append(f"{kind} {rank} {stream} {length} {partner}")
    dependencies.sort(key=lambda one: one[0])
    word = "background" if background else "ranks"
    text = lines(f"{word} {ranks}", *places, f"streams {streams}", f"operations {len(rows)}", *rows)
    return text + lines(f"dependencies {len(dependencies)}", *(" ".join(map(str, one)) for one in dependencies))


def random_point(number: int) -> PointFiles:
    random = Random(number)
    shape = random.choice((random_graph, random_graph, random_grid, random_tree))(random)
    classes = max(2, shape.classes())
    ports = random.choice((1, 1, 1, 1, 2, 3))
    nodes = [random.choice(shape.leaves) for _ in range(random.randint(2, 10)) for _ in range(ports)]
    nodes = nodes[: max(2 * ports, len(nodes) // ports * ports)]
    weight = [1, random.choice((1, 1, 2, 3))]
    if shape.kind == "grid":
        weight = [1, 1]
    kind = routings(random, shape)
    via = "group" if shape.group and random.random() < 0.5 else "router"
    longest = int(max(map(max, hop_weights(shape, [1] * classes))))
    if shape.group or weight != [1, 1]:
        longest = min(shape.routers - 1, longest + 2)
    needed = 2 * longest if kind in ("valiant", "ugal") else longest
    scheme, channel_classes = "hops", max(1, needed + random.choice((-1, 0, 0, 0, 0, 1)))
    if kind == "dimension-order":
        scheme, channel_classes = ("dateline", 2) if shape.rings else ("one", 1)
    elif kind == "adaptive" and shape.kind == "grid" and not shape.rings and random.random() < 0.8:
        scheme, channel_classes = "escape", 2
    elif shape.kind == "tree" and kind in ("minimal", "adaptive", "d-mod-k") and random.random() < 0.8:
        scheme, channel_classes = "one", 1
    elif kind in ("table", "adaptive-table") and random.random() < 0.5:
        scheme = "listed"
    shares = random.choice(([1], [1], [1], [1, 3], [2, 1, 1.5]))
    most = 64 // len(shares)
    channel_classes = min(channel_classes, most)
    channels = random.choice(
        (channel_classes, channel_classes, channel_classes + random.randint(0, 3), 2 * channel_classes)
    )
    channels = max(channels, 2 if scheme == "escape" else 1)
    channels = min(channels, most)
    more = shape.more
    if kind in ("table", "adaptive-table", "paths"):
        more += listed(random, shape, kind, nodes, weight, channel_classes)
    packet = random.choice((64, 100, 250, 1000, 4096))
    per_channel = random.random() < 0.3
    least = packet * max(4, 0 if per_channel else channel_classes + 1)
    buffer = random.choice((least, least, least + random.randrange(2 * packet), 2 * least, 16 * packet + least))
    operations, jobs = random_operations(random, len(nodes) // ports, ports, packet)
    speeds = (1e9, 2e9, 3e9, 7.3e9, 12.5e9, 25e9)
    equal = random.random() < 0.5
    speed = random.choice(speeds)
    bandwidth = [speed if equal else random.choice(speeds) for _ in range(classes + 1)]
    delays = random.choice(((0.0,), (0.0, 10.0), (10.0,), (0.0, 1.0, 40.5, 0.3, 500.0)))
    threshold = random.choice((0, 0, packet, -packet))
    settings = lines(
        "packet 1",
        f"seed {random.randrange(2**32)}",
        f"routing {kind} {random.choice(('split', 'positive', 'alternate'))} {via}",
        f"ugal {random.randint(1, 3)} {random.choice((1, 1, 0.5, 2))} {threshold} {random.randint(0, 1)}",
        "class_weight " + " ".join(map(str, weight)),
        "bandwidth_Bps " + " ".join(map(str, bandwidth)),
        "latency_ns " + " ".join(str(random.choice(delays)) for _ in bandwidth),
        f"router_latency_ns {random.choice((0, 0, 0.7, 100))}",
        f"packet_bytes {packet}",
        f"buffer_bytes {buffer}",
        f"buffers {'channel' if per_channel else 'port'}",
        f"channels {channels} {channel_classes} {scheme}",
        f"crossbar_speedup {random.choice((1, 1, 1.5, 2))}",
        f"injection {random.choice((1, 1, 2, 3, 16))}",
        "traffic_classes " + " ".join(map(str, shares)),
        "job_classes " + " ".join(str(random.randrange(len(shares))) for _ in range(jobs)),
        "congestion_management 0",
        "overhead 0 0 0",
        "times 1",
    )
    rows = [" ".join(map(str, cable)) for cable in shape.cables]
    machine = lines("graph 1", f"routers {shape.routers}", f"classes {classes}", f"nodes {len(nodes)}", *nodes)
    machine += lines(f"cables {len(rows)}", *rows) + more
    return PointFiles(settings, machine, operations)


def simulate(program: Path | str, point: PointFiles, folder: Path) -> tuple[int, dict[str, Any] | str]:
    """Return exit code, and the result or what the program says."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    command = [str(program), *point.write(folder), "result.json"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return ran.returncode, json.loads(result.read_text()) if ran.returncode == 0 else ran.stderr.strip()
