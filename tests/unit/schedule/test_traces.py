"""Traces: logs in the standard workload format, and drawn ones."""

from __future__ import annotations

import gzip
import hashlib
import os
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.core import input_files
from fabricstudy.core.errors import ConfigError
from fabricstudy.schedule import Jobs, Trace
from fabricstudy.schedule.trace.swf_log import swf_text

NODES = 100


def line(
    job: float = 1, submit: Any = 0, run: Any = 60, got: Any = 4, asked: Any = 4, request: Any = 90, status: int = 1
) -> str:
    return f"{job} {submit} -1 {run} {got} -1 -1 {asked} {request} -1 {status} 7 -1 3 2 -1 -1 -1"


def read(folder: Path, text: str | bytes, **keys: Any) -> Jobs:
    (folder / "log.swf").write_bytes(text if isinstance(text, bytes) else text.encode())
    return Trace.model_validate({"kind": "swf", "file": "log.swf"} | keys).jobs(NODES, 1, 1, folder)


COLUMNS = ("number", "submit_s", "runtime_s", "request_s", "nodes", "executable", "queue")


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(0, 1e7), st.floats(0.001, 1e6), st.floats(0.001, 1e6), st.integers(1, NODES), st.integers(-1, 9)
        ),
        min_size=1, max_size=20,
    )
)  # fmt: skip
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, drawn: Any) -> None:
    submit, runtime, request, nodes, other = np.array(drawn).T
    jobs = Jobs.of(submit, runtime, request, nodes, executable=other, queue=other)
    again = read(tmp_path_factory.mktemp("swf"), swf_text(jobs))
    assert all(np.array_equal(getattr(jobs, name), getattr(again, name)) for name in COLUMNS)


def test_fields_by_hand(tmp_path: Path) -> None:
    jobs = read(tmp_path, line(8, 0.5, 60.25, 3, 4, 90))
    assert [getattr(jobs, name).tolist() for name in COLUMNS] == [[8], [0.5], [60.25], [90.0], [4], [3], [2]]


@pytest.mark.parametrize(
    "text",
    [
        line(1) + "\n" + line(2, 5),
        line(1) + "\r\n" + line(2, 5) + "\r\n",
        "; Computer: Jülich\n; MaxNodes: 100\n\n"
        + line(1)
        + "\n; a comment\n   "
        + line(2, 5).replace(" ", "\t")
        + "\n",
        gzip.compress((line(1) + "\n" + line(2, 5) + "\n").encode(), mtime=0),
    ],
)
def test_ways_of_writing(tmp_path: Path, text: str | bytes) -> None:
    jobs = read(tmp_path, text)
    assert jobs.number.tolist() == [1, 2] and jobs.submit_s.tolist() == [0, 5] and not jobs.repairs


@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        (line(1) + "\n1 2 3\n", "invalid-trace", "line 2"),
        (line(1) + " 5\n", "invalid-trace", "line 1"),
        (";\n" + line(1, run="{1,2}"), "invalid-trace", "line 2, column 4 (run time)"),
        (line(1, run="nan"), "invalid-trace", "line 1, column 4 (run time)"),
        (line(1, run="1_0"), "invalid-trace", "line 1, column 4 (run time)"),
        ("; nothing\n", "invalid-trace", None),
        (line(1, run=-1), "invalid-trace", None),
        (line(1, 10) + "\n" + line(2, 8), "invalid-trace", "line 2, column 2 (submit time)"),
        (line(1) + "\n" + line(1, 8), "duplicate", "line 2, column 1 (job number)"),
        (line(1, -5), "invalid-trace", "line 1, column 2 (submit time)"),
        (line(1, asked=101), "invalid-trace", "line 1, column 8 (requested processors)"),
        (line(1, asked=-1, got=101), "invalid-trace", "line 1, column 5 (allocated processors)"),
        ("; MaxProcs: 101\n" + line(1), "invalid-trace", "line 1"),
        ("; MaxNodes: 25\n; MaxProcs: 100\n" + line(1), "invalid-trace", "line 2"),
        (line(-7), "invalid-trace", "line 1, column 1 (job number)"),
        (line(1.5), "invalid-trace", "line 1, column 1 (job number)"),
        (line(2**53) + "\n" + line(2**53 + 1), "duplicate", "line 2, column 1 (job number)"),
        (line(10**17), "invalid-trace", "line 1, column 1 (job number)"),
        (line(1, run="1e308"), "invalid-trace", "line 1, column 4 (run time)"),
        (line(1, request="1e308"), "invalid-trace", "line 1, column 9 (requested time)"),
        (line(1, asked="1e30"), "invalid-trace", "line 1, column 8 (requested processors)"),
        (line(1, got=10**19), "invalid-trace", "line 1, column 5 (allocated processors)"),
        (line(1, 1e12), "invalid-trace", "line 1, column 2 (submit time)"),
        (
            "; MaxProcs: " + "9" * 5000 + "\n" + line(1) + "x" * 20_000,
            "invalid-trace",
            "line 2, column 18 (think time)",
        ),
        (b"PK\x03\x04" + bytes(20), "file-unreadable", None),
        (gzip.compress(line(1).encode(), mtime=0)[:-9], "file-unreadable", None),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str | bytes, code: str, path: str | None) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, text)
    assert (error.value.code, error.value.file, error.value.path) == (code, "log.swf", path)
    assert error.value.remedy


WORDS = st.sampled_from([
    "-1", "0", "1", "4", "60", "99", "101", "1.5", "-2", "1e3", "1e400", "nan", "inf", "1_0", "\u0661", "+7", "1" * 400,
    "99999999999999999999", "", "x", ";", "0x1", "\t", "\x00",
])  # fmt: skip
LINES = st.one_of(
    st.lists(WORDS, min_size=16, max_size=19).map(" ".join),
    st.builds(
        lambda at, word: " ".join([*line().split()[:at], word, *line().split()[at + 1 :]]), st.integers(0, 17), WORDS
    ),
    st.sampled_from([
        "", ";", "; MaxProcs: 4", "; MaxNodes: 99999999999999999", "; MaxNodes: x", line(), line(2, 5), line(3, 1),
        line(2, 5, status=2), line(status=3), "JobID|Submit|", "1 " * 600, "\r",
    ]),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(LINES, max_size=6), cores=st.sampled_from([None, 1, 3]), repeated=st.sampled_from([1, 1, 500]))
def test_whatever_a_log_holds_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], cores: int | None, repeated: int
) -> None:
    keys = {"cores_per_node": cores} | ({"load": 0.5} if repeated > 1 else {})
    begin = time.process_time()
    tracemalloc.start()
    try:
        jobs = read(tmp_path_factory.getbasetemp(), "\n".join(lines * repeated), **keys)
        assert (jobs.runtime_s > 0).all() and (jobs.submit_s >= 0).all() and (jobs.request_s > 0).all()
        assert ((jobs.nodes > 0) & (jobs.nodes <= NODES)).all() and np.isfinite(jobs.submit_s).all()
    except ConfigError as error:
        assert error.remedy and len(str(error)) < 600
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert time.process_time() - begin < 5 and peak < 100_000_000


def test_a_log_that_unpacks_to_very_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "MAX_INPUT_BYTES", 1000)
    with pytest.raises(ConfigError) as error:
        read(tmp_path, gzip.compress((line(1) + "\n").encode() * 100))
    assert (error.value.code, error.value.file) == ("file-too-large", "log.swf")


def test_a_byte_order_mark_before_the_header(tmp_path: Path) -> None:
    assert len(read(tmp_path, b"\xef\xbb\xbf; Version: 2.2\n" + line(1).encode())) == 1


def test_a_value_is_told_as_it_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, line(1.5))
    assert "(value: 1.5)" in str(error.value)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file(tmp_path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(tmp_path / "log.swf")
    elif kind == "folder":
        (tmp_path / "log.swf").mkdir()
    else:
        (tmp_path / "log.swf").symlink_to("/dev/zero")
    with pytest.raises(ConfigError) as error:
        Trace.model_validate({"kind": "swf", "file": "log.swf"}).jobs(NODES, 1, 1, tmp_path)
    assert (error.value.code, error.value.file) == ("file-unreadable", "log.swf")


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        Trace.model_validate({"kind": "swf", "file": "no.swf"}).jobs(NODES, 1, 1, tmp_path)
    assert (error.value.code, error.value.file) == ("file-not-found", "no.swf")


def test_another_file_than_its_digest_says(tmp_path: Path) -> None:
    right = hashlib.sha256(line(1).encode()).hexdigest()
    assert len(read(tmp_path, line(1), sha256=right)) == 1
    assert Trace.model_validate({"kind": "swf", "file": "log.swf"}).digest(tmp_path) == right
    with pytest.raises(ConfigError) as error:
        read(tmp_path, line(2), sha256=right)
    assert error.value.code == "invalid-trace"


@pytest.mark.parametrize(
    ("lines", "counted", "jobs"),
    [
        ([line(1), line(2, run=-1), line(3, run=0)], {"no_runtime": 2}, [1]),
        ([line(1), line(2, got=-1, asked=0)], {"no_processors": 1}, [1]),
        ([line(1, request=-1)], {"no_request": 1}, [1]),
        ([line(1, run=91)], {"overran": 1}, [1]),
        ([line(1, got=5)], {"allocated_otherwise": 1}, [1]),
        ([line(1, asked=-1)], {"no_requested_processors": 1}, [1]),
        ([line(1, 10), line(2, 9.5)], {"out_of_order": 1}, [2, 1]),
        ([line(1, status=1), line(1, 5, status=2), line(1, 9, status=3)], {"partial_records": 2}, [1]),
        ([line(1, status=3), line(2)], {}, [1, 2]),
    ],
)
def test_what_is_odd_is_counted(tmp_path: Path, lines: list[str], counted: dict[str, int], jobs: list[int]) -> None:
    found = read(tmp_path, "\n".join(lines))
    assert (found.repairs, found.number.tolist()) == (counted, jobs)


def test_what_counts_where_fields_disagree(tmp_path: Path) -> None:
    assert read(tmp_path, line(1, got=5, asked=4)).nodes.tolist() == [4]
    assert read(tmp_path, line(1, request=-1)).request_s.tolist() == [60.0]
    assert read(tmp_path, line(1, asked=9), cores_per_node=4).nodes.tolist() == [3]


def test_a_job_that_is_too_large_may_be_rejected_later(tmp_path: Path) -> None:
    jobs = read(tmp_path, line(1, asked=101) + "\n" + line(2, 5), too_large="reject")
    assert jobs.nodes.tolist() == [101, 4] and jobs.repairs["too_large"] == 1


def test_a_part_of_a_log(tmp_path: Path) -> None:
    text = "\n".join(line(job, 3600 * 24 * job) for job in range(5))
    assert read(tmp_path, text, **{"from": "1 day", "to": "3 days"}).number.tolist() == [1, 2]


def test_arrivals_are_stretched_to_a_load(tmp_path: Path) -> None:
    """Two jobs of 4 nodes and 60 s, 10 s apart, are 480 node-seconds: at a load of 0.5 of 100 nodes, 9.6 s."""
    jobs = read(tmp_path, line(1) + "\n" + line(2, 10), load=0.5)
    assert jobs.submit_s.tolist() == [0.0, 9.6]
    with pytest.raises(ConfigError) as error:
        read(tmp_path, line(1), load=0.5)
    assert error.value.code == "invalid-trace"


SYNTHETIC: dict[str, Any] = {
    "kind": "synthetic", "jobs": 3890, "span": "14 days", "load": 0.9, "sizes": {512: 0.5, 1024: 0.25, 4096: 0.25},
    "runtime": {"median": "40 min", "spread": 1.1, "longest": "12 h"},
    "request": {"factor": [1.05, 3], "round": "15 min"},
}  # fmt: skip


def synthetic(seed: int = 1, **keys: Any) -> Jobs:
    return Trace.model_validate(SYNTHETIC | keys).jobs(40960, 512, seed, Path())


@pytest.mark.parametrize("load", [0.3, 0.9, 1.1])
def test_a_synthetic_trace_has_its_load(load: float) -> None:
    jobs = synthetic(load=load)
    assert (jobs.nodes * jobs.runtime_s).sum() / (40960 * 14 * 86400) == pytest.approx(load, rel=1e-12)
    assert jobs.runtime_s.max() <= 12 * 3600 and (jobs.request_s >= jobs.runtime_s).all()
    assert (jobs.request_s % 900 == 0).all() and (jobs.request_s < 3 * jobs.runtime_s + 900).all()


def test_sizes_and_arrivals_do_not_depend_on_the_load() -> None:
    low, high = synthetic(load=0.5), synthetic(load=1.0)
    assert np.array_equal(low.nodes, high.nodes) and np.array_equal(low.submit_s, high.submit_s)
    # Where no time is capped, they differ by one number.
    free = low.runtime_s[high.runtime_s < 43200] / high.runtime_s[high.runtime_s < 43200]
    assert np.allclose(free, free[0], rtol=1e-12)
    assert not np.array_equal(synthetic(2).nodes, synthetic(1).nodes)


def test_a_synthetic_mix_is_the_one_asked_for() -> None:
    jobs = synthetic(load=None)
    assert np.mean(jobs.nodes == 512) == pytest.approx(0.5, abs=0.03)
    assert np.median(jobs.runtime_s) == pytest.approx(2400, rel=0.06)


def test_a_load_that_no_times_can_reach_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        synthetic(jobs=10)
    assert error.value.code == "invalid-trace"


def lublin(**keys: Any) -> Jobs:
    return Trace.model_validate({"kind": "lublin", "jobs": 20_000} | keys).jobs(128, 1, 1, Path())


def test_lublin_has_its_published_shares() -> None:
    """24.4 % serial; 57.6 % more of a power of 2, rounded from a two-stage uniform (m_lublin99.c, on 128 nodes)."""
    nodes = lublin().nodes
    assert np.mean(nodes == 1) == pytest.approx(0.244, abs=0.012)
    assert np.mean((nodes & (nodes - 1)) == 0) >= 0.244 + 0.576 - 0.02 and nodes.max() <= 128


def test_lublin_has_its_published_times() -> None:
    """Of one node: a share of 0.7746 from gamma(4.2, 0.94), the rest from gamma(312, 0.03), cut at 12."""
    jobs = lublin()
    logs = np.log(jobs.runtime_s[jobs.nodes == 1])
    assert logs.max() <= 12
    assert logs.mean() == pytest.approx(0.7746 * 4.2 * 0.94 + 0.2254 * 312 * 0.03, rel=0.02)


def test_lublin_has_a_cycle_of_a_day() -> None:
    hour = lublin().submit_s % 86400 // 3600
    counts = np.bincount(hour.astype(int), minlength=24)
    # Few come before dawn, most in working hours.
    assert counts[9:18].min() > 2 * counts[3:6].max()


def test_lublin_takes_a_load() -> None:
    jobs = lublin(load=0.7)
    span_s = jobs.submit_s.max() - jobs.submit_s.min()
    assert (jobs.nodes * jobs.runtime_s).sum() / (128 * span_s) == pytest.approx(0.7)
