"""The worked example of docs/extending.md, applied to a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"^```\w+ (?P<how>add|new|replace)=(?P<file>\S+)(?: before=(?P<before>\S+))?\n(?P<text>.*?)^```$", re.M | re.S
)


def apply(block: re.Match[str], folder: Path) -> None:
    path = folder / block["file"]
    if block["how"] == "new":
        path.write_text(block["text"])
        return
    source = path.read_text()
    if block["how"] == "add":
        mark = f"\n{block['before']}"
        assert source.count(mark) == 1
        path.write_text(source.replace(mark, f"\n{block['text']}{block['before']}"))
        return
    old, new = block["text"].rstrip("\n").split("\n---\n")
    assert source.count(old) == 1, f"{block['file']} does not hold once: {old}"
    path.write_text(source.replace(old, new))


def test_the_worked_example_works(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    blocks = list(BLOCK.finditer((ROOT / "docs/extending.md").read_text()))
    assert len(blocks) == 6
    for block in blocks:
        apply(block, tmp_path)
    code = (
        "import numpy as np; from pathlib import Path; "
        "from fabricstudy.study import load_study, plan; from fabricstudy.workload import place;"
        "found = plan(load_study(Path('tornado.yaml')));"
        "point = found.points[found.rows[0].point_id].point; machine = point.machine.build();"
        "(job,) = place(point, machine, np.zeros(machine.routers, bool));"
        "print(len(found.rows), *job.messages.destination[:3])"
    )
    environment = dict(os.environ, PYTHONPATH=str(tmp_path / "src"))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["3", "36", "37", "38"], done.stderr
