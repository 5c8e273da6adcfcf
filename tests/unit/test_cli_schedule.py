"""``fabricstudy schedule``: one run in the foreground, and its files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml
from tests.schedules import SCHEDULE

from fabricstudy.cli import main
from fabricstudy.schedule.trace.swf import Swf


@pytest.fixture
def study(tmp_path: Path) -> str:
    sweep = {"network": {"of": "partitions", "values": {"torus": "intrepid-torus", "mesh": "intrepid-mesh"}}}
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump({"study": "small", "schedules": {"s": {**SCHEDULE, "sweep": sweep, "seeds": 2}}}))
    return str(file)


def test_one_run_and_its_files(study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swf, table, picture = (tmp_path / name for name in ("jobs.swf", "jobs.csv", "gantt.svg"))
    files = ["--swf", str(swf), "--csv", str(table), "--gantt", str(picture)]
    assert main(["schedule", study, "--where", "network=mesh", "--seed", "2", "--json", *files]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["labels"], found["seed"], found["jobs"]) == ({"network": "mesh"}, 2, 50)
    assert picture.stat().st_size > 1000
    again = Swf.model_validate({"file": "jobs.swf"}).jobs(40960, 512, 1, tmp_path)
    assert len(again) == 50
    with table.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    waits = [float(row["waiting_time"]) for row in rows]
    assert sum(waits) / len(waits) == pytest.approx(found["wait_mean_s"])
    assert {len(row["allocated_resources"].split("-")) for row in rows} <= {1, 2}


def test_jobs_that_are_all_submitted_at_one_time_have_no_utilisation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two jobs of 8 of 16 nodes run at once, the third waits for the first: 60 s."""
    jobs = [(1, 60), (2, 90), (3, 30)]
    lines = [f"{number} 0 -1 {run} 8 -1 -1 8 120 -1 1 -1 -1 -1 -1 -1 -1 -1" for number, run in jobs]
    cancelled = "4 0 -1 0 8 -1 -1 8 120 -1 5 -1 -1 -1 -1 -1 -1 -1"
    (tmp_path / "log.swf").write_text("\n".join([*lines, cancelled]))
    schedule = {
        "machine": {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"}, "partitions": {"kind": "nodes"},
        "trace": {"kind": "swf", "file": "log.swf"}, "order": "fcfs", "backfill": "easy",
    }  # fmt: skip
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump({"study": "static", "schedules": {"s": schedule}}))
    assert main(["schedule", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "no utilisation" in shown and "%" not in shown and "1 no_runtime" in shown
    assert main(["schedule", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["wait_mean_s"] == pytest.approx(20)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--schedule", "t"], "unknown-name"),
        (["--where", "net=mesh"], "unknown-name"),
        (["--where", "network=tree"], "unknown-name"),
        (["--where", "network"], "invalid-value"),
    ],
)
def test_what_is_not_there(study: str, more: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", study, "--json", *more]) == 1
    assert [error["code"] for error in json.loads(capsys.readouterr().out)["errors"]] == [code]


@pytest.mark.parametrize("option", ["--swf", "--csv", "--gantt"])
@pytest.mark.parametrize("name", ["study.yaml", "log.swf"])
def test_what_the_study_reads_is_not_overwritten(
    option: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log.swf").write_text("1 0 -1 60 4 -1 -1 4 90 -1 1 7 -1 3 2 -1 -1 -1\n")
    schedule = {**SCHEDULE, "trace": {"kind": "swf", "file": "log.swf"}}
    words = "a description is no file, however long: " + "x" * 300
    (tmp_path / "study.yaml").write_text(
        yaml.safe_dump({"study": "s", "description": words, "schedules": {"s": schedule}})
    )
    (tmp_path / "link.svg").symlink_to(tmp_path / name)
    before = (tmp_path / name).read_bytes()
    assert main(["schedule", str(tmp_path / "study.yaml"), option, str(tmp_path / "link.svg"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "invalid-value"
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize(
    "more",
    [
        ["--days", "5", "1"], ["--days", "nan", "1"], ["--days", "-1", "2"], ["--days", "0", "inf"],
        ["--swf", "same.txt", "--csv", "./same.txt"],
    ],
)  # fmt: skip
def test_calls_that_mean_nothing(study: str, more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", study, "--json", *more]) == 2
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "usage"


@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_without_partitions_the_csv_names_the_nodes(backfill: str, tmp_path: Path) -> None:
    """As many as each job asked for, and no two jobs on one node at a time."""
    file, table = tmp_path / "study.yaml", tmp_path / "jobs.csv"
    schedule = {**SCHEDULE, "partitions": {"kind": "nodes"}, "backfill": backfill, "slowdown": {}}
    file.write_text(yaml.safe_dump({"study": "small", "schedules": {"s": schedule}}))
    assert main(["schedule", str(file), "--csv", str(table)]) == 0
    with table.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 50
    held = []
    for row in rows:
        ends = [[int(end) for end in span.split("-")] for span in row["allocated_resources"].split()]
        nodes = {node for span in ends for node in range(span[0], span[-1] + 1)}
        assert len(nodes) == int(row["requested_number_of_resources"])
        held.append((float(row["starting_time"]), float(row["finish_time"]), nodes))
    for number, (start, end, nodes) in enumerate(held):
        for other_start, other_end, others in held[:number]:
            assert end <= other_start or other_end <= start or not nodes & others
