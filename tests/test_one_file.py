"""A kind is one file: to a copy of the package one module is added, nothing else is changed, and a study can use it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.core.kind_modules import MODULES
from fabricstudy.engine.registry import engine_named

ROOT = Path(__file__).resolve().parents[1]

STUDY: dict[str, Any] = {
    "study": "one-file",
    "title": "One file",
    "machine": {"kind": "mesh", "shape": [4, 4], "bandwidth": "1 GB/s"},
    "routing": {"kind": "minimal"},
    "jobs": [{"name": "app", "nodes": 8, "pattern": {"kind": "ring", "message": "1 kB", "order": "ascending"}}],
    "engine": "analysis",
}

PATTERN = '''
"""Bit complement (Dally and Towles 2004, section 3.2)."""

import numpy as np

from fabricstudy.core.model import ConfigError
from fabricstudy.workload.pattern.base import MessagePattern
from fabricstudy.workload.pattern.base import Sends, one_phase


class BitComplement(MessagePattern, kind="bit-complement"):
    """Each rank sends to the one whose number has all bits inverted."""

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return float(ranks * self.iterations)

    def check_ranks(self, ranks: int) -> None:
        """Refuse a number of ranks that is no power of 2."""
        if ranks & (ranks - 1):
            raise ConfigError(f"{ranks} ranks are no power of 2", "change the job's size")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Send once from each rank."""
        rank = np.arange(ranks, dtype=np.int32)
        return one_phase(rank, rank[::-1].copy(), self.iterations)
'''

ALLOCATION = '''
"""Every so manieth node."""

import numpy as np
from pydantic import Field

from fabricstudy.machine.base import Topology
from fabricstudy.core.model import Whole
from fabricstudy.workload.allocation.base import Allocation
from fabricstudy.workload.allocation.base import Grant, Request


class Strided(Allocation, kind="strided"):
    """Every so manieth free node; those between are kept free."""

    stride: Whole = Field(2, ge=1, description="distance between nodes of the job")

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        """All up to the last one."""
        return (nodes - 1) * self.stride + 1

    def allocate(self, request: Request) -> Grant:
        """Take the first free nodes that are a stride apart."""
        free = np.flatnonzero(request.free)
        return Grant(free[:: self.stride][: request.wanted], free[: (request.wanted - 1) * self.stride + 1])
'''

MAPPING = '''
"""The last rank first."""

import numpy as np

from fabricstudy.core.arrays import Integers
from fabricstudy.core.model import ConfigError
from fabricstudy.workload.mapping import Slots, Tasks
from fabricstudy.workload.mapping.base import Mapping


class ReverseMapping(Mapping, kind='reverse'):  # found however it is written
    """Rank 0 on the last core; for at most 8 ranks."""

    def check_ranks(self, ranks: int) -> None:
        """Refuse more than 8 ranks."""
        if ranks > 8:
            raise ConfigError(f"{ranks} ranks are more than 8", "make the job smaller")

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        """Fill the cores from the last one on."""
        return np.arange(slots.ranks)[::-1]
'''

ANALYSIS = '''
"""The Moore bound (Hoffman and Singleton 1960)."""

from typing import Any, ClassVar

from pydantic import Field

from fabricstudy.analysis.base import Analysis
from fabricstudy.core.model import Whole


class MooreBound(Analysis, kind="moore-bound"):
    """Most routers that a graph of a degree and diameter can have; `degree` tells rows apart."""

    keys: ClassVar[tuple[str, ...]] = ("degree",)
    numbers: ClassVar[tuple[str, ...]] = ("degree", "routers")

    degrees: tuple[Whole, ...] = Field(description="cables of a router")
    diameter: Whole = Field(ge=1, description="hops at most")

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per degree."""
        return [
            {"degree": d, "routers": 1 + sum(d * (d - 1) ** hops for hops in range(self.diameter))}
            for d in self.degrees
        ]
'''

TOPOLOGY = '''
"""Chordal ring (Arden and Lee: IEEE Trans. Computers C-30(4), 1981), here with chords of one length at all routers."""

import numpy as np
from pydantic import Field

from fabricstudy.machine.base import NodesPerRouter, Topology
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import Bandwidth


class ChordalRing(Topology, kind="chordal-ring"):
    """A ring whose routers are also joined to those `chord` further on."""

    length: Whole = Field(ge=5, description="routers")
    chord: Whole = Field(ge=2, description="routers from one end of a chord to the other, less than half of them")
    nodes_per_router: NodesPerRouter = 1
    bandwidth_Bps: Bandwidth = Field(alias="bandwidth", description="bandwidth of a cable in one direction")

    def _check(self) -> None:
        if 2 * self.chord >= self.length:
            raise ConfigError("the chord is too long", "take less than half of the routers", ("chord",), self.chord)

    @property
    def routers(self) -> int:
        """Number of routers."""
        return self.length

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.length * self.nodes_per_router

    @property
    def cables(self) -> int:
        """Number of cables."""
        return 2 * self.length

    def build(self) -> Machine:
        """Build it: the ring's cables first."""
        router = np.arange(self.length, dtype=np.int32)
        return Machine(
            kind=self.kind,
            node_router=np.repeat(router, self.nodes_per_router),
            cable_tail=np.tile(router, 2),
            cable_head=np.concatenate([(router + step) % self.length for step in (1, self.chord)]),
            cable_class=np.repeat(np.arange(2, dtype=np.int32), self.length),
            cable_count=np.ones(2 * self.length, dtype=np.int32),
            classes=(LinkClass("ring", self.bandwidth_Bps, 40.0), LinkClass("chord", self.bandwidth_Bps, 40.0)),
            host=LinkClass("host", self.bandwidth_Bps, 40.0),
            routers=self.length,
            cores_per_node=self.cores_per_node,
        )
'''

ORDER = '''
"""The last one first."""

from fabricstudy.core.arrays import Floats
from fabricstudy.schedule.order.base import Order


class LastFirst(Order, kind="last-first"):
    """The job that came last."""

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        """Score each job by when it came."""
        score[:] = submit_s
'''

ENGINE = '''
"""The model of Hockney (Parallel Computing 20(3), 1994): a message takes a start, and its bytes over the bandwidth."""

from fabricstudy.engine.simulator import Simulator
from fabricstudy.core.quantities import Latency
from pydantic import Field


class Hockney(Simulator, kind="hockney"):
    """Each job takes as long as its largest message."""

    start_ns: Latency = Field(1000.0, alias="start", description="time of a message without bytes")

    def write(self, point, folder):
        return []

    def read(self, point, folder):
        bandwidth_Bps = point.machine.host.bandwidth_Bps
        sizes = [job.messages.size_bytes.max() for job in point.jobs]
        return [{"runtime_ns": self.start_ns + 1e9 * size_bytes / bandwidth_Bps} for size_bytes in sizes]
'''

PLACED = """
import json
import numpy as np
from fabricstudy.study import load_study, plan
from fabricstudy.workload.placing import place
points = plan(load_study("study.yaml")).points.values()
for point in (planned.point for planned in points):
    machine = point.machine.build()
    (job,) = place(point, machine, np.zeros(machine.routers, bool))
    messages = job.messages
    print(json.dumps([job.node_of_rank.tolist(), messages.destination.tolist(),
                      point.jobs[0].allocation.reserved_nodes(point.machine, 8)]))
"""

ROWS = """
import json
from fabricstudy.study import load_study
print(json.dumps([[analysis.columns(), analysis.rows()] for analysis in load_study("study.yaml").analyses.values()]))
"""

SCORED = """
import json
import numpy as np
from fabricstudy.study import load_study, plan
(run,) = plan(load_study("study.yaml")).runs.values()
(score, submit_s, other) = np.zeros(3), np.array([3.0, 1.0, 2.0]), np.ones(3)
run.run.order.score(9.0, submit_s, other, other, score)
print(json.dumps(score.tolist()))
"""

STRUCTURE = """
import json
import numpy as np
from fabricstudy.routing.base import Routing
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.load import has_loads, link_loads
from fabricstudy.structure.summary import describe_machine
from fabricstudy.study import load_study, plan
(first, *_) = plan(load_study("study.yaml")).points.values()
machine = first.point.machine.build()
source, destination = np.nonzero(~np.eye(machine.nodes, dtype=bool))
size = np.ones(len(source))
total = {}
for kind, model in Routing.FAMILY.members.items():
    if any(field.is_required() for field in model.model_fields.values()):
        continue  # a file of routes belongs to one machine
    routing = Routing.model_validate(kind)
    if routing.needs is None and has_loads(machine, routing):
        total[kind] = float(link_loads(machine, source, destination, size, routing).link_bytes.sum())
found = describe_machine(machine)
print(json.dumps([total, found.diameter, found.bisection.lower_Bps, found.bisection.upper_Bps]))
"""

SIMULATED = """
import json
from pathlib import Path
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.engine.settings import Limits
from fabricstudy.study import load_study, plan
for planned in plan(load_study("study.yaml")).points.values():
    record = simulate_in_folder(planned, Path(planned.point.routing.kind), Limits())["record"]
    print(json.dumps([planned.point.routing.kind, record["status"], record.get("reason"),
                      [job["runtime_ns"] for job in record.get("jobs", [])]]))
"""


class Copy:
    """A copy of the package with one more file, and its line in the list of kinds."""

    def __init__(self, folder: Path, path: str, text: str) -> None:
        self.folder = folder
        # With what is compiled of it, which stays right, since files keep their dates.
        shutil.copytree(ROOT / "src", folder / "src")
        added = folder / "src/fabricstudy" / path
        assert not added.exists()
        added.parent.mkdir(exist_ok=True)
        added.write_text(text)
        family = next(one for one in ("allocation", "mapping", "pattern", "order", *MODULES) if one in path)
        family = "machine" if family == "topology" else family
        kind = re.findall(r"""kind=['"](.+?)['"]""", text)[0]
        listed = folder / "src/fabricstudy/core/kind_modules.py"
        start = rf'(?s)("{family}": .*?_modules\(\s*"[\w.]+",)'
        text, count = re.subn(start, rf'\1 "{kind}",', listed.read_text())
        assert count == 1
        listed.write_text(text)

    def says(self, code: str, only: dict[str, Any] | None = None, **changed: Any) -> list[Any]:
        """Run code beside a study, and give what it prints, a line of JSON each."""
        (self.folder / "study.yaml").write_text(json.dumps(only or STUDY | changed))
        done = self._run(code)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def refuses(self, **changed: Any) -> str:
        """Plan a study that cannot be, and give the error's path."""
        (self.folder / "study.yaml").write_text(json.dumps(STUDY | changed))
        code = (
            "from fabricstudy.core.errors import ConfigError\nfrom fabricstudy.study import load_study, plan\n"
            "try:\n plan(load_study('study.yaml'))\nexcept ConfigError as error:\n print(error.path)"
        )
        done = self._run(code)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _run(self, code: str) -> subprocess.CompletedProcess[str]:
        from fabricstudy.engine.caminos import Caminos

        environment = dict(os.environ, PYTHONPATH=str(self.folder / "src"))
        program = Caminos.program_path()
        if program is not None:
            environment["FABRICSTUDY_CAMINOS"] = str(program)
        command = [sys.executable, "-c", code]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)


def job(**changed: Any) -> list[dict[str, Any]]:
    return [STUDY["jobs"][0] | changed]


def test_a_pattern(tmp_path: Path) -> None:
    copy = Copy(tmp_path, "workload/pattern/bit_complement.py", PATTERN)
    jobs = job(pattern={"kind": "bit-complement", "message": "1 kB"})
    assert copy.says(PLACED, jobs=jobs) == [[[*range(8)], [*range(7, -1, -1)], 8]]
    assert copy.refuses(jobs=job(pattern=jobs[0]["pattern"], nodes=6)) == "jobs.0.pattern"


def test_an_allocation(tmp_path: Path) -> None:
    copy = Copy(tmp_path, "workload/allocation/strided.py", ALLOCATION)
    ((nodes, _, reserved),) = copy.says(PLACED, jobs=job(allocation="strided"))
    assert nodes == [0, 2, 4, 6, 8, 10, 12, 14] and reserved == 15
    assert copy.refuses(jobs=job(allocation={"kind": "strided", "stride": 3})) == "jobs.0.nodes"


def test_a_mapping(tmp_path: Path) -> None:
    copy = Copy(tmp_path, "workload/mapping/reverse.py", MAPPING)
    ((nodes, *_),) = copy.says(PLACED, jobs=job(mapping="reverse"))
    assert nodes == [*range(7, -1, -1)]
    assert copy.refuses(jobs=job(mapping="reverse", nodes=9)) == "jobs.0.mapping"


def test_an_analysis(tmp_path: Path) -> None:
    copy = Copy(tmp_path, "analysis/moore_bound.py", ANALYSIS)
    analyses = {"moore": {"kind": "moore-bound", "degrees": [3, 7], "diameter": 2}}
    ((found,),) = copy.says(ROWS, analyses=analyses)
    # The Petersen graph, and that of Hoffman and Singleton.
    assert found == [["degree", "routers"], [{"degree": 3, "routers": 10}, {"degree": 7, "routers": 50}]]


def test_an_order(tmp_path: Path) -> None:
    """That loops are compiled with it is seen where it is an extension."""
    copy = Copy(tmp_path, "schedule/order/last_first.py", ORDER)
    trace = {"kind": "synthetic", "jobs": 9, "span": "9 h", "load": 0.9, "sizes": {16: 1}}
    trace |= {"runtime": {"median": "1 h", "spread": 0.5, "longest": "4 h"}}
    schedule = {"machine": STUDY["machine"], "partitions": "nodes", "trace": trace, "order": "last-first"}
    study = {"study": "one-file", "schedules": {"one": schedule}}
    assert copy.says(SCORED, only=study) == [[3.0, 1.0, 2.0]]
    assert copy.refuses(schedules={"one": schedule | {"order": "last-frist"}}) == "schedules.one.order"


def test_an_engine(tmp_path: Path) -> None:
    """A package, of one file here."""
    copy = Copy(tmp_path, "engine/hockney/__init__.py", ENGINE)
    engine = {"kind": "hockney", "start": "2 us"}
    # A message of 1 kB takes 1 us over a link of 1 GB/s.
    assert copy.says(SIMULATED, engine=engine) == [["minimal", "done", None, [3000.0]]]
    assert copy.refuses(engine=engine | {"start": "2 kB"}) == "engine.start"


MACHINE = {"kind": "chordal-ring", "length": 9, "chord": 3, "bandwidth": "1 GB/s"}
ROUTINGS = ["adaptive", "minimal", "ugal", "valiant"]


@pytest.fixture(scope="module")
def chordal_ring(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy that is used twice."""
    return Copy(tmp_path_factory.mktemp("copy"), "machine/chordal_ring.py", TOPOLOGY)


def test_a_topology(chordal_ring: Copy) -> None:
    copy = chordal_ring
    ((loads, diameter, lower_Bps, upper_Bps),) = copy.says(STRUCTURE, machine=MACHINE)
    # Four routers one hop away (1 and 3 on either side), the other four two: 12 hops from each of 9.
    assert loads["minimal"] == pytest.approx(108) and loads["valiant"] > 108
    assert diameter == 2 and 0 < lower_Bps == upper_Bps
    assert copy.refuses(machine=MACHINE | {"chord": 5}) == "machine.chord"
    # What it has not, it is not taken for.
    assert copy.refuses(machine=MACHINE, routing={"kind": "dimension-order"}) == "routing.kind"


@pytest.mark.skipif(not engine_named("caminos").probe().found, reason="the CAMINOS front end is not built")
def test_a_topology_on_caminos(chordal_ring: Copy) -> None:
    copy = chordal_ring
    sweep = {"routing": {"of": "routing.kind", "values": ROUTINGS}}
    found = copy.says(SIMULATED, machine=MACHINE, jobs=job(nodes=9), engine="caminos", sweep=sweep)
    assert sorted(kind for kind, *_ in found) == ROUTINGS
    for kind, status, reason, runtimes_ns in found:
        assert (status, len(runtimes_ns)) == ("done", 1), f"{kind}: {reason}"
        # A message of 1 kB takes 1 us over a link of 1 GB/s.
        assert runtimes_ns[0] > 1000
