"""The analyses `contention` and `printed`: closed forms of WICON, and tables of sources."""

from __future__ import annotations

from typing import Any

import pytest

from fabricstudy.analysis.base import Analysis

EXTENSIONS = ["contention", "ordered", "printed", "wicon"]

BGP = {"kind": "bluegene-p", "midplanes": [1, 1, 2]}
XT3 = BGP | {"cores_per_node": 2}
XYZT = {"kind": "ordered", "order": "XYZT"}
NN = {"kind": "pairs", "distance": 1, "reply": True, "message": "1 kB"}
RND = {"kind": "pairs", "shuffled": True, "reply": True, "message": "1 kB"}
RING = {"kind": "torus", "shape": [4], "bandwidth": "1 GB/s"}


def rows(draws: int = 2, **cases: Any) -> dict[str, dict[str, Any]]:
    asked = Analysis.model_validate({"kind": "contention", "cases": cases, "draws": draws})
    return {row["case"]: row for row in asked.rows()}


def test_half_way_round_a_ring_by_hand() -> None:
    """Four messages of two hops, all upwards: each of the four links that way carries two."""
    (row,) = rows(
        half={"machine": RING, "pattern": {"kind": "hop-pairs", "dimension": "x", "hops": 2, "message": "1 B"}}
    ).values()
    assert row == {
        "case": "half",
        "links": 8,
        "diameter": 2,
        "hops": 2,
        "uses": 8,
        "uses_of_link": 1,
        "bottleneck_uses": 2,
        "on_way": 2,
    }


def test_a_cube_has_four_messages_a_link_if_all_cores_send_anywhere() -> None:
    pattern = {"kind": "uniform-random", "messages_per_rank": 1, "message": "1 B"}
    (row,) = rows(any={"machine": BGP | {"midplanes": [1, 1, 1]}, "pattern": pattern}).values()
    assert (row["links"], row["diameter"]) == (3072, 12)
    assert row["hops"] == pytest.approx(6, rel=0.02) and row["uses_of_link"] == pytest.approx(4, rel=0.02)


def test_wicon_shares_links_by_the_ranks_of_a_node_or_by_three_times_two() -> None:
    """Random pairs share the fullest link of their way by 6.1 or 4.0 (4 or 2 ranks a node), neighbours by 4 or 2."""
    cases: dict[str, Any] = {
        name: {"machine": machine, "mapping": XYZT, "pattern": pattern}
        for name, machine, pattern in [("nn4", BGP, NN), ("rnd4", BGP, RND), ("nn2", XT3, NN), ("rnd2", XT3, RND)]
    }  # fmt: skip
    found = rows(**cases)
    numbers = ("bottleneck_uses", "on_way", "hops")
    assert [tuple(found[name][number] for number in numbers) for name in ("nn4", "nn2")] == [
        (4, 4, 1), (2, 2, 1),
    ]  # fmt: skip
    assert found["rnd4"]["on_way"] == pytest.approx(6.1, rel=0.05) and found["rnd2"]["on_way"] == pytest.approx(
        4.0, rel=0.05
    )
    assert found["rnd4"]["hops"] == pytest.approx(8, rel=0.03)


def test_a_printed_table_has_one_row_a_number() -> None:
    table = Analysis.model_validate(
        {"kind": "printed", "tables": {"NAMD": {"default": {512: 13.93, 1024: 7.96}, "topology": {512: 13.57}}}}
    )
    assert [(row["line"], row["at"], row["number"]) for row in table.rows()] == [
        ("default", 512, 13.93), ("default", 1024, 7.96), ("topology", 512, 13.57),
    ]  # fmt: skip
