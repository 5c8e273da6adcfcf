"""Clusters of SimGrid with a topology: fat trees and dragonflies.

``FAT_TREE`` has ``levels;children;parents;cables``, with a number for each level in the last three: switches or nodes
of adjacent levels are joined if their labels agree except in the digit of the upper level (Zahavi, 2010).
``DRAGONFLY`` has ``groups,cables;chassis,cables;blades,cables;nodes``: routers of a chassis are joined, routers of a
group with the same blade, and router j of group i with router i of group j. All cables have the bandwidth of the
cluster.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product

from fabricstudy.core.input_files import InputFileError, whole

from .base import MAX_FABRIC_NODES, check_cables

Edge = tuple[str, str, int]
"""Both ends and the number of cables; a host is first."""


def edges_of(kind: str, parameters: str, hosts: Sequence[str], name: str, where: str) -> list[Edge]:
    """Return the edges of a cluster; routers have the name of the cluster and a number.

    Raises InputFileError if the parameters are wrong, or do not fit the number of hosts.

    Examples
    --------
    >>> edges = edges_of("FAT_TREE", "2;4,4;1,2;1,2", [f"n{node}" for node in range(16)], "c", "")
    >>> len(edges), edges[0], edges[-1]
    (24, ('n0', 'c-1-0', 1), ('c-1-3', 'c-2-1', 2))
    """
    numbers = [
        [whole(number, 1, MAX_FABRIC_NODES, where) for number in part.split(",")] for part in parameters.split(";")
    ]
    shape = list(map(len, numbers))
    if kind == "FAT_TREE" and len(shape) == 4 and shape == [1, *[numbers[0][0]] * 3]:
        count, edges = math.prod(numbers[1]), _fat_tree(numbers[1:], hosts, name, where)
        levels = range(1, len(numbers[1]) + 1)
        pairs = sum(math.prod((*numbers[2][:level], *numbers[1][level - 1 :])) for level in levels)
    elif kind == "DRAGONFLY" and shape == [2, 2, 2, 1]:
        count, edges = math.prod(part[0] for part in numbers), _dragonfly(numbers, hosts, name)
        groups, chassis, blades = (part[0] for part in numbers[:3])
        pairs = math.comb(groups, 2) + groups * (chassis * math.comb(blades, 2) + blades * math.comb(chassis, 2))
    else:
        raise InputFileError("not the parameters of a topology", "write them as SimGrid does", where, parameters)
    if count != len(hosts):
        raise InputFileError(f"{len(hosts)} hosts for a topology of {count}", "fit radical", where, parameters)
    check_cables(pairs, where)
    return list(edges)


def _fat_tree(numbers: list[list[int]], hosts: Sequence[str], name: str, where: str) -> Iterator[Edge]:
    children, parents, cables = numbers
    if parents[0] * cables[0] != 1:
        raise InputFileError("hosts with several cables", "use one at level 1", where, f"{parents[0]},{cables[0]}")

    def labels(level: int) -> list[tuple[int, ...]]:
        sizes = [*parents[:level], *children[level:]]
        return [digits[::-1] for digits in product(*map(range, reversed(sizes)))]

    below = {label: hosts[number] for number, label in enumerate(labels(0)) if number < len(hosts)}
    for level in range(1, len(children) + 1):
        above = {label: f"{name}-{level}-{number}" for number, label in enumerate(labels(level))}
        for label, lower in below.items():
            for digit in range(parents[level - 1]):
                upper = above[*label[: level - 1], digit, *label[level:]]
                yield lower, upper, cables[level - 1]
        below = above


def _dragonfly(numbers: list[list[int]], hosts: Sequence[str], name: str) -> Iterator[Edge]:
    (groups, between), (chassis, black), (blades, green), (nodes,) = numbers
    of_group = chassis * blades
    for number, host in enumerate(hosts):
        yield host, f"{name}-{number // nodes}", 1
    for group, rack in product(range(groups), range(chassis)):
        first = group * of_group + rack * blades
        for tail, head in combinations(range(first, first + blades), 2):
            yield f"{name}-{tail}", f"{name}-{head}", green
    for group, blade in product(range(groups), range(blades)):
        for tail, head in combinations(range(chassis), 2):
            first = group * of_group + blade
            yield f"{name}-{first + tail * blades}", f"{name}-{first + head * blades}", black
    for tail, head in combinations(range(groups), 2):
        yield f"{name}-{tail * of_group + head}", f"{name}-{head * of_group + tail}", between
