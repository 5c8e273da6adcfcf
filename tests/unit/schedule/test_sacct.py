"""The output of sacct as jobs, counted by hand."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricstudy.core.errors import ConfigError
from fabricstudy.schedule import Jobs, Trace

HEAD = "JobID|Submit|Start|End|NNodes|NCPUS|Timelimit|State\n"
# In the order of sacct, by number: the second one was submitted first.
LISTED = (
    HEAD
    + """\
11|2026-03-01T10:00:30|2026-03-01T10:01:00|2026-03-01T11:01:00|2|96|02:00:00|COMPLETED
11.batch|2026-03-01T10:00:30|2026-03-01T10:01:00|2026-03-01T11:01:00|1|48||COMPLETED
11.0|2026-03-01T10:00:30|2026-03-01T10:01:00|2026-03-01T11:01:00|2|96||COMPLETED
12_1|2026-03-01T10:00:00|2026-03-02T10:00:00|2026-03-03T10:00:00.5|1|10|1-12:00:00|TIMEOUT
12_2|2026-03-01T10:00:00|2026-03-02T10:00:00|2026-03-02T10:00:30|1|100|UNLIMITED|CANCELLED by 1000
13|2026-03-01T10:05:00|Unknown|Unknown|4|192|02:00:00|PENDING
14|2026-03-01T10:06:00|2026-03-01T10:07:00|Unknown|4|192|02:00:00|RUNNING
"""
)


def read(folder: Path, text: str | bytes, **keys: Any) -> Jobs:
    (folder / "jobs.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    trace = Trace.model_validate({"kind": "sacct", "file": "jobs.txt"} | keys, by_alias=True, by_name=False)
    return trace.jobs(64, 1, 1, folder)


def test_jobs_of_an_accounting(tmp_path: Path) -> None:
    jobs = read(tmp_path, LISTED)
    assert jobs.submit_s.tolist() == [0, 0, 30] and jobs.number[2] == 11
    assert jobs.runtime_s.tolist() == [86400.5, 30, 3600]
    assert jobs.request_s.tolist() == [129_600, 30, 7200]
    assert jobs.nodes.tolist() == [1, 1, 2]
    assert jobs.repairs == {"no_runtime": 2, "no_request": 1}
    assert read(tmp_path, LISTED, cores_per_node=48).nodes.tolist() == [1, 3, 2]
    assert read(tmp_path, gzip.compress(LISTED.encode())).nodes.tolist() == [1, 1, 2]


def test_other_columns_of_the_same_content(tmp_path: Path) -> None:
    """Columns of raw numbers, in another order, with the separator at the end of a line, as --parsable prints."""
    text = "State|AllocNodes|ElapsedRaw|TimelimitRaw|Submit|User|JobIDRaw|\nFAILED|3|90|2|2026-03-01T10:00|x|7|\n"
    for end in ("|\n", "\n"):  # published logs have the separator in the first line alone, too
        jobs = read(tmp_path, text.removesuffix("|\n") + end)
        assert (jobs.number[0], jobs.runtime_s[0], jobs.request_s[0], jobs.nodes[0]) == (7, 90, 120, 3)


ROW = "1|2026-03-01T10:00:30|2026-03-01T10:01:00|2026-03-01T11:01:00|2|96|02:00:00|COMPLETED"


@pytest.mark.parametrize(("text", "code", "path"), [
    ("", "invalid-trace", "line 1"),
    ("JobID State\n1 COMPLETED\n", "invalid-trace", "line 1"),
    (HEAD.replace("NNodes", "Nodes") + ROW, "invalid-trace", "line 1"),
    (HEAD + ROW + "|", "invalid-trace", "line 2"),
    (HEAD + ROW + "\n" + ROW, "duplicate", "line 3"),
    (HEAD + ROW.replace("10:00:30", "10:00:61"), "invalid-trace", "line 2"),
    (HEAD + ROW.replace("2026-03-01T10:00:30", "Mar 1"), "invalid-trace", "line 2"),
    (HEAD + ROW.replace("2026-03-01T10:00:30", "Unknown"), "invalid-trace", "line 2"),
    (HEAD + ROW.replace("|2|", "|1_0|"), "invalid-trace", "line 2"),
    (HEAD + ROW.replace("|2|", "|-2|"), "invalid-trace", "line 2"),
    (HEAD + ROW.replace("|2|", "|65|"), "invalid-trace", "line 2 (requested processors)"),
    (HEAD + ROW.replace("02:00:00", "02:00"), "invalid-trace", "line 2"),
    (HEAD + ROW.replace("02:00:00", "two"), "invalid-trace", "line 2"),
])  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, code: str, path: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        read(tmp_path, text)
    assert (refusal.value.code, refusal.value.path) == (code, path)


@pytest.mark.parametrize(("column", "keys"), [("NNodes", {}), ("NCPUS", {"cores_per_node": 48})])
def test_sizes_in_the_other_column_are_told_by_the_key_to_change(
    tmp_path: Path, column: str, keys: dict[str, int]
) -> None:
    with pytest.raises(ConfigError) as refusal:
        read(tmp_path, HEAD.replace(column, "User") + ROW, **keys)
    assert "cores_per_node" in refusal.value.remedy


def test_each_kind_tells_the_other(tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_text(LISTED)
    trace = Trace.model_validate({"kind": "swf", "file": "jobs.txt"}, by_alias=True, by_name=False)
    with pytest.raises(ConfigError) as refusal:
        trace.jobs(64, 1, 1, tmp_path)
    assert refusal.value.keys == ("trace", "kind")


@given(st.lists(st.sampled_from([*LISTED.splitlines(), ROW, "", "|", "1|" * 7 + "x"]), max_size=6), st.data())
def test_whatever_it_holds_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp() / "accounting"
    folder.mkdir(exist_ok=True)
    text = HEAD + "\n".join(lines)
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(st.text("|-:.T0129x \n", max_size=3)) + text[at + 1 :]
    try:
        jobs = read(folder, text)
    except ConfigError as error:
        assert error.remedy
    else:
        assert len(jobs) <= len(lines) + 1 and (jobs.runtime_s > 0).all() and (jobs.submit_s >= 0).all()
