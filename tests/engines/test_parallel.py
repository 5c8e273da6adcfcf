"""SST and CODES on two cores, where they are installed: every number is that of one, and nothing outlives its point."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.definitions import AnalysedMachine
from fabricstudy.engine.point import Point
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.structure.bisection import bisection_bounds

from ..machines import point_on
from .run_codes import MACHINES

pytestmark = pytest.mark.slow

OF_A_RUN = {"cpu_s", "wall_s", "memory_bytes", "overhead_cpu_s", "command", "exit_code"}
HALVES = [
    {"share": 0.5, "pattern": {"kind": kind, "message": "5 kB"}, "mapping": "random", "allocation": "random"}
    for kind in ("all-to-all", "ring")
]
THROUGH_GROUPS = {"kind": "ugal", "via": "group"}


@pytest.fixture(autouse=True, params=["codes", "sst"])
def engine(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    probe = engine_named(name).probe()
    if not probe.found:
        pytest.skip(f"needs {name}: {probe.reason}")
    if name == "codes" and shutil.which("mpirun") is None:
        pytest.skip("needs mpirun")
    return name


def run(this: Point, folder: Path, time: str = "5 min") -> Record:
    """Simulate a point as it stands; give what was found."""
    folder.mkdir()
    machine = this.machine.build()
    analysed = AnalysedMachine(machine, bisection_bounds(machine).cut_side)
    return attempt_point(this, engine_named(this.engine.kind), analysed, Limits.model_validate({"time": time}), folder)


def point(kind: str, processes: int, machine: str, routing: Any, **more: Any) -> Point:
    settings = {"kind": kind, "processes": processes} | more.pop("engine", {})
    return point_on(MACHINES[machine], routing, **({"jobs": HALVES} | more), engine=settings)


@pytest.mark.parametrize(
    ("machine", "routing"),
    [("dragonfly", THROUGH_GROUPS), ("mesh", "dimension-order"), ("tree", "d-mod-k")],
)
def test_every_number_of_the_record_is_that_of_one_core(
    engine: str, machine: str, routing: Any, tmp_path: Path
) -> None:
    # A list of hops would hold what is taken back.
    more = {"job_links": False} if engine == "codes" and machine == "dragonfly" else {}
    found = [run(point(engine, cores, machine, routing, engine=more), tmp_path / str(cores)) for cores in (1, 2)]
    assert [record["status"] for record in found] == ["done", "done"], found[1]["reason"]
    one, two = ({key: value for key, value in record.items() if key not in OF_A_RUN} for record in found)
    assert one == two
    for name in ("links.npy", "link_packets.npy", "link_stall_ns.npy"):
        given = [path.read_bytes() for cores in (1, 2) if (path := tmp_path / str(cores) / name).exists()]
        assert len(given) != 1 and len(set(given)) <= 1
    assert (tmp_path / "2/links.npy").exists()


LONG: dict[str, Any] = {"jobs": [{"share": 1.0, "pattern": {"kind": "all-to-all", "message": "4 MB"}}]}


def running_in(folder: Path) -> list[int]:
    """Processes that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder):
                found.append(int(entry.name))
        except OSError:  # it ended, or is none of ours
            continue
    return found


def wait_for(condition: Any, seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return bool(met)


def threads_in(folder: Path) -> int:
    count = 0
    for pid in running_in(folder):
        try:
            count += len(list(Path(f"/proc/{pid}/task").iterdir()))
        except OSError:
            continue
    return count


def test_a_point_that_takes_too_long_leaves_nothing_and_its_time_is_known(engine: str, tmp_path: Path) -> None:
    more = {"job_links": False} if engine == "codes" else {}
    record = run(point(engine, 2, "dragonfly", "minimal", engine=more, **LONG), tmp_path / "long", "1 s")
    assert record["status"] == "timeout"
    assert not running_in(tmp_path)
    # What killed ranks used, which nobody but us could wait for.
    assert record["cpu_s"] > 0.1


STAGE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.engines.test_parallel import LONG, point, run
run(point(sys.argv[3], 2, "dragonfly", "minimal", **LONG), Path(sys.argv[2]) / "long")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's end")
def test_when_the_batch_is_killed_its_ranks_end(engine: str, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    batch = subprocess.Popen([sys.executable, "-c", STAGE, str(root), str(tmp_path), engine], cwd=root)
    try:
        # The launcher, mpirun, its proxy and two ranks; or SST with two threads.
        assert wait_for(lambda: threads_in(tmp_path) >= (5 if engine == "codes" else 2))
    finally:
        batch.send_signal(signal.SIGKILL)
        batch.wait()
    assert wait_for(lambda: not running_in(tmp_path))
