"""Real Snakemake runs of tiny studies, each in a folder of its own, with the real simulator."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import stat
import sys
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.engine.caminos import Caminos
from fabricstudy.engine.registry import engine_named

from ..forked import Snakemake, run_snakemake

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

# 3 groups of 2 routers of 2 nodes; a simulation takes some ten milliseconds.
TINY = """\
study: tiny
machine: {kind: dragonfly, groups: 3, routers_per_group: 2, nodes_per_router: 2, cores_per_node: 1,
          arrangement: absolute, bandwidth: 1 GB/s}
routing: {kind: minimal}
jobs: [{name: app, share: 1.0, pattern: {kind: all-to-all, message: 16 kB}}]
engine: caminos
sweep:
  alpha: {of: machine.bandwidth.global, values: {1: 1 GB/s, 2: 2 GB/s}}
  routing: {of: routing.kind, values: [minimal, valiant]}
seeds: 2
limits: {time: 20 s, memory: 500 MB}
claims:
  - id: c1
    statement: More global bandwidth never slows all-to-all down.
    source: test
    parts:
      - statement: time at ratio 2 over time at ratio 1
        measure: {kind: contrast, metric: runtime_ns, of: {alpha: 2}, against: {alpha: 1}, reduce: max}
        source_range: [null, 1.0]
"""
FIGURE = """\
figures:
  - {id: time, kind: line, title: Time against ratio, x: alpha, y: runtime_ns, unit: us, hue: routing}
"""


def rules_run(said: str) -> set[str]:
    """Return the rules of the jobs that a call of Snakemake has done."""
    return set(re.findall(r"^Finished jobid: \d+ \(Rule: (\w+)\)", said, re.M))


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack our own archive; Python before 3.11.4 has no filters and would warn of nothing."""
    filters: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    archive.extractall(folder, **filters)


def keep_compiled(package: Path) -> None:
    """Lay what is compiled of our package beside a copy of it, where the files are the same; it goes by their dates.

    To compile all of it again takes longer than most tests.
    """
    ours = ROOT / "src/fabricstudy"
    for file in package.rglob("*.py"):
        source = ours / file.relative_to(package)
        if source.is_file() and source.read_bytes() == file.read_bytes():
            shutil.copystat(source, file)
            for compiled in (source.parent / "__pycache__").glob(f"{source.stem}.*"):
                (file.parent / "__pycache__").mkdir(exist_ok=True)
                shutil.copy2(compiled, file.parent / "__pycache__")
    # numba names folders of the kernel's cache by a digest of the path of the sources.
    for name in ("kernel", "order"):
        ours_digest, digest = (
            hashlib.sha1(str(top / "schedule" / name).encode()).hexdigest() for top in (ours, package.resolve())
        )
        for compiled in (ours / "schedule/__pycache__").glob(f"kernel-*/{name}_{ours_digest}"):
            at = package / "schedule/__pycache__" / compiled.parent.name / f"{name}_{digest}"
            shutil.copytree(compiled, at, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def caminos() -> str:
    """Command of the real front end, or a skip that says why."""
    probe = engine_named("caminos").probe()
    if not probe.found:
        pytest.skip(f"caminos: {probe.reason}")
    return str(Caminos.program_path())


@dataclass
class Workplace:
    """A folder with a study, in which Snakemake runs; each start of the simulator is counted."""

    folder: Path
    caminos: str
    small: bool = False
    """One job does all stages of a small study."""

    def write_study(self, text: str = TINY, name: str = "tiny.yaml") -> Path:
        """Write a study file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def stand_in(self, script: str = "") -> None:
        """Put a shell script in the simulator's place that counts, runs `script` and becomes the simulator.

        In the script, `$input` is everything that the simulator is given, as one text.
        """
        path = self.folder / "simulator"
        path.write_text(
            f"#!/bin/bash\nif [ \"$1\" = --version ]; then exec '{self.caminos}' --version; fi\n"
            f"echo started >> '{self.folder}/started'\n"
            f"input=$(cat ./* 2>/dev/null | tr -d '\\0')\n{script}\nexec '{self.caminos}' \"$@\"\n"
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    @property
    def started(self) -> int:
        """How often the stand-in was started."""
        log = self.folder / "started"
        return len(log.read_text().splitlines()) if log.exists() else 0

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the commands."""
        found = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}")
        if (self.folder / "simulator").exists():
            found["FABRICSTUDY_CAMINOS"] = str(self.folder / "simulator")
        return found

    def arguments(self, *more: str, study: str = "tiny.yaml") -> list[str]:
        """Arguments of Snakemake for a study in this folder."""
        own = ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(self.folder)]
        return [*own, "--cores", "2", *more, "--config", f"study={study}", f"small_cpu_s={60 * self.small}"]

    def start(self, *arguments: str, study: str = "tiny.yaml") -> Snakemake:
        """Start Snakemake and come back at once."""
        return Snakemake(self.arguments(*arguments, study=study), self.folder, self.environment)

    def run(self, *arguments: str, study: str = "tiny.yaml", code: int = 0) -> str:
        """Run Snakemake to its end and give what it printed; its exit code must be `code`."""
        ended, said = run_snakemake(self.arguments(*arguments, study=study), self.folder, self.environment)
        assert ended == code, said
        return said

    def table(self, name: str, study: str = "tiny") -> str:
        """A table as CSV text."""
        return (self.folder / "results" / study / "tables" / f"{name}.csv").read_text()

    def take(self, finished: Path) -> None:
        """Copy what a finished run left, with what Snakemake remembers of it, as if it had been run here."""
        shutil.copytree(finished, self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("simulator"))

    def point_records(self) -> list[Path]:
        """Records in the store."""
        return sorted((self.folder / "results" / "points").glob("*/*/record.json"))


def wait_until(condition: Callable[[], object], seconds: float = 240) -> None:
    """Wait for what another process does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def processes_of(stage: str, folder: Path) -> list[int]:
    """Our processes that do a stage in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command, place = (process / "cmdline").read_bytes(), (process / "cwd").resolve()
        except OSError:
            continue
        if f"fabricstudy.workflow.stages\0{stage}\0".encode() in command and place == folder.resolve():
            found.append(int(process.name))
    return found


@pytest.fixture
def workplace(tmp_path: Path, caminos: str) -> Workplace:
    """A fresh folder with the tiny study."""
    place = Workplace(tmp_path, caminos)
    place.write_study()
    place.stand_in()
    return place


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, caminos: str) -> Path:
    """Folder in which the tiny study with its figure has run; whoever changes anything takes a copy."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "finished"
    folder.mkdir(exist_ok=True)
    # All processes of the tests share it: the first makes it.
    with (folder / "made").open("a") as made:
        fcntl.flock(made, fcntl.LOCK_EX)
        if not made.seek(0, os.SEEK_END):  # another process may have written since it was opened
            place = Workplace(folder, caminos)
            place.write_study(TINY + FIGURE)
            place.stand_in()
            place.run()
            made.write("it has run")
    return folder


@pytest.fixture
def after_run(workplace: Workplace, finished: Path) -> Workplace:
    """A folder of one's own in which the tiny study with its figure has run."""
    workplace.take(finished)
    return workplace
