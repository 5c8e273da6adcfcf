"""Link sharing, by hand and from sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.structure.load import link_support
from fabricstudy.structure.sharing import link_sharing


@given(arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, max_side=8)))
def test_sharing_equals_the_definition_on_sets(used: np.ndarray) -> None:
    links = [set(np.flatnonzero(row).tolist()) for row in used]
    others = [set().union(*(links[k] for k in range(len(links)) if k != i)) for i in range(len(links))]
    found = link_sharing(used)
    assert found.used.tolist() == [len(own) for own in links]
    assert found.shared.tolist() == [len(own & other) for own, other in zip(links, others, strict=True)]
    mls = [len(own & other) / len(own) for own, other in zip(links, others, strict=True) if own]
    assert found.mls == pytest.approx(max(mls, default=0.0))
    union, twice = set().union(*links), set().union(*(a & b for a, b in zip(links, others, strict=True)))
    assert found.tls == pytest.approx(len(twice) / len(union) if union else 0.0)


def test_two_jobs_on_a_line_by_hand(machine_of: Callable[..., Machine]) -> None:
    # 0 -> 3 uses three links to the right, 2 -> 1 one to the left, 1 -> 4 three to the right, two of them shared.
    machine = machine_of("mesh", shape=[5])
    pairs = [(0, 3), (2, 1), (1, 4)]
    used = np.array([link_support(machine, np.array([a]), np.array([b]), DimensionOrder()) for a, b in pairs])
    found = link_sharing(used)
    assert (found.used.tolist(), found.shared.tolist()) == ([3, 1, 3], [2, 0, 2])
    assert (found.mls, found.tls) == pytest.approx((2 / 3, 2 / 5))


@pytest.mark.parametrize("jobs", [0, 1, 3])
def test_where_nothing_is_used_nothing_is_shared(jobs: int) -> None:
    found = link_sharing(np.zeros((jobs, 7), dtype=bool))
    assert (found.mls, found.tls, len(found.used)) == (0.0, 0.0, jobs)


def test_a_job_alone_shares_nothing() -> None:
    found = link_sharing(np.ones((1, 4), dtype=bool))
    assert (found.mls, found.tls) == (0.0, 0.0)
