"""Lists of hosts, with python-hostlist as the oracle."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.core.host_lists import MAX_HOSTS, expanded, matching
from fabricstudy.core.input_files import InputFileError

hostlist = pytest.importorskip("hostlist")

RANGES = st.tuples(st.integers(0, 120), st.integers(0, 5), st.integers(1, 4)).map(
    lambda one: f"{one[0]:0{one[2]}d}-{one[0] + one[1]:0{one[2]}d}" if one[1] else f"{one[0]:0{one[2]}d}"
)
PIECES = st.one_of(
    st.text("abn-.", min_size=1, max_size=4), st.lists(RANGES, min_size=1, max_size=3).map(lambda r: f"[{','.join(r)}]")
)
LISTS = st.lists(st.lists(PIECES, min_size=1, max_size=4).map("".join), min_size=1, max_size=4).map(",".join)


@settings(max_examples=300, database=None)
@given(LISTS)
def test_lists_are_those_of_python_hostlist(text: str) -> None:
    try:
        expected = hostlist.expand_hostlist(text, allow_duplicates=True)
    except hostlist.BadHostlist:  # it has a limit of its own
        return
    if len(expected) < 50_000:
        assert expanded(text) == expected


@settings(max_examples=300, database=None)
@given(st.text("ab01[]-, ", max_size=12))
def test_any_text_is_a_list_or_refused(text: str) -> None:
    try:
        names = expanded(text)
    except InputFileError:
        return
    assert all(name and not set(name) & set("[], ") for name in names)


@pytest.mark.parametrize(
    "text", ["r[0-9999]c[0-9999]", f"n[0-{MAX_HOSTS}]", "a[1-2][1-999][1-999][1-999][1-999]", f"n[0-{10**17}]",
             ",".join(f"m{n}x[0-999999]" for n in range(3))],
)  # fmt: skip
def test_long_lists_are_refused_at_once(text: str) -> None:
    start_s = time.perf_counter()
    with pytest.raises(InputFileError):
        expanded(text)
    assert time.perf_counter() - start_s < 0.1


def test_patterns_are_names_lists_or_have_stars() -> None:
    hosts = ["n1", "n2", "n12", "box [1-2]", "login1", "login2"]
    for pattern, found in (
        ("n[1-2]", {"n1", "n2"}), ("n[12]", {"n12"}), ("login*", {"login1", "login2"}), ("box [1-2]", {"box [1-2]"}),
        ("n[1-2],login1", {"n1", "n2", "login1"}), ("x*", set()), ("n[1-2]*", {"n1", "n2", "n12"}),
    ):  # fmt: skip
        assert matching(pattern, hosts) == found
