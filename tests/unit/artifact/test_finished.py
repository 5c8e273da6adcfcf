"""What cannot be packed is refused with one message."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricstudy.artifact.completed_study import ArtifactError

from .conftest import STUDY, Ran

AGAIN = r"; run snakemake --cores all artifact --config 'study=.*a study.yaml'$"


def rewrite(ran: Ran, **changes: Any) -> None:
    ran.study.write_text(yaml.safe_dump({**STUDY, **changes}, sort_keys=False))


def test_a_study_that_ran_is_taken(ran: Ran) -> None:
    found = ran.finished()
    assert found.name == "made-up" and len(found.points) == 8
    assert found.engines == {"caminos": ["1.0"]}
    # The last one began at :07 and took 9 s.
    assert found.interval == ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:16+00:00")


def test_a_study_that_never_ran(ran: Ran) -> None:
    shutil.rmtree(ran.base / "results/made-up/tables")
    with pytest.raises(ArtifactError, match=f"tables: the study made-up was not run{AGAIN}"):
        ran.finished()


@pytest.mark.parametrize(
    "changes", [{"seeds": 3}, {"routing": {"kind": "ugal"}, "sweep": {"alpha": STUDY["sweep"]["alpha"]}, "claims": []}]
)
def test_tables_older_than_the_study(ran: Ran, changes: dict[str, Any]) -> None:
    rewrite(ran, **changes)
    with pytest.raises(ArtifactError, match=f"older than the study .*{AGAIN}"):
        ran.finished()


def test_a_report_older_than_the_study(ran: Ran) -> None:
    rewrite(ran, title="Another title")
    with pytest.raises(ArtifactError, match=f"index.html: the report is older than the study .*{AGAIN}"):
        ran.finished()
    (ran.base / "reports/made-up/index.html").unlink()
    with pytest.raises(ArtifactError, match=f"index.html: there is no report{AGAIN}"):
        ran.finished()


def test_a_study_file_with_other_ends_of_lines_is_that_of_its_report(ran: Ran) -> None:
    old = ran.study.read_bytes()
    new = old.replace(b"\n", b"\r\n")
    ran.study.write_bytes(new)
    page = ran.base / "reports/made-up/index.html"
    page.write_text(page.read_text().replace(sha256(old).hexdigest(), sha256(new).hexdigest()))
    assert ran.finished().name == "made-up"


def test_records_that_are_lost(ran: Ran) -> None:
    lines = ran.shard.read_text().splitlines(keepends=True)
    ran.shard.write_text("".join(lines[1:]))
    lost = json.loads(lines[0])["point_id"]
    with pytest.raises(ArtifactError, match=f"simulate: no record of 1 points, such as {lost}{AGAIN}"):
        ran.finished()


def test_a_study_of_which_nothing_is_done(ran: Ran) -> None:
    ran.change("points", lambda points: points.assign(status="skipped"))
    with pytest.raises(ArtifactError, match=f"tables: no point of the study is done{AGAIN}"):
        ran.finished()


def test_files_that_the_study_names_go_with_it(ran: Ran, tmp_path: Path) -> None:
    (ran.base / "maps").mkdir()
    (ran.base / "maps/cores.txt").write_text("0\n")
    outside = tmp_path / "outside.txt"
    outside.write_text("0\n")
    found = ran.finished()
    named = type(found)(
        found.file,
        found.source + "\nextra: [maps/cores.txt, maps, none.txt]\n",
        found.plan,
        found.tables,
        found.outputs,
    )
    assert named.study_files() == {"study/maps/cores.txt": ran.base / "maps/cores.txt", "study/made-up.yaml": ran.study}
    for name in (str(outside), "../outside.txt"):
        bad = type(found)(found.file, f"extra: {name}\n", found.plan, found.tables, found.outputs)
        with pytest.raises(ArtifactError, match=re.escape(name)):
            bad.study_files()


def test_a_link_within_the_folder_goes_by_the_name_that_the_study_has(ran: Ran) -> None:
    (ran.base / "maps").mkdir()
    (ran.base / "maps/half.py").write_text("x = 1\n")
    (ran.base / "link.py").symlink_to("maps/half.py")
    found = ran.finished()
    text = f"{found.source}\nextensions: [link.py, ./maps/half.py]\n"
    named = type(found)(found.file, text, found.plan, found.tables, found.outputs)
    assert set(named.study_files()) == {"study/link.py", "study/maps/half.py", "study/made-up.yaml"}


def test_the_command_says_it_in_one_line(ran: Ran) -> None:
    shutil.rmtree(ran.base / "results/made-up/tables")
    arguments = ["--study", str(ran.study), "--plan", "results/made-up", "--out", "a.tar.gz"]
    command = [sys.executable, "-m", "fabricstudy.artifact", "pack", *arguments]
    done = subprocess.run(command, cwd=ran.base, capture_output=True, text=True)
    assert done.returncode == 1 and not done.stdout
    assert re.fullmatch(r"results/made-up/tables: the study made-up was not run; run snakemake .*\n", done.stderr)
    assert not (ran.base / "a.tar.gz").exists()
