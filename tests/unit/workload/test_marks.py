"""Times of marks against a count of every nanosecond, and the all-to-all over domains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.workload.critical_path import find_cycle
from fabricstudy.workload.marks import UNMARKED, mark_times
from fabricstudy.workload.matching import matched
from fabricstudy.workload.operations import CALC, RECEIVE, SEND, Operations
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.traces import parquet

EXTENSIONS = ["domain_all_to_all"]

NAMES = ("forward", "tensor")


def program(rows: list[tuple[int, int, int, int]], **more: Any) -> Operations:
    """Return operations of rank, kind, mark and bytes; a receive follows its send."""
    rank, kind, mark, size = (np.array(column) for column in zip(*rows, strict=True))
    partner = np.where(kind == SEND, np.arange(len(rows)) + 1, np.where(kind == RECEIVE, np.arange(len(rows)) - 1, -1))
    order = np.argsort(rank, kind="stable")
    number = np.argsort(order)
    none = np.zeros(0, dtype=np.int64)
    return Operations(
        ranks=int(rank.max()) + 1, rank=rank[order].astype(np.int32), stream=np.zeros(len(rows), dtype=np.int32),
        kind=kind[order].astype(np.int8), duration_ns=np.zeros(len(rows)), size_bytes=size[order],
        partner=np.where(partner < 0, -1, number[partner])[order], dependent=none, needs=none, when=none,
        mark=mark[order].astype(np.int16), mark_names=NAMES, **more,
    )  # fmt: skip


@st.composite
def runs(draw: st.DrawFn) -> tuple[Operations, Any, Any]:
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            rows.append((draw(st.integers(0, 1)), CALC, draw(st.integers(-1, 1)), 0))
        else:
            source, mark = draw(st.integers(0, 1)), draw(st.integers(-1, 1))
            rows += [(source, SEND, mark, 8), (1 - source, RECEIVE, mark, 8)]
    operations = program(rows)
    start = np.array([draw(st.integers(0, 12)) for _ in rows], dtype=float)
    end = start + [draw(st.integers(0, 9)) for _ in rows]
    receives = np.flatnonzero(operations.kind == RECEIVE)
    end[receives] = np.maximum(end[receives], start[operations.partner[receives]])
    return operations, start, end


@given(runs())
@settings(deadline=None)
def test_every_nanosecond_is_of_a_calc_of_marks_or_of_the_bubble(run: tuple[Operations, Any, Any]) -> None:
    operations, start, end = run
    exposed, computing, ranks = dict.fromkeys((*NAMES, UNMARKED), 0.0), 0, operations.ranks
    for rank in range(ranks):
        for time in range(int(end.max())):
            active = set()
            calc = False
            for i in np.flatnonzero(operations.rank == rank):
                begin = start[i]
                if operations.kind[i] == RECEIVE:
                    begin = max(begin, start[operations.partner[i]])
                if begin <= time < end[i]:
                    calc |= operations.kind[i] == CALC
                    if operations.kind[i] != CALC:
                        mark = operations.mark[i]  # type: ignore[index]
                        active.add(NAMES[mark] if mark >= 0 else UNMARKED)
            computing += calc
            for name in active if not calc else ():
                exposed[name] += 1 / len(active)
    found = mark_times(operations, start, end)
    assert {row["mark"]: row["exposed_ns"] for row in found["marks"]} == pytest.approx(
        {row["mark"]: exposed[row["mark"]] / ranks for row in found["marks"]}
    )
    assert found["exposed_ns"] == pytest.approx(sum(exposed.values()) / ranks)
    assert found["bubble_ns"] == pytest.approx(end.max() - (computing + sum(exposed.values())) / ranks)


def test_marks_by_hand() -> None:
    """Rank 0 computes from 0 to 4 and sends from 2 to 6; rank 1 posts its receive at 0, and gets it at 9."""
    operations = program([(0, CALC, 0, 0), (0, SEND, 1, 8), (1, RECEIVE, 1, 8)])
    found = mark_times(operations, np.array([0.0, 2, 0]), np.array([4.0, 6, 9]))
    assert found["exposed_ns"] == (2 + 7) / 2 and found["bubble_ns"] == (3 + 2) / 2
    forward, tensor = found["marks"]
    assert (forward["mark"], forward["start_ns"], forward["end_ns"], forward["exposed_ns"]) == ("forward", 0, 4, 0)
    assert (tensor["bytes"], tensor["start_ns"], tensor["end_ns"], tensor["exposed_ns"]) == (8, 2, 9, 4.5)


def test_marks_are_kept_in_parquet(tmp_path: Path) -> None:
    operations = program([(0, CALC, -1, 0), (1, SEND, 1, 8), (0, RECEIVE, 0, 8)])
    parquet.write(operations, tmp_path / "x.parquet")
    found = matched(parquet.read((tmp_path / "x.parquet").read_bytes()))
    assert found.mark_names == NAMES
    assert found.mark is not None and operations.mark is not None
    assert found.mark.tolist() == operations.mark.tolist() == [-1, 0, 1]


@pytest.mark.parametrize("order", ["posted", "rounds", "pipelined"])
@pytest.mark.parametrize("forward", [True, False])
def test_an_all_to_all_over_domains_reaches_all(order: str, forward: bool) -> None:
    keys = {"kind": "domain-all-to-all", "domains": 4, "accelerators": 3, "message": "1 kB"}
    pattern: Any = Pattern.model_validate(keys | {"order": order, "forward": forward})
    operations = pattern.operations()
    assert not find_cycle(operations)
    assert (operations.rank[operations.dependent] == operations.rank[operations.needs]).all()
    sends = operations.sends
    source, destination = operations.rank[sends], operations.rank[operations.partner[sends]]
    mark = np.array(operations.mark_names)[operations.mark[sends]]
    within, same_rail = source // 3 == destination // 3, source % 3 == destination % 3
    assert (within == (mark != "between")).all()
    counts = np.zeros((12, 12), dtype=int)
    np.add.at(counts, (source, destination), 1)
    if forward:
        # To each on the rail go the blocks of three; to each in the domain its own and those for three domains.
        assert same_rail[mark == "between"].all()
        near = np.arange(12) // 3 == np.arange(12)[:, None] // 3
        rail = np.arange(12) % 3 == np.arange(12)[:, None] % 3
        assert (counts == 4 * (near & ~rail) + 3 * (rail & ~near)).all()
    else:
        assert (counts == 1 - np.eye(12, dtype=int)).all()
    (estimate,) = pattern.traffic(12)
    assert estimate.messages == len(sends)
