"""Training steps: parameters, volumes and times against published numbers and formulas."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import ScaleUp
from fabricstudy.workload.critical_path import critical_path_ns, find_cycle
from fabricstudy.workload.operations import CALC, RECEIVE, SEND, Operations
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.pattern.training import Training
from fabricstudy.workload.transformer import Transformer

# All degrees used here divide these lengths.
SHAPE = {"layers": 8, "hidden": 960, "ffn": 1920, "heads": 12, "sequence": 64, "vocabulary": 0}
MIXTURE = SHAPE | {"experts": 4, "active_experts": 2}


def training(model: Any = SHAPE, **keys: Any) -> Training:
    parallel = keys.pop("parallel", {})
    written = {"kind": "training", "model": model, "parallel": parallel, "compute": {"rate": "100 TFLOP/s"}} | keys
    found = Pattern.model_validate(written, context={}, by_alias=True, by_name=False)
    assert isinstance(found, Training)
    return found


def sent_by_mark(operations: Operations) -> dict[str, np.ndarray]:
    """Return the bytes that each rank sends, by mark."""
    assert operations.mark is not None
    sends = operations.sends
    return {
        name: np.bincount(
            operations.rank[sends], operations.size_bytes[sends] * (operations.mark[sends] == index), operations.ranks
        )
        for index, name in enumerate(operations.mark_names)
    }


def time_without_network(operations: Operations) -> float:
    nothing = np.zeros(len(operations.sends))
    return critical_path_ns(operations, nothing, nothing)


@pytest.mark.parametrize(
    ("name", "published", "tolerance"),
    [
        ("llama-7b", 6_738_415_616, 0),
        ("llama-70b", 68_976_648_192, 0),
        ("mixtral-8x7b", 46_702_792_704, 0),
        ("gpt3-175b", 175.0e9, 0.003),
    ],
)
def test_parameters_are_the_published_ones(name: str, published: float, tolerance: float) -> None:
    """Counts of the checkpoints; GPT-3 is published to three digits."""
    assert Transformer.model_validate(name).parameters == pytest.approx(published, rel=tolerance, abs=0)


def test_active_parameters_of_a_mixture() -> None:
    """Mixtral of Experts, section 1: a token uses 13 of 47 billion parameters."""
    model = Transformer.model_validate("mixtral-8x7b")
    idle = (model.experts - model.active_experts) * model.expert_parameters * model.layers
    assert (model.parameters - idle) / 1e9 == pytest.approx(12.9, abs=0.05)


@pytest.mark.parametrize(("recompute", "passes"), [(False, 3), (True, 4)])
def test_operations_are_those_of_narayanan(recompute: bool, passes: int) -> None:
    """24 B s l h^2 (1 + s / (6 h)) of the layers in each of three or four passes, and 6 B s h V of the output."""
    model = Transformer.model_validate("gpt3-175b")
    layers, hidden, sequence, words, batch = model.layers, model.hidden, model.sequence, model.vocabulary, 6
    pattern = training(
        "gpt3-175b", recompute=recompute, micro_batches=3, micro_batch=2, compute={"rate": "1 PFLOP/s", "efficiency": 1}
    )
    of_layers = passes * 24 * batch * sequence * layers * hidden**2 * (1 + sequence / (6 * hidden))
    of_output = 2 * passes * batch * sequence * hidden * words
    assert pattern.estimates(1, 1e9, None)["compute_ns"] == pytest.approx((of_layers + of_output) / 1e15 * 1e9)
    # Where sequences are short against h, this is 6 N a token: 8 N with recomputation.
    tokens = batch * sequence
    assert of_layers + of_output == pytest.approx(2 * passes * model.parameters * tokens, rel=0.04)


@pytest.mark.parametrize("zero", [0, 1])
@pytest.mark.parametrize("recompute", [False, True])
def test_volumes_are_the_closed_forms(zero: int, recompute: bool) -> None:
    tensor, stages, data, micro_batches, batch = 4, 2, 3, 4, 2
    pattern = training(
        parallel={"tensor": tensor, "pipeline": stages, "data": data}, micro_batches=micro_batches, micro_batch=batch,
        gradients={"zero": zero, "bucket": "1 MB"}, recompute=recompute, layers_at_once=3,
    )  # fmt: skip
    operations = pattern.operations()
    found, model = sent_by_mark(operations), pattern.model
    activation_bytes = batch * model.sequence * model.hidden * model.element_bytes
    all_reduces = (6 if recompute else 4) * model.layers // stages * micro_batches
    assert np.all(found["tensor"] == all_reduces * 2 * (tensor - 1) / tensor * activation_bytes)
    # Each boundary carries b s h elements a micro-batch in each direction; both stages have one boundary.
    assert np.all(found["pipeline"] == micro_batches * activation_bytes / tensor)
    parameters_of_rank = model.parameters / stages / tensor
    expected = 2 * (data - 1) / data * parameters_of_rank * model.element_bytes
    assert found["data"] == pytest.approx(np.full(24, expected), rel=1e-3)
    assert not found["expert"].any()


def test_volumes_of_experts() -> None:
    tensor, data, expert, micro_batches = 2, 2, 4, 3
    pattern = training(
        MIXTURE, parallel={"tensor": tensor, "data": data, "expert": expert}, micro_batches=micro_batches
    )
    found, model = sent_by_mark(pattern.operations()), pattern.model
    share = model.active_experts * model.sequence * model.hidden * model.element_bytes / tensor
    all_to_alls = 4 * model.layers * micro_batches
    assert np.all(found["expert"] == all_to_alls * (expert - 1) / expert * share)
    shared, routed = (model.layers * count / tensor for count in (model.shared_parameters, model.routed_parameters))
    expected = 2 * (data * expert - 1) / (data * expert) * shared + 2 * (data - 1) / data * routed / expert
    assert found["data"] == pytest.approx(np.full(16, expected * model.element_bytes), rel=1e-3)


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe"])
@pytest.mark.parametrize(("stages", "micro_batches"), [(1, 1), (2, 1), (4, 2), (4, 8), (8, 8)])
def test_time_without_a_network_is_that_of_the_pipeline(schedule: str, stages: int, micro_batches: int) -> None:
    """(m + p - 1)(f + b): Narayanan et al. 2021, section 2.2; the bubble is (p - 1) / m of the computation."""
    pattern = training(
        parallel={"pipeline": stages, "tensor": 2}, micro_batches=micro_batches, schedule=schedule,
        compute={"forward": "3 us", "backward": "7 us"}, layers_at_once=1,
    )  # fmt: skip
    stage_ns = pattern.model.layers / stages * 10_000
    expected_ns = (micro_batches + stages - 1) * stage_ns
    assert time_without_network(pattern.operations()) == pytest.approx(expected_ns)
    summary = pattern.estimates(2 * stages, 1e30, None)
    assert summary["bound_ns"] == pytest.approx(expected_ns)
    assert summary["bubble"] == pytest.approx((stages - 1) / micro_batches)
    assert summary["compute_ns"] == pytest.approx(micro_batches * stage_ns)


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe"])
def test_activations_that_a_stage_keeps(schedule: str) -> None:
    """With 1F1B stage i keeps those of at most p - i micro-batches, with GPipe all (Narayanan et al. 2021)."""
    stages, micro_batches = 4, 6
    operations = training(
        parallel={"pipeline": stages}, micro_batches=micro_batches, schedule=schedule, layers_at_once=8
    ).operations()
    assert operations.mark is not None
    for stage in range(stages):
        marks = operations.mark[(operations.rank == stage) & (operations.kind == CALC)]
        names = [operations.mark_names[mark] for mark in marks]
        kept = np.cumsum([1 if name == "forward" else -1 for name in names])
        assert kept.max() == (micro_batches if schedule == "gpipe" else stages - stage)
        assert kept[-1] == 0 and kept.min() == 0


def test_gradients_overlap_with_the_backward_pass() -> None:
    """A bucket of each block is hidden behind the backward pass of the next, if that takes as long."""
    layer_bytes = Transformer.model_validate(SHAPE).shared_parameters * 2
    keys = {"parallel": {"data": 2}, "layers_at_once": 1, "compute": {"forward": "1 us", "backward": "1 ms"}}
    times = {}
    for overlap in (True, False):
        operations = training(gradients={"bucket": "1 GB", "overlap": overlap}, **keys).operations()
        sends = operations.sends
        message_ns = operations.size_bytes[sends] / layer_bytes * 1e6
        times[overlap] = critical_path_ns(operations, message_ns, message_ns)
    passes_ns = 8 * 1_001_000
    # A ring of two sends half of the bytes twice: one millisecond a layer.
    assert times[True] == pytest.approx(passes_ns + 1e6)
    assert times[False] == pytest.approx(passes_ns + 8e6)


@given(
    tensor=st.sampled_from([1, 2, 3]),
    stages=st.sampled_from([1, 2, 4]),
    data=st.integers(1, 3),
    expert=st.sampled_from([1, 2, 4]),
    micro_batches=st.integers(1, 3),
    order=st.permutations(["tensor", "expert", "data", "pipeline"]),
    collectives=st.fixed_dictionaries(
        {
            "tensor": st.sampled_from(["ring", "recursive-doubling", "rabenseifner", "tree", "double-tree", "direct"]),
            "data": st.sampled_from(["ring", "direct"]),
            "expert": st.sampled_from(["linear", "pairwise"]),
        }
    ),
    zero=st.sampled_from([0, 1]),
    overlap=st.booleans(),
)
@settings(deadline=None, max_examples=40)
def test_every_step(
    tensor: int, stages: int, data: int, expert: int, micro_batches: int, order: list[str], collectives: dict[str, str],
    zero: int, overlap: bool,
) -> None:  # fmt: skip
    degrees = {"tensor": tensor, "pipeline": stages, "data": data, "expert": expert}
    pattern = training(
        MIXTURE, parallel=degrees | {"order": order}, micro_batches=micro_batches, collectives=collectives,
        gradients={"zero": zero, "overlap": overlap, "bucket": "4 MB"},
    )  # fmt: skip
    ranks = tensor * stages * data * expert
    pattern.check_ranks(ranks)
    operations = pattern.operations()
    assert operations.ranks == ranks and np.all(np.diff(operations.rank) >= 0)
    sends = operations.sends
    receives = operations.partner[sends]
    assert np.all(operations.kind[receives] == RECEIVE) and np.all(operations.partner[receives] == sends)
    assert len(set(receives.tolist())) == len(sends) == np.count_nonzero(operations.kind == RECEIVE)
    assert np.array_equal(operations.size_bytes[sends], operations.size_bytes[receives])
    assert np.all(operations.rank[sends] != operations.rank[receives])
    assert np.array_equal(operations.rank[operations.dependent], operations.rank[operations.needs])
    assert find_cycle(operations) == []
    told = {part.size_bytes: part.messages for part in pattern.traffic(ranks)}
    assert told == dict(Counter(operations.size_bytes[sends].tolist()))
    # Ranks of a message differ in the degrees of their group alone.
    assert operations.mark is not None
    coordinates = np.stack(np.unravel_index(np.arange(ranks), [degrees[name] for name in reversed(order)]), axis=1)
    differ = defaultdict(set)
    for send, receive in zip(sends.tolist(), receives.tolist(), strict=True):
        ends = coordinates[operations.rank[send]], coordinates[operations.rank[receive]]
        apart = [name for name, one, other in zip(reversed(order), *ends, strict=True) if one != other]
        differ[operations.mark_names[operations.mark[send]]].update(apart)
    assert all(names <= ({name, "expert"} if name == "data" else {name}) for name, names in differ.items())
    assert time_without_network(operations) <= pattern.estimates(ranks, 1e30, None)["bound_ns"] * (1 + 1e-9)
    assert np.count_nonzero(operations.kind == SEND) == pattern.traffic_messages(ranks)


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ({"parallel": {"pipeline": 3}}, "parallel.pipeline"),
        ({"parallel": {"tensor": 5}}, "parallel.tensor"),
        ({"parallel": {"expert": 2}}, "parallel.expert"),
        ({"model": MIXTURE, "parallel": {"expert": 3}}, "parallel.expert"),
        ({"parallel": {"order": ["tensor", "data"]}}, "parallel.order"),
        ({"model": "llama-8b"}, "model.name"),
        ({"model": SHAPE | {"heads": 7}}, "model.hidden"),
        ({"model": SHAPE | {"kv_heads": 5}}, "model.heads"),
        ({"model": SHAPE | {"active_experts": 2}}, "model.active_experts"),
        ({"compute": {}}, "compute"),
        ({"compute": {"rate": "1 TFLOP/s", "forward": "1 ms", "backward": "2 ms"}}, "compute"),
        ({"compute": {"rate": "400 GB/s"}}, "compute.rate"),
        ({"gradients": {"zero": 1}, "collectives": {"data": "double-tree"}}, "collectives.data"),
        ({"collectives": {"tensor": "hierarchical", "inside": 2}}, "collectives.tensor"),
        ({"collectives": {"data": "hierarchical"}}, "collectives.inside"),
        ({"parallel": {"data": 4}, "collectives": {"data": "hierarchical", "inside": 3}}, "collectives.inside"),
        ({"micro_batches": 0}, "micro_batches"),
    ],
)
def test_what_does_not_fit_is_refused(keys: dict[str, Any], place: str) -> None:
    with pytest.raises((ConfigError, ValidationError)) as caught:
        training(**keys)
    error = caught.value
    assert isinstance(error, ValidationError)
    places = []
    for mistake in error.errors():
        inner = getattr(mistake.get("ctx", {}).get("error"), "path", "")
        places.append(".".join([*map(str, mistake["loc"]), *([inner] if inner else [])]))
    assert any(path.endswith(place) for path in places), places


def test_the_product_of_the_degrees_is_the_number_of_ranks() -> None:
    with pytest.raises(ConfigError) as caught:
        training(parallel={"tensor": 2, "data": 2}).check_ranks(8)
    assert caught.value.code == "does-not-fit"


def test_groups_of_tensor_that_cross_domains_are_priced() -> None:
    domains = ScaleUp(8, 450e9, 50e9)
    for parallel, crosses in (
        ({"tensor": 4}, False), ({"tensor": 12}, True), ({"tensor": 3}, True), ({"data": 12}, False),
        ({"tensor": 4, "data": 2, "order": ["data", "tensor", "expert", "pipeline"]}, False),
        ({"tensor": 4, "data": 4, "order": ["data", "tensor", "expert", "pipeline"]}, True),
    ):  # fmt: skip
        pattern = training(parallel=parallel)
        step = pattern.estimates(pattern.parallel.ranks, 1e12, domains)
        assert step["outside_ns"] == pytest.approx(crosses * step["tensor_bytes"] * (1 / 50 - 1 / 450))
        assert len(pattern.describe(step)) == 3 + crosses + (step["ring_inside"] > 0)
        assert pattern.estimates(pattern.parallel.ranks, 1e12, None)["outside_ns"] == 0


@pytest.mark.parametrize(("parallel", "algorithm", "inside"), [
    ({"data": 16}, "ring", 8), ({"data": 8}, "ring", 0), ({"data": 16}, "direct", 0),
    ({"tensor": 4, "pipeline": 2, "data": 4, "order": ["tensor", "pipeline", "data", "expert"]}, "ring", 0),
    ({"tensor": 2, "data": 8}, "ring", 4), ({"data": 12}, "ring", 8), ({"data": 2, "expert": 8}, "ring", 8),
])  # fmt: skip
def test_rings_that_leave_a_domain_by_one_port_are_told(parallel: Any, algorithm: str, inside: int) -> None:
    """Count the ranks of a domain of eight that send gradients to another domain."""
    pattern = training(parallel=parallel, collectives={"data": algorithm}, model=SHAPE | {"experts": 8})
    step = pattern.estimates(pattern.parallel.ranks, 1e12, ScaleUp(8, 450e9, 50e9))
    assert step["ring_inside"] == inside and len(pattern.describe(step)) == 3 + (inside > 0)
    if inside:
        group = pattern.parallel.groups("shared")[0, 0]
        leave = [rank for rank, following in zip(group, np.roll(group, -1), strict=True) if rank // 8 != following // 8]
        assert len([rank for rank in leave if rank // 8 == 0]) == 1 < inside
        # What the warning recommends is valid.
        hierarchical = "hierarchical" in pattern.describe(step)[-1]
        remedy = {"data": "hierarchical", "inside": inside} if hierarchical else {"data": "direct"}
        training(parallel=parallel, collectives=remedy, model=SHAPE | {"experts": 8})


@pytest.mark.parametrize(("keys", "path"), [
    ({"gradients": {"bucket": "1 B"}, "parallel": {"data": 4}}, ("gradients", "bucket")),
    ({"micro_batches": 100_000, "layers_at_once": 1, "parallel": {"tensor": 12, "data": 64}}, ("micro_batches",)),
    ({"model": SHAPE | {"hidden": 9_999_996, "sequence": 10_000_000}, "micro_batch": 100_000}, ("model",)),
    ({"compute": {"rate": "1 MFLOP/s"}, "micro_batch": 100_000}, ("compute",)),
    ({"parallel": {"data": 10**12}}, ("parallel",)),
    ({"parallel": {"data": 10**5}}, ("gradients", "bucket")),
])  # fmt: skip
def test_a_step_that_is_too_large_is_refused_before_it_is_built(keys: dict[str, Any], path: tuple[str, ...]) -> None:
    begin = time.process_time()
    with pytest.raises(ValidationError) as refusal:
        training(**keys)
    assert time.process_time() - begin < 1
    error = refusal.value.errors()[0]["ctx"]["error"]
    assert (error.code, error.keys) == ("out-of-range", path)


def test_the_limit_of_operations_is_no_larger_than_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step with rings everywhere is refused below, and taken at, its own number of operations."""
    keys: dict[str, Any] = {
        "parallel": {"tensor": 2, "data": 3, "pipeline": 2},
        "micro_batches": 3,
        "layers_at_once": 1,
    }
    operations = training(**keys).operations()
    assert operations.mark is not None
    of_boundaries = 2 * sum(operations.mark[operations.sends] == operations.mark_names.index("pipeline"))
    ends = np.count_nonzero((operations.kind == CALC) & (operations.duration_ns == 0))
    counted = len(operations) - int(of_boundaries) - int(ends)
    monkeypatch.setattr("fabricstudy.workload.pattern.training.MAX_OPERATIONS", counted)
    training(**keys)
    monkeypatch.setattr("fabricstudy.workload.pattern.training.MAX_OPERATIONS", counted - 1)
    with pytest.raises(ValidationError):
        training(**keys)
