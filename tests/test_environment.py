"""The environment that the rules declare for ``snakemake --sdm conda``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / "envs/fabricstudy.yaml"
SOLVERS = [name for name in ("mamba", "conda", "micromamba") if shutil.which(name)]


def test_it_is_that_of_the_lock() -> None:
    before = ENVIRONMENT.read_text()
    subprocess.run([sys.executable, str(ROOT / "tools/conda_environment.py")], check=True)
    assert ENVIRONMENT.read_text() == before


def test_each_line_is_a_requirement_that_is_found_from_any_folder() -> None:
    """Snakemake copies the file, so no path in it holds; pip takes no options there but its own."""
    *conda, pip = yaml.safe_load(ENVIRONMENT.read_text())["dependencies"]
    assert conda == ["python=3.11", "pip"]
    found = [Requirement(line) for line in pip["pip"]]
    assert {"numpy", "pandas", "pyarrow", "pydantic", "snakemake", "seaborn"} <= {one.name for one in found}
    assert all(str(one.specifier).startswith("==") and one.url is None for one in found)


@pytest.mark.skipif(not SOLVERS, reason="neither conda nor mamba is here")
def test_it_can_be_solved(tmp_path: Path) -> None:
    command = [SOLVERS[0], "env", "create", "--dry-run", "--file", str(ENVIRONMENT), "--prefix", str(tmp_path / "env")]
    subprocess.run(command, check=True, capture_output=True)
