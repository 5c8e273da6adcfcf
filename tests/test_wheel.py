"""The wheel, in an environment of its own and an empty folder, without a compiler; and the images built from it.

The commands of Containerfile and Apptainer definition are taken from these files and run, but for those that need root
or the network: the packages that a wheel needs are those of the environment of the tests.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from fabricstudy.engine.caminos import Caminos
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.validity import is_valid
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan

from .workflow.conftest import keep_compiled

ROOT = Path(__file__).resolve().parents[1]
CONTAINERFILE, DEFINITION = ROOT / "envs/Containerfile", ROOT / "envs/apptainer.def"
NEEDED = ("sh", "bash", "ls", "which")
"""Programs of the system that a run needs; the last one is for Snakemake's plugin for Slurm."""

STUDY = """\
study: tiny
machine: {kind: dragonfly, groups: 3, routers_per_group: 2, nodes_per_router: 2, bandwidth: 1 GB/s}
routing: minimal
jobs: [{share: 1.0, pattern: {kind: all-to-all, message: 16 kB}}]
engine: caminos
seeds: 2
"""

pytestmark = pytest.mark.slow


def commands_of(file: Path) -> list[str]:
    """Commands that an image is built with, tested and started with."""
    if file == CONTAINERFILE:
        lines = re.findall(r"^RUN (.*)$", file.read_text(), re.M)
    else:
        sections = re.findall(r"^%(?:post|test|runscript)\n((?:    .*\n)+)", file.read_text(), re.M)
        lines = [line.strip() for section in sections for line in section.splitlines()]
    return [part.strip() for line in lines for part in line.split("&&")]


BUILD, INSTALL = (
    "make wheel",
    "python -m pip install --no-cache-dir --no-deps --no-index --find-links /wheel fabricstudy",
)
NOT_RUN = {
    "apt-get": "needs root, and a system of its own",
    "--requirement /wheel/requirements.lock": "needs the network",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's folder, made by the Containerfile's command; the set-up is that of the tests."""
    if not Caminos.built().is_file():
        pytest.skip(f"{Caminos.built()} is not built; run make setup")
    folder = tmp_path_factory.mktemp("wheel")
    command = [*BUILD.split(), f"DIST={folder}", "--old-file=setup"]
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return folder


class Place:
    """An environment that has the wheel, and an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.environment, self.system = folder / "empty", folder / "environment", folder / "system"
        for made in (self.folder, self.system):
            made.mkdir()
        for program in NEEDED:
            (self.system / program).symlink_to(shutil.which(program) or program)

    @property
    def packages(self) -> Path:
        """Folder of its packages."""
        (found,) = self.environment.glob("lib/python*/site-packages")
        return found

    @property
    def path(self) -> str:
        """PATH of its commands; the environment is not activated."""
        return str(self.system)

    def run(self, command: str, code: int = 0) -> str:
        """Run a command of the wheel in the empty folder; give what it printed on standard output."""
        program, *arguments = command.split()
        done = subprocess.run(
            [self.environment / "bin" / program, *arguments],
            cwd=self.folder, env={"PATH": self.path, "HOME": str(self.folder.parent)}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The wheel, installed by the images' command."""
    place = Place(tmp_path_factory.mktemp("place"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place.environment], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(place.environment)]
    install = INSTALL.replace("/wheel", str(wheel)).split()[3:]
    subprocess.run([*pip, *install, "--no-compile"], check=True, capture_output=True)
    keep_compiled(place.packages / "fabricstudy")
    (place.packages / "of-the-tests.pth").write_text(sysconfig.get_path("purelib"))
    return place


def own_files(place: Place) -> set[Path]:
    files = (path for path in (place.packages / "fabricstudy").rglob("*") if path.is_file())
    return {path for path in files if path.parent.name != "__pycache__"}


def test_a_study_runs_in_an_empty_folder_without_a_compiler(place: Place) -> None:
    assert not any(shutil.which(name, path=place.path) for name in ("cc", "gcc", "cargo", "rustc", "git", "python"))
    before = own_files(place)
    study = place.folder / "tiny.yaml"
    study.write_text(STUDY)
    place.run("fabricstudy run tiny.yaml --cores 1 --quiet")
    assert (place.folder / "reports/tiny/index.html").is_file()
    assert own_files(place) == before
    assert (place.environment / "share/man/man1/fabricstudy.1").is_file()
    records = [json.loads(path.read_text()) for path in place.folder.glob("results/points/*/*/record.json")]
    assert [record["status"] for record in records] == ["done", "done"]
    # The clone believes what the wheel has simulated: code and program are the same.
    points = plan(load_study(study)).points
    assert all(is_valid(record, points[record["point_id"]].point) for record in records)


def test_the_studies_and_the_workflow_are_those_of_the_wheel(place: Place) -> None:
    snakefile = Path(place.run("fabricstudy list where").strip())
    assert snakefile.is_relative_to(place.packages) and snakefile.read_bytes() == (ROOT / "Snakefile").read_bytes()
    assert Path(place.run("fabricstudy list where profiles/slurm").strip(), "profile.yaml").is_file()
    plan = json.loads(place.run("fabricstudy plan quick --json"))
    assert plan["points"] > 0
    tracked = {path.name for path in (ROOT / "configs").glob("*.yaml")}
    assert {path.name for path in (snakefile.parent / "configs").glob("*.yaml")} == tracked


COMMANDS = [(file.name, command) for file in (CONTAINERFILE, DEFINITION) for command in commands_of(file)]


def test_the_images_have_commands() -> None:
    assert {INSTALL, "fabricstudy list engines"} <= {command for name, command in COMMANDS if name == DEFINITION.name}
    assert {BUILD, INSTALL} <= {command for name, command in COMMANDS if name == CONTAINERFILE.name}


@pytest.mark.parametrize(("file", "command"), COMMANDS)
def test_each_command_of_an_image_works(file: str, command: str, place: Place) -> None:
    for part, reason in NOT_RUN.items():
        if part in command:
            pytest.skip(f"not run: {command}: {reason}")
    if command in (BUILD, INSTALL):
        return  # `place` is what they made
    said = place.run(command.removeprefix("exec ").replace('"$@"', "list engines --json"))
    version = engine_named("caminos").probe().version
    assert version is not None and version in said
