"""Communicators that ranks create, against the definitions of the calls in the standard of MPI."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.workload.traces.communicators import Creation, Grouping, created

RANKS, WORLD = 5, 2
GROUPS = ("incl", "excl", "union", "intersection", "difference")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_programs_create_what_the_standard_says(data: st.DataObject) -> None:
    """All members of a communicator make each call; later calls are on any that earlier ones have created."""
    known: list[dict[int, tuple[int, ...]]] = [{WORLD: tuple(range(RANKS))} for _ in range(RANKS)]
    calls: list[list[Creation | Grouping]] = [[] for _ in range(RANKS)]
    expected: list[list[tuple[int, ...] | None]] = [[] for _ in range(RANKS)]
    for number in range(10, 10 * data.draw(st.integers(2, 7)), 10):
        caller = data.draw(st.integers(0, RANKS - 1))
        handle = data.draw(st.sampled_from(sorted(known[caller])))
        old = known[caller][handle]
        how = data.draw(st.sampled_from(["dup", "split", *GROUPS]))
        some = tuple(data.draw(st.permutations(old)))[: data.draw(st.integers(0, len(old)))]
        color = {rank: data.draw(st.integers(-1, 1)) for rank in old} if how == "split" else dict.fromkeys(old, 0)
        key = {rank: data.draw(st.integers(-1, 1)) for rank in old} if how == "split" else dict.fromkeys(old, 0)
        rest, places = tuple(rank for rank in old if rank not in some), tuple(map(old.index, some))
        members = {
            "incl": some, "excl": rest, "union": some + rest, "difference": rest,
            "intersection": tuple(rank for rank in old if rank in some),
        }  # fmt: skip
        for rank in old:
            together = [other for other in old if color[other] == color[rank] >= 0]
            new = members.get(how, tuple(sorted(together, key=lambda other: (key[other], old.index(other)))))
            group = None
            if how in GROUPS:
                group = number + 2
                ends = (number + 1, number) if how == "union" else (number, number + 1)
                calls[rank] += [
                    Grouping(number, "Comm_group", handle), Grouping(number + 1, "incl", number, ranks=places),
                    Grouping(group, how, number, ranks=places) if "cl" in how else Grouping(group, how, *ends),
                ]  # fmt: skip
            calls[rank].append(Creation(handle, number, color[rank], key[rank], group))
            expected[rank].append(new if rank in new else None)
            if rank in new:
                known[rank][number] = new
    found = [[one and one.members for one in of_rank] for of_rank in created(RANKS, {WORLD: "world"}, calls)]
    assert found == expected
