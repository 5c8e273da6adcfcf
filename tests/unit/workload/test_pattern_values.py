"""Any value of any key of a pattern is planned or refused, in bounded time and memory."""

from __future__ import annotations

import time
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import plan
from fabricstudy.workload.pattern.base import Pattern

SECONDS, BYTES = 5.0, 2e8
NUMBERS = [0, -1, 1, 2, 3, 7, 1000, 2**31, 2**62, 10**30, -0.5, 0.5, 1e308, float("nan"), float("inf")]
TEXTS = [
    "", "1_0", "0 B", "1 B", "8.0001 kB", "1 GB", "1e30 GB", "-1 kB", "5 %", "ring", "random", "\0",
    "\N{CIRCLED DIGIT TWO}",
]  # fmt: skip
LEAVES = st.sampled_from([None, True, False, *NUMBERS, *TEXTS])
VALUES = (
    LEAVES | st.lists(LEAVES, max_size=3) | st.dictionaries(st.sampled_from(["kind", "", "size"]), LEAVES, max_size=2)
)
# Those that read a file have tests of readers; extensions of other tests may be loaded.
OF_FILES = {"matrix", "messages", "task-graph", "trace"}
FOUND = {name: Pattern.FAMILY.find(name) for name in Pattern.FAMILY.kinds}
KINDS = [name for name, kind in FOUND.items() if kind.__module__.startswith("fabricstudy.") and name not in OF_FILES]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_value_is_planned_or_refused(kind: str, data: st.DataObject) -> None:
    member = Pattern.FAMILY.find(kind)
    assert member is not None
    names = sorted((field.alias or name) for name, field in member.model_fields.items() if name != "kind")
    written: dict[str, Any] = {"message": "8 kB"} if "message" in names else {}
    written |= data.draw(st.dictionaries(st.sampled_from(names), VALUES, min_size=1, max_size=2)) if names else {}
    study = {
        "study": "s",
        "machine": {"kind": "torus", "shape": [4, 2], "bandwidth": "1 GB/s"},
        "routing": "minimal",
        "jobs": [{"share": 1.0, "pattern": {"kind": kind, **written}}],
        "engine": "analysis",
    }
    begin = time.process_time()
    tracemalloc.start()
    try:
        with suppress(FabricstudyError):
            plan(validate_study(study))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.process_time() - begin < SECONDS and peak < BYTES
