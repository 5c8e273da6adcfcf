"""Points to which caveats apply."""

from __future__ import annotations

from typing import Any

import pytest

from fabricstudy.engine.caveats import has_ring_ties

from ...machines import point_on

ORDER = "dimension-order"


@pytest.mark.parametrize(
    ("kind", "shape", "routing", "ties"),
    [
        ("torus", [4, 3], ORDER, True),
        ("torus", [3, 5], ORDER, False),
        ("torus", [2, 3], ORDER, False),
        ("mesh", [4, 4], ORDER, False),
        ("torus", [4, 4], {"kind": ORDER, "tie": "positive"}, False),
        ("torus", [4, 4], "adaptive", False),
    ],
)
def test_only_even_rings_have_destinations_half_way_round(
    kind: str, shape: list[int], routing: Any, ties: bool
) -> None:
    assert has_ring_ties(point_on({"kind": kind, "shape": shape, "bandwidth": "1 GB/s"}, routing)) == ties
