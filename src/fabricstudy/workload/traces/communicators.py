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
    group: int | None = None
    """The group whose members come together, in its order, instead of color and key."""


class Grouping(NamedTuple):
    """A call that makes a group `new` of ranks, of a communicator or of others.

    `how` is its name in MPI without the prefix; `ranks` are positions in the first group. Groups are those of a rank.
    """

    new: int
    how: str
    first: int
    second: int = -1
    ranks: tuple[int, ...] = ()


Created = list[Communicator | None]
"""The communicators that a rank creates, in order; None if it is in none. Those behind an unknown one are left out."""

EMPTY_GROUP = 2
"""MPI_GROUP_EMPTY, in DUMPI's numbers."""


def created(ranks: int, known: dict[int, str], creations: Sequence[Sequence[Creation | Grouping]]) -> list[Created]:
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
    groups: list[dict[int, tuple[int, ...] | None]] = [{EMPTY_GROUP: ()} for _ in range(ranks)]
    found: list[Created] = [[] for _ in creations]
    position, count = [0] * ranks, 1
    waiting: dict[int, dict[int, Creation]] = {}
    work = list(range(ranks))
    while work:
        rank = work.pop()
        if position[rank] == len(creations[rank]):
            continue
        call = creations[rank][position[rank]]
        if isinstance(call, Grouping):
            groups[rank][call.new] = _group(call, current[rank], groups[rank])
            position[rank] += 1
            work.append(rank)
            continue
        if call.group is not None:
            members = groups[rank].get(call.group)
            if members is None:
                # Nothing is known of what follows.
                continue
            inside = rank in members
            call = call._replace(color=members[0] if inside else -1, key=members.index(rank) if inside else 0)
        old = current[rank].get(call.old)
        if old is None or len(old.members) == 1:
            results = {rank: old if call.color >= 0 else None}
        else:
            waiting.setdefault(old.number, {})[rank] = call
            if len(waiting[old.number]) < len(old.members):
                continue
            calls = waiting.pop(old.number)
            results = dict.fromkeys(old.members)
            for together in _groups(old, calls):
                results |= dict.fromkeys(together, Communicator(count, together))
                count += 1
        for member, result in results.items():
            found[member].append(result)
            current[member][creations[member][position[member]].new] = result
            position[member] += 1
        work += results
    return found


def _group(
    call: Grouping, communicators: dict[int, Communicator | None], groups: dict[int, tuple[int, ...] | None]
) -> tuple[int, ...] | None:
    """Return the ranks of a group in its order, or None if they are not known."""
    if call.how == "Comm_group":
        of = communicators.get(call.first)
        return None if of is None else of.members
    first, second = groups.get(call.first), groups.get(call.second)
    if first is None or (second is None and call.how in ("union", "intersection", "difference")):
        return None
    second = second or ()
    if call.how == "union":
        return first + tuple(rank for rank in second if rank not in first)
    if call.how in ("intersection", "difference"):
        return tuple(rank for rank in first if (rank in second) == (call.how == "intersection"))
    if any(not 0 <= rank < len(first) for rank in call.ranks):
        return None
    if call.how == "incl":
        return tuple(first[rank] for rank in call.ranks)
    return tuple(rank for old, rank in enumerate(first) if old not in set(call.ranks))


def _groups(old: Communicator, calls: dict[int, Creation]) -> Iterable[tuple[int, ...]]:
    """Return the members of the new communicators."""
    colors = sorted({call.color for call in calls.values() if call.color >= 0})
    for color in colors:
        inside = [member for member in old.members if calls[member].color == color]
        yield tuple(sorted(inside, key=lambda member: calls[member].key))
