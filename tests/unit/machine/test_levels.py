"""Levels of trees that nobody states."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricstudy.machine.distances import levels
from fabricstudy.machine.graph import Machine
from fabricstudy.study.file import validate_machine


def built(**written: Any) -> Machine:
    return validate_machine({"bandwidth": "1 GB/s", **written}).build()


@given(st.lists(st.tuples(st.integers(2, 3), st.integers(1, 3)), min_size=1, max_size=3), st.randoms())
def test_levels_of_a_tree_follow_from_where_its_nodes_are(above: list[tuple[int, int]], random: Any) -> None:
    tree = built(kind="xgft", down=[2, *(down for down, _ in above)], up=[up for _, up in above])
    assert tree.level is not None
    new = np.array(random.sample(range(tree.routers), tree.routers), dtype=np.int32)
    cables = {name: new[getattr(tree, name)] for name in ("cable_tail", "cable_head")}
    unknown = replace(tree, level=None, group=None, node_router=np.sort(new[tree.node_router]), **cables)
    found = levels(unknown)
    assert found is not None and found[new].tolist() == tree.level.tolist() == levels(tree).tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "written",
    [
        {"kind": "torus", "shape": [4, 4]},
        {"kind": "dragonfly", "groups": 5, "routers_per_group": 2, "nodes_per_router": 2},
        {"kind": "megafly", "groups": 5, "leaves_per_group": 4, "spines_per_group": 4, "nodes_per_leaf": 4,
         "links_per_group_pair": 4},
    ],
)  # fmt: skip
def test_cables_within_a_level_make_no_tree(written: dict[str, Any]) -> None:
    assert levels(built(**written)) is None
