"""What methods of extensions may return, and what not: wrong values are one error, of the points that use them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.forked import run_small

from fabricstudy.cli import main
from fabricstudy.core import returned
from fabricstudy.core.columns import FAILURE
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.extensions import load_extensions, unload_extensions
from fabricstudy.core.model import ConfigError
from fabricstudy.engine.failures import Unsupported
from fabricstudy.engine.listed_routes import listed_routes
from fabricstudy.machine.base import built
from fabricstudy.machine.grids import TorusConfig
from fabricstudy.schedule import NodePool, simulate_schedule
from fabricstudy.schedule.jobs import Jobs
from fabricstudy.schedule.simulate import _check_score, checked_jobs
from fabricstudy.structure.prices import Tariff
from fabricstudy.table.analyses import analysis_table, write_analysis
from fabricstudy.table.files import read_analyses, read_tables
from fabricstudy.workflow.jobs import read_jobs
from fabricstudy.workflow.snakefile import check_points
from fabricstudy.workload.allocation.base import Grant
from fabricstudy.workload.block_sizes import pair_blocks, rank_blocks
from fabricstudy.workload.definitions import workload_rows
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.offered import Offered
from fabricstudy.workload.operations import RECEIVE, SEND, Operations
from fabricstudy.workload.pattern.base import Sends
from fabricstudy.workload.placing import generate_messages, placements
from fabricstudy.workload.traffic.base import Destinations

from ..machines import point_on

RING = {"kind": "torus", "shape": [8], "nodes_per_router": 1, "bandwidth": "1 GB/s"}
NODES, RANKS = 8, 4
MACHINE = TorusConfig.model_validate({name: RING[name] for name in RING if name != "kind"}).build()


KINDS = """
from typing import ClassVar
import numpy as np
from fabricstudy.analysis.base import Analysis
from fabricstudy.workload.mapping.base import Mapping
from fabricstudy.machine.grids import TorusConfig
from fabricstudy.routing.base import Routing
from fabricstudy.schedule.backfill.base import Backfill
from fabricstudy.schedule.order.base import Order
from fabricstudy.schedule.partition_list.base import PartitionList
from fabricstudy.schedule.trace.base import Trace
from fabricstudy.workload.allocation.base import Allocation
from fabricstudy.workload.block_sizes import BlockSizes
from fabricstudy.workload.pattern.base import Pattern, Sends, TrafficEstimate
from fabricstudy.workload.sizes import MessageSizes
from fabricstudy.workload.traffic.base import Traffic

RETURNED = [None]

class AnyAllocation(Allocation, kind="any-allocation"):
    def allocate(self, request):
        return RETURNED[0]

class AnyMapping(Mapping, kind="any-mapping"):
    def map_ranks(self, slots, tasks, rng):
        return RETURNED[0]

class AnyPattern(Pattern, kind="any-pattern"):
    def traffic(self, ranks):
        return (TrafficEstimate(float(ranks), 5),)
    def sends(self, ranks, rng):
        return RETURNED[0]

class AnyProgram(Pattern, kind="any-program"):
    has_operations = True
    def traffic(self, ranks):
        return (TrafficEstimate(float(ranks), 5),)
    def sends(self, ranks, rng):
        rank = np.arange(ranks, dtype=np.int32)
        return Sends(0 * rank, rank, (rank + 1) % ranks, 5 + 0 * rank)
    def operations(self):
        return RETURNED[0]

class AnyTraffic(Traffic, kind="any-traffic"):
    def destinations(self, machine, rng):
        return RETURNED[0]

class AnyAnalysis(Analysis, kind="any-analysis"):
    keys: ClassVar[tuple[str, ...]] = ("name",)
    numbers: ClassVar[tuple[str, ...]] = ("number",)
    def rows(self):
        return RETURNED[0]

class AnyMachine(TorusConfig, kind="any-machine"):
    def build(self):
        return RETURNED[0]

class AnyRouting(Routing, kind="any-routing"):
    def routes(self, machine):
        raise RETURNED[0]

class AnyOrder(Order, kind="any-order"):
    @staticmethod
    def score(now_s, submit_s, request_s, nodes, score):
        RETURNED[0](nodes, score)

class AnyBlocks(BlockSizes, kind="any-blocks"):
    def weights(self, blocks):
        return RETURNED[0]
    def pair_weights(self, ranks):
        return RETURNED[0]

class AnySizes(MessageSizes, kind="any-sizes"):
    def mean_bytes(self):
        return RETURNED[0]
    def quantiles(self, shares):
        return RETURNED[0]

class AnyList(PartitionList, kind="any-list"):
    def partitions(self, machine):
        return RETURNED[0]

class AnyTrace(Trace, kind="any-trace"):
    def jobs(self, machine_nodes, block_nodes, seed, folder):
        return RETURNED[0]

class AnyBackfill(Backfill, kind="any-backfill"):
    pass

def endless(*arguments):
    while True:
        pass

class EndlessAllocation(Allocation, kind="endless-allocation"):
    allocate = endless

class EndlessMapping(Mapping, kind="endless-mapping"):
    map_ranks = endless

class EndlessBlocks(BlockSizes, kind="endless-blocks"):
    weights = endless

class EndlessTrace(Trace, kind="endless-trace"):
    jobs = endless
"""
"""Kinds of an extension whose methods return what a test says."""


@pytest.fixture(autouse=True)
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "anything.py").write_text(KINDS)
    package = load_extensions(["anything.py"], folder)
    Anything.module = sys.modules[f"{package}.anything"]
    yield
    unload_extensions(package)


class Anything:
    """The extension."""

    module: Any

    @classmethod
    def returns(cls, value: Any) -> None:
        """Set what its methods return."""
        cls.module.RETURNED[0] = value


SHAPES: Any = st.one_of(st.integers(0, 6), st.tuples(st.integers(0, 4), st.integers(0, 4)), st.just(()))
TYPES: Any = st.sampled_from([np.int32, np.int64, np.uint64, np.float64, np.bool_, np.dtype("U3"), np.complex128])
COLUMNS: Any = arrays.arrays(TYPES, SHAPES)
NEAR = st.lists(st.integers(-2, 9), max_size=6).map(np.array)
SHUFFLED = st.permutations(range(RANKS)).map(np.array)
VALUES = st.one_of(COLUMNS, NEAR, SHUFFLED, st.none(), st.integers(-9, 9), st.text(max_size=3), st.just([[1], 2]))
"""Arrays of any type and shape, some of them almost right, and what is no array."""


def refused(call: Callable[[], object]) -> bool:
    """Return whether a call ends with one error of an extension; any other error but that is a failure of the test."""
    try:
        call()
    except WorkloadError as error:
        assert error.code == "other"
        return True
    except FabricstudyError as error:
        assert error.code == "extension" and "\n" not in str(error)
        return True
    return False


def place(**job: Any) -> list[Any]:
    given = {"nodes": RANKS, "pattern": {"kind": "ring", "message": "1 kB"}} | job
    return list(placements(point_on(RING, jobs=[given]), MACHINE))


def is_choice(value: Any, count: int, end: int) -> bool:
    """Return whether a value is a list of `count` different integers from 0 below `end`."""
    array = np.asarray(value) if isinstance(value, np.ndarray) else np.zeros(())
    whole = array.dtype.kind in "iu" and array.shape == (count,)
    return whole and sorted({*array.tolist()}) == sorted(array.tolist()) and {*array.tolist()} <= {*range(end)}


@settings(max_examples=50, deadline=None)
@given(nodes=VALUES, reserved=VALUES)
def test_an_allocation_grants_distinct_free_nodes_or_is_refused(nodes: Any, reserved: Any) -> None:
    Anything.returns(Grant(nodes))
    assert refused(partial(place, allocation="any-allocation")) != is_choice(nodes, RANKS, NODES)
    Anything.returns(Grant(np.arange(RANKS), reserved))
    if not refused(partial(place, allocation="any-allocation")) and reserved is not None:
        assert {*range(RANKS)} <= {*np.asarray(reserved).tolist()} <= {*range(NODES)}
    Anything.returns(nodes)
    assert refused(partial(place, allocation="any-allocation"))


@settings(max_examples=50, deadline=None)
@given(cores=VALUES)
def test_a_mapping_is_a_permutation_or_is_refused(cores: Any) -> None:
    Anything.returns(cores)
    assert refused(partial(place, mapping="any-mapping")) != is_choice(cores, RANKS, RANKS)


def rows_of(**job: Any) -> list[dict[str, Any]]:
    """Return the workloads of a job and of one after it."""
    jobs = [{"nodes": RANKS, **job}, {"nodes": 2, "pattern": {"kind": "ring", "message": "1 kB"}}]
    cut = np.arange(NODES) < NODES // 2
    return list(workload_rows(point_on(RING, jobs=jobs), MACHINE, cut, {0: "w0", 1: "w1"}))


CHANGED: Any = replace
"""Without types, since the values are wrong ones."""
PROGRAM: Any = Operations
ROTATED = PROGRAM(
    RANKS, *np.array([[0, 1, 2, 3] * 2, [0] * 8, [SEND] * 4 + [RECEIVE] * 4]), np.zeros(8), np.full(8, 5),
    *np.array([[5, 6, 7, 4, 3, 0, 1, 2]]), *np.array([[4, 5], [0, 1], [0, 0]])
)  # fmt: skip
"""Each rank sends to the next one; two wait for their send before they receive."""


def test_a_program_that_does_what_the_pattern_sends_is_placed() -> None:
    Anything.returns(ROTATED)
    (job,) = program_jobs()
    assert job.operations.rank.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def program_jobs() -> Any:
    point = point_on(RING, jobs=[{"nodes": RANKS, "pattern": {"kind": "any-program"}}])
    return generate_messages(point, MACHINE, np.zeros(NODES, dtype=bool), dict(placements(point, MACHINE)))


FIELDS = [field.name for field in fields(Operations) if field.name not in ("eager", "received_from_any")]


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(FIELDS), value=VALUES, at=st.integers(0, 7), number=st.integers(-2, 9))
def test_a_wrong_program_is_refused(name: str, value: Any, at: int, number: int) -> None:
    """One column of anything, or one number of it changed: nothing but the program itself, or an equal one, passes."""
    old: Any = getattr(ROTATED, name)
    Anything.returns(CHANGED(ROTATED, **{name: value}))
    is_same = isinstance(value, np.ndarray) and value.dtype.kind in "iu" and np.array_equal(value, old)
    assert refused(program_jobs) or is_same or name in ("mark", "mark_names", "stream", "duration_ns", "when", "needs")
    if isinstance(old, np.ndarray):
        changed = old.copy()
        changed[at % len(old)] = number
        Anything.returns(CHANGED(ROTATED, **{name: changed}))
        assert refused(program_jobs) or name in ("stream", "when", "needs", "dependent") or number == old[at % len(old)]
    Anything.returns(value)
    assert refused(program_jobs)


@settings(max_examples=50, deadline=None)
@given(columns=st.tuples(VALUES, VALUES, VALUES, st.one_of(st.none(), VALUES)))
def test_a_pattern_sends_between_its_ranks_or_its_workload_has_the_reason(columns: tuple[Any, ...]) -> None:
    Anything.returns(Sends(*columns))
    first, second = rows_of(pattern="any-pattern")
    if first.get("reason") is not None:
        assert {row["workload_id"] for row in (first, second)} == {"w0", "w1"}
        return
    phase, source, destination, _ = (np.asarray(column) for column in columns)
    assert len(phase) == len(source) == len(destination) == first["messages"]
    assert all(0 <= rank < RANKS for rank in (*source.tolist(), *destination.tolist()))


RANK = np.arange(RANKS)
ONE = np.zeros(RANKS, dtype=np.int64)


@pytest.mark.parametrize(
    "sends",
    [
        None, (ONE, RANK, RANK[::-1]), Sends(ONE - 1, RANK, RANK[::-1], ONE + 5), Sends(ONE, RANK, RANK + 1, ONE + 5),
        Sends(ONE, RANK, RANK[::-1], ONE - 1), Sends(ONE, RANK, RANK[::-1], (ONE + 1.5)),  # type: ignore[arg-type]
        Sends(ONE + 2**40, RANK, RANK[::-1], ONE + 5), Sends(ONE, RANK[1:], RANK[::-1], ONE + 5),
        Sends(ONE, RANK, RANK[::-1], ONE + 2**62),
    ],
)  # fmt: skip
def test_wrong_sends_fail(sends: Any) -> None:
    Anything.returns(sends)
    first, second = rows_of(pattern="any-pattern")
    assert first["failed"] and second["failed"] and "any-pattern" in first["reason"]


@settings(max_examples=50, deadline=None)
@given(columns=st.tuples(VALUES, VALUES, VALUES, VALUES))
def test_a_traffic_has_destinations_or_is_refused(columns: tuple[Any, ...]) -> None:
    offered = Offered.model_validate({"traffic": "any-traffic", "load": 0.5})
    Anything.returns(Destinations(*columns))
    refused(partial(offered.destinations, MACHINE, 1))
    Anything.returns(columns)
    assert refused(partial(offered.destinations, MACHINE, 1))


NODE, ALL = np.arange(NODES), np.ones(NODES)
NEXT = np.roll(NODE, -1)


@pytest.mark.parametrize(
    "rows",
    [
        None, (NODE, ALL, NEXT, NEXT), Destinations(NODE, 2 * ALL, NEXT, NEXT), Destinations(NODE, -ALL, NEXT, NEXT),
        Destinations(NODE, ALL * np.nan, NEXT, NEXT), Destinations(NODE, 0 * ALL, NEXT, NEXT),
        Destinations(NODE, ALL, NEXT + 8, NEXT + 8), Destinations(NODE, ALL, NODE + 1, NODE),
        Destinations(NODE, ALL, NODE, NODE), Destinations(NODE[::-1], ALL, NEXT, NEXT),
        Destinations(NODE, ALL[1:], NEXT, NEXT), Destinations(NODE * 0, ALL, NEXT, NEXT),
    ],
)  # fmt: skip
def test_wrong_destinations_are_refused(rows: Any) -> None:
    offered = Offered.model_validate({"traffic": "any-traffic", "load": 0.5})
    Anything.returns(Destinations(NODE, ALL, NEXT, NEXT))
    assert not refused(partial(offered.destinations, MACHINE, 1))
    Anything.returns(rows)
    assert refused(partial(offered.destinations, MACHINE, 1))


CELLS = st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=2), st.lists(st.integers(), max_size=1))
ROWS = st.dictionaries(st.sampled_from(["name", "number", "more"]), CELLS)


@settings(max_examples=50, deadline=None)
@given(rows=st.one_of(st.lists(ROWS, max_size=3), st.none(), st.integers(), st.text(max_size=2), st.lists(CELLS)))
def test_an_analysis_is_a_table_or_is_refused(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    out = tmp_path_factory.getbasetemp() / "own.parquet"
    out.unlink(missing_ok=True)
    Anything.returns(rows)
    is_refused = refused(partial(analysis_table, Anything.module.AnyAnalysis()))
    write_analysis(Anything.module.AnyAnalysis(), out)
    (written,) = read_analyses([out]).values()
    assert is_refused == (FAILURE in written.attrs) and list(written)[1:] == ["name", "number"]
    assert len(written) == (0 if is_refused else len(rows))
    names = [row.get("name") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else [None]
    assert is_refused or (None not in names and len({*map(str, names)}) == len(rows))


LINK = MACHINE.host
WRONG_MACHINES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "a number": lambda: 1,
    "a node less": lambda: CHANGED(MACHINE, node_router=MACHINE.node_router[1:]),
    "twice the cables": lambda: CHANGED(MACHINE, cable_count=2 * MACHINE.cable_count),
    "floats": lambda: CHANGED(MACHINE, cable_tail=MACHINE.cable_tail.astype(float)),
    "lists": lambda: CHANGED(MACHINE, node_router=MACHINE.node_router.tolist()),
    "tables": lambda: CHANGED(MACHINE, node_router=MACHINE.node_router[:, None]),
    "NaN": lambda: CHANGED(MACHINE, node_router=MACHINE.node_router * np.nan),
    "no bandwidth": lambda: CHANGED(MACHINE, host=replace(LINK, bandwidth_Bps=float("nan"))),
    "infinite bandwidth": lambda: CHANGED(MACHINE, host=replace(LINK, bandwidth_Bps=float("inf"))),
    "negative latency": lambda: CHANGED(MACHINE, host=replace(LINK, latency_ns=-5.0)),
    "no latency": lambda: CHANGED(MACHINE, classes=(replace(LINK, latency_ns=float("nan")),)),
    "no weight": lambda: CHANGED(MACHINE, hop_weight=(float("nan"),)),
    "no cores": lambda: CHANGED(MACHINE, cores_per_node=0),
    "negative levels": lambda: CHANGED(MACHINE, level=MACHINE.node_router - 5),
    "parts of groups": lambda: CHANGED(MACHINE, group=MACHINE.node_router * 1.5),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_MACHINES)
def test_a_machine_that_is_none_is_refused(wrong: str) -> None:
    config = Anything.module.AnyMachine.model_validate({name: RING[name] for name in RING if name != "kind"})
    Anything.returns(MACHINE)
    assert built(config) is MACHINE
    with pytest.raises((ConfigError, ValueError)) as caught:
        Anything.returns(WRONG_MACHINES[wrong]())
        built(config)
    assert "\n" not in str(caught.value)


OWN = """
import numpy as np
from fabricstudy.workload.mapping.base import Mapping
from fabricstudy.workload.allocation.base import Allocation
from fabricstudy.workload.pattern.base import MessagePattern, Sends
from fabricstudy.machine.grids import TorusConfig

class OwnAllocation(Allocation, kind="own-allocation"):
    def allocate(self, request):
        raise OSError(2, "gone")

class OwnMapping(Mapping, kind="own-mapping"):
    def map_ranks(self, slots, tasks, rng):
        return np.zeros(10**14)

class OwnPattern(MessagePattern, kind="own-pattern"):
    def traffic_messages(self, ranks):
        return 1.0
    def sends(self, ranks, rng):
        return next(iter(()))

class OwnMachine(TorusConfig, kind="own-machine"):
    def build(self):
        return replace(super().build())
"""


@pytest.mark.slow
def test_only_the_points_of_a_broken_kind_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Errors of the system, of memory, and of iteration, in methods of three kinds."""
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN)
    Path("own.yaml").write_text("""\
study: own
extensions: [own.py]
machine: {kind: torus, shape: [8], nodes_per_router: 1, bandwidth: 1 GB/s}
routing: minimal
jobs: [{nodes: 4, pattern: {kind: ring, message: 1 kB}}]
engine: packet
experiments:
  a: {sweep: {allocation: {of: jobs.0.allocation, values: [cluster, own-allocation]}}}
  b: {sweep: {mapping: {of: jobs.0.mapping, values: [linear, own-mapping]}}}
  c: {sweep: {pattern: {of: jobs.0.pattern.kind, values: [ring, own-pattern]}}}
""")
    assert run_small("own.yaml") == 1
    text = "".join(capsys.readouterr())
    assert "Traceback" not in text
    lines = Path("results/own/tables/points.csv").read_text().splitlines()[1:]
    assert sum(",done," in line for line in lines) == 3
    assert sum(",failed," in line and "own.py, line" in line for line in lines) == 3
    Path("own.yaml").write_text(Path("own.yaml").read_text().replace("kind: torus", "kind: own-machine"))
    assert main(["plan", "own.yaml"]) == 1
    assert "own.py, line 24" in capsys.readouterr().err


def test_wrong_scores_are_refused() -> None:
    """Scores of extensions are compiled without checks of bounds, so they are tried first."""
    jobs, order = Jobs.of([0, 1], [60, 60], [60, 60], [2, 1]), Anything.module.AnyOrder()
    Anything.returns(lambda nodes, score: np.copyto(score, nodes))
    _check_score(order, jobs)
    wrong: list[Callable[[Any, Any], object]] = [
        lambda nodes, score: None,
        lambda nodes, score: score.fill(np.nan),
        lambda nodes, score: score.fill(np.inf),
        lambda nodes, score: (score.fill(1), nodes.fill(0)),
    ]
    for score in wrong:
        Anything.returns(score)
        assert refused(partial(_check_score, order, jobs))
    Anything.returns(lambda nodes, score: score.__setitem__(10**6, 1))
    with pytest.raises(IndexError):
        _check_score(order, jobs)


def is_weights(value: Any, count: int) -> bool:
    """Return whether a value is a list of finite numbers, not negative, and not all 0."""
    array = np.asarray(value) if isinstance(value, np.ndarray) else np.zeros(())
    if array.dtype.kind not in "iuf" or array.shape != (count,):
        return False
    return bool(np.isfinite(array).all() and (array >= 0).all() and 0 < float(array.sum()) < np.inf)


@settings(max_examples=50, deadline=None)
@given(value=st.one_of(VALUES, arrays.arrays(np.float64, 2, elements=st.floats())))
def test_blocks_have_sizes_or_are_refused(value: Any) -> None:
    blocks, count = Anything.module.AnyBlocks(), 2 if getattr(value, "shape", None) == (2,) else RANKS
    Anything.returns(value)
    with np.errstate(all="ignore"):
        assert refused(partial(rank_blocks, blocks, count, 10)) != is_weights(value, count)
        assert refused(partial(pair_blocks, blocks, 2, 10)) != is_weights(value, 2)


@settings(max_examples=50, deadline=None)
@given(value=st.one_of(VALUES, st.floats(), arrays.arrays(np.float64, 3, elements=st.floats())))
def test_message_sizes_are_numbers_or_are_refused(value: Any) -> None:
    sizes = Anything.module.AnySizes()
    Anything.returns(value)
    if not refused(partial(sizes.draw, 3, np.random.default_rng(1))):
        assert np.isfinite(np.asarray(value, dtype=float)).all() and len(value) == 3
        assert (sizes.draw(3, np.random.default_rng(1)) >= 1).all()
    if not refused(partial(int, sizes)):
        assert int(sizes) >= 1 and np.isfinite(float(value))


COLUMN: Any = st.one_of(VALUES, arrays.arrays(np.float64, 3, elements=st.sampled_from([0.0, 1.0, 5.0, np.nan, np.inf])))


@settings(max_examples=50, deadline=None)
@given(name=st.sampled_from([field.name for field in fields(Jobs) if field.name != "repairs"]), value=COLUMN)
def test_a_trace_has_jobs_in_order_or_is_refused(name: str, value: Any) -> None:
    trace, jobs = Anything.module.AnyTrace(), Jobs.of([0, 1, 2], [60, 60, 60], [60, 60, 60], [2, 1, 4])
    Anything.returns(CHANGED(jobs, **{name: value}))
    found: list[Jobs] = []
    if not refused(lambda: found.append(checked_jobs(trace, 4, 1, 1, Path()))):
        fcfs, easy = (Anything.module.Order.model_validate("fcfs"), Anything.module.Backfill.model_validate("easy"))
        assert np.array_equal(simulate_schedule(NodePool(4), found[0], fcfs, easy).ran, found[0].nodes <= 4)
    Anything.returns(value)
    assert refused(partial(checked_jobs, trace, 4, 1, 1, Path()))


@settings(max_examples=50, deadline=None)
@given(value=VALUES)
def test_a_list_has_partitions_or_is_refused(value: Any) -> None:
    Anything.returns(value)
    assert refused(partial(Anything.module.AnyList().checked_partitions, TorusConfig.model_validate(RING)))
    Anything.returns(NodePool(4))
    assert not refused(partial(Anything.module.AnyList().checked_partitions, TorusConfig.model_validate(RING)))


@settings(max_examples=50, deadline=None)
@given(value=st.one_of(VALUES, st.floats()), place=st.integers(2, 8).filter(lambda place: place != 4))
def test_prices_are_numbers_or_are_refused(value: Any, place: int) -> None:
    prices: list[Any] = ["USD", 2014, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    prices[place] = value
    is_number = isinstance(value, int | float) and value == value
    assert refused(partial(Tariff, *prices)) != is_number


@pytest.mark.parametrize("rule", [None, -1, 4, "easy"])
def test_a_backfilling_without_a_rule_is_refused(rule: Any) -> None:
    kind = Anything.module.AnyBackfill
    if rule is not None:
        kind.rule = rule
    jobs, order = Jobs.of([0], [60], [60], [2]), Anything.module.Order.model_validate("fcfs")
    assert refused(partial(simulate_schedule, NodePool(4), jobs, order, kind()))


def test_methods_that_never_return_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returned, "METHOD_S", 0.1)
    for key in ("allocation", "mapping"):
        assert refused(partial(place, **{key: f"endless-{key}"}))
    assert refused(partial(rank_blocks, Anything.module.EndlessBlocks(), 2, 10))
    assert refused(partial(checked_jobs, Anything.module.EndlessTrace(), 4, 1, 1, Path()))


ANALYSES = """
from typing import ClassVar
from fabricstudy.analysis.base import Analysis

class Broken(Analysis, kind="broken"):
    keys: ClassVar[tuple[str, ...]] = ("name",)
    numbers: ClassVar[tuple[str, ...]] = ("number",)
    how: str = "raises"

    def rows(self):
        if self.how == "ends":
            raise SystemExit(3)
        if self.how == "raises":
            yield {"name": "first", "number": 1 / 0}
        yield {"name": "only", "number": 1}
        if self.how == "repeats":
            yield {"name": "only", "number": 2}
"""


def test_a_broken_analysis_is_a_row_and_the_tables_of_its_study_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text(ANALYSES)
    values = [f"{{kind: value, analysis: {name}, metric: number}}" for name in ("raises", "good")]
    rows = "{kind: rows, analysis: ends, columns: [name], rows: [[only]]}"
    parts = [f"{{statement: p, measure: {measure}, source_range: [0, 1]}}" for measure in (*values, rows)]
    Path("broken.yaml").write_text(f"""\
study: broken
extensions: [broken.py]
analyses:
  raises: {{kind: broken}}
  ends: {{kind: broken, how: ends}}
  repeats: {{kind: broken, how: repeats}}
  good: {{kind: broken, how: works}}
figures: [{{id: f, kind: bar, title: T, analysis: raises, x: name, y: number}}]
claims: [{{id: c, statement: s, source: m, parts: [{", ".join(parts)}]}}]
""")
    assert run_small("broken.yaml") == 1
    assert "Traceback" not in "".join(capsys.readouterr())
    tables = read_tables(Path("results/broken/tables"))
    assert {name for name in tables.analyses if tables.failure_of(name)} == {"raises", "ends", "repeats"}
    assert len(tables.analyses["good"]) == 1 and list(tables.claims["verdict"]) == ["not run", "reproduced", "not run"]
    assert "broken.py, line 14" in Path("results/broken/tables/analysis-raises.csv").read_text()
    assert "1 of 4 analyses" in Path("reports/broken/index.html").read_text()
    jobs = read_jobs(Path("results/broken"))
    assert jobs is not None
    check_points({"broken": jobs.model_copy(update={"allow_failed_points": True})})


@pytest.mark.parametrize("error", [SystemExit(3), ValueError("no"), MemoryError()])
def test_a_routing_that_ends_the_program_is_the_reason_of_its_points(error: BaseException) -> None:
    """The routes are already looked at when a study is planned."""
    Anything.returns(error)
    with pytest.raises(Unsupported, match=r"anything\.py, line"):
        listed_routes(Anything.module.AnyRouting(), MACHINE)
