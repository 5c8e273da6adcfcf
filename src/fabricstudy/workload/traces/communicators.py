"""Communicators that ranks create and number on their own, as traces of MPI calls list them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Communicator(NamedTuple):
    """A communicator, its number among all (0: MPI_COMM_WORLD), and its members by rank in it."""

    number: int
    members: tuple[int, ...]


class Creation(NamedTuple):
    """A call that creates a communicator from one that the rank knows as `old`.

    Members of one color come together, by `key`; a negative color is in none.
    """

    old: int
    new: int
    color: int = 0
    key: int = 0


Created = list[Communicator | None]
"""The communicators that a rank creates, in order; None if it is in none, or unknown."""


def created(ranks: int, known: dict[int, str], creations: Sequence[Sequence[Creation]]) -> list[Created]:
    """Return the communicators that each rank creates.

    `known` has the ranks' numbers of "world" and "self". A call is complete when all members of the old communicator
    have come to it; what never is complete remains None.

    Examples
    --------
    >>> split = [[Creation(2, 9, rank % 2, -rank)] for rank in range(4)]
    >>> [of_rank[0].members for of_rank in created(4, {2: "world"}, split)]
    [(2, 0), (3, 1), (2, 0), (3, 1)]
    """
    world = Communicator(0, tuple(range(ranks)))
    current: list[dict[int, Communicator | None]] = [
        {number: world if name == "world" else Communicator(-1, (rank,)) for number, name in known.items()}
        for rank in range(ranks)
    ]
    found: list[Created] = [[None] * len(of_rank) for of_rank in creations]
    position, count = [0] * ranks, 1
    waiting: dict[int, dict[int, Creation]] = {}
    work = list(range(ranks))
    while work:
        rank = work.pop()
        if position[rank] == len(creations[rank]):
            continue
        call = creations[rank][position[rank]]
        old = current[rank].get(call.old)
        if old is None or len(old.members) == 1:
            results = {rank: old}
        else:
            waiting.setdefault(old.number, {})[rank] = call
            if len(waiting[old.number]) < len(old.members):
                continue
            calls = waiting.pop(old.number)
            results = dict.fromkeys(old.members)
            for members in _groups(old, calls):
                results |= dict.fromkeys(members, Communicator(count, members))
                count += 1
        for member, result in results.items():
            found[member][position[member]] = result
            current[member][creations[member][position[member]].new] = result
            position[member] += 1
        work += results
    return found


def _groups(old: Communicator, calls: dict[int, Creation]) -> Iterable[tuple[int, ...]]:
    """Return the members of the new communicators."""
    colors = sorted({call.color for call in calls.values() if call.color >= 0})
    for color in colors:
        inside = [member for member in old.members if calls[member].color == color]
        yield tuple(sorted(inside, key=lambda member: calls[member].key))
