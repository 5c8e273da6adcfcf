"""`fabricstudy trace`: description, conversion, and jobs of points as GOAL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricstudy import cli
from fabricstudy.study.file import load_study, referenced_files
from fabricstudy.study.plan import plan
from fabricstudy.workload.pattern.base import Pattern

PAIR = "num_ranks 2\nrank 0 {\nc: calc 3000\ns: send 5000b to 1\ns requires c\n}\nrank 1 {\nrecv 5000b from 0\n}\n"
STUDY = """study: small
machine: {kind: dragonfly, groups: 9, routers_per_group: 4, nodes_per_router: 2, bandwidth: 1 GB/s}
routing: {kind: minimal}
jobs:
  - {name: first, nodes: 3, pattern: {kind: ring, message: 10 kB, iterations: 2}, compute: 4 us}
  - {name: second, nodes: 4, pattern: {kind: all-to-all, message: 1 kB}}
engine: caminos
"""


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code = cli.main(["trace", *arguments, "--json"])
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == (1 if "errors" in result else 0)
    return result


def test_a_trace_is_described_and_converted_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [tmp_path / name for name in ("a.goal", "b.parquet", "c.goal")]
    names[0].write_text(PAIR)
    facts = call(capsys, str(names[0]), "--write", str(names[1]))
    wanted = {"ranks": 2, "operations": 3, "calcs": 1, "messages": 1, "bytes": 5000, "critical_path_ns": 3000.0}
    assert facts | wanted == facts and facts["computing_share"] == 0.5
    call(capsys, str(names[1]), "--write", str(names[2]))
    assert call(capsys, str(names[2])) == {name: value for name, value in facts.items() if name != "written"}
    machine = "{kind: dragonfly, groups: 9, routers_per_group: 4, nodes_per_router: 2, bandwidth: 1 GB/s}"
    placed = call(capsys, str(names[0]), "--machine", machine)
    # 5000 B at 1 GB/s, and the latencies of one router and two links.
    assert 8_000 < placed["critical_path_ns"] < 8_500 and placed["nodes"] == 2
    # One rank on each node, whatever the cores of the machine; on one node the message takes no time.
    cores = machine.replace("}", ", cores_per_node: 8}")
    assert call(capsys, str(names[0]), "--machine", cores)["critical_path_ns"] == placed["critical_path_ns"]
    together = call(capsys, str(names[0]), "--machine", cores, "--ranks-per-node", "2")
    assert (together["critical_path_ns"], together["nodes"]) == (3000.0, 1)


def test_a_job_of_a_point_is_written_as_goal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, out = tmp_path / "study.yaml", tmp_path / "job.goal"
    study.write_text(STUDY)
    point_id = plan(load_study(study)).rows[0].point_id
    facts = call(capsys, "--of", str(study), point_id, "--write", str(out))
    # Each rank computes and sends to both others, twice.
    assert (facts["ranks"], facts["messages"], facts["bytes"], facts["calcs"]) == (3, 12, 120_000, 6)
    assert facts["critical_path_ns"] == facts["compute_ns"] == 8_000
    assert call(capsys, str(out))["messages"] == 12
    assert call(capsys, "--of", str(study), point_id, "--job", "second")["messages"] == 12


def test_collective_operations_of_a_trace_have_the_chosen_algorithms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ring = str(Path(__file__).parents[2] / "configs/traces/dumpi/testtrace.meta")
    assert call(capsys, ring)["messages"] == 4 + 8 + 8
    # A binomial tree up and down has 3 edges.
    facts = call(capsys, ring, "--collectives", "all-reduce=tree")
    assert (facts["messages"], facts["received_from_any"]) == (4 + 8 + 6, 0)
    pattern = {"kind": "trace", "file": ring, "collectives": {"all-reduce": "tree"}}
    trace = Pattern.model_validate(pattern, context={"folder": tmp_path})
    assert trace.traffic_messages(4) == 18
    assert len(list(referenced_files({"file": Path(ring).name}, Path(ring).parent))) == 5


@pytest.mark.parametrize(("arguments", "code"), [
    ([], "usage"), (["a.goal", "--of", "quick", "p0"], "usage"), (["a.goal", "--write", "b.txt"], "unsupported-format"),
    (["none.goal"], "invalid-trace"), (["bad.goal"], "invalid-trace"), (["a.txt"], "invalid-trace"),
    (["a.goal", "--collectives", "all-reduce=rings"], "unknown-value"),
    (["a.goal", "--write", "a.goal"], "invalid-value"), (["--of", "study.yaml", "p0"], "unknown-name"),
    (["none-0.txt", "--format", "liballprof"], "invalid-trace"),
])  # fmt: skip
def test_what_is_wrong_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"a.goal": PAIR, "bad.goal": "nothing", "study.yaml": STUDY, "a.txt": "a, b"}.items():
        (tmp_path / name).write_text(text)
    exit_code = cli.main(["trace", *arguments, "--json"])
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert (exit_code, error["code"]) == (2 if code == "usage" else 1, code)
