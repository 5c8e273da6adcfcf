"""What a step of training sends and takes at least, without a simulation: what `fabricstudy plan` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from fabricstudy.core.quantities import NS_PER_S
from fabricstudy.machine.base import ScaleUp

from .pattern.collective import count_messages

if TYPE_CHECKING:
    from .pattern.training import Group, GroupOperation, Training

Dimension = Literal["tensor", "expert", "data", "pipeline"]
DIMENSIONS: tuple[Dimension, ...] = ("tensor", "expert", "data", "pipeline")


def sent(pattern: Training) -> dict[str, Counter[int]]:
    """Return the number of messages of each size in a step, of all ranks together, by dimension."""
    found: dict[str, Counter[int]] = {name: Counter() for name in DIMENSIONS}
    tensor, expert, data, stages = (getattr(pattern.parallel, name) for name in DIMENSIONS)
    groups = {"tensor": expert * data, "expert": tensor * data, "data": tensor * expert, "shared": tensor}

    def add(name: str, group: Group, times: int, operation: GroupOperation, size_bytes: int) -> None:
        for size, count in count_messages(pattern.group_steps(group, operation, size_bytes))[0].items():
            found[name][size] += times * groups[group] * count

    for block in (block for stage in range(stages) for block in pattern.blocks(stage)):
        for part in (block.forward, block.backward):
            add("tensor", "tensor", pattern.micro_batches, "all-reduce", part.reduced_bytes)
            add("expert", "expert", pattern.micro_batches, "all-to-all", part.pair_bytes)
        for operation in pattern.gradient_operations():
            for group, size_bytes in pattern.gradient_buckets(block):
                add("data", group, 1, operation, size_bytes)
    if stages > 1:
        messages = 2 * (stages - 1) * pattern.micro_batches * data * expert * tensor
        found["pipeline"][pattern.boundary_bytes] += messages
    return found


def estimates(pattern: Training, ranks: int, bandwidth_Bps: float, domains: ScaleUp | None) -> dict[str, Any]:
    """Return parameters, bytes, computation, bubble and a lower bound of a step.

    No stage begins before the previous ones have computed a micro-batch forward, nor ends before they have computed
    one backward; a rank also waits for the activations that it sends in its groups of tensor and expert.
    `outside_ns` is the additional time of all-reduces if tensor-parallel groups cross scale-up domains.
    """
    sent_bytes = {
        name: sum(size * count for size, count in sizes.items()) / ranks for name, sizes in sent(pattern).items()
    }
    stage_ns = [
        sum(block.forward.time_ns + block.backward.time_ns for block in pattern.blocks(stage))
        for stage in range(pattern.parallel.pipeline)
    ]
    waiting_ns = (sent_bytes["tensor"] + sent_bytes["expert"]) / pattern.micro_batches / bandwidth_Bps * NS_PER_S
    outside_s = 0.0
    if domains is not None and pattern.parallel.tensor > 1 and domains.accelerators % pattern.parallel.tensor_span:
        outside_s = sent_bytes["tensor"] * (1 / domains.outside_Bps - 1 / domains.inside_Bps)
    return {
        "model": pattern.model.name or "",
        **{name: getattr(pattern.parallel, name) for name in DIMENSIONS},
        "parameters": pattern.model.parameters,
        **{f"{name}_bytes": size for name, size in sent_bytes.items()},
        "compute_ns": pattern.micro_batches * sum(stage_ns) / len(stage_ns),
        "bubble": _pipeline_ns(pattern, stage_ns) / (pattern.micro_batches * max(stage_ns)) - 1,
        "bound_ns": _pipeline_ns(pattern, [time_ns + waiting_ns for time_ns in stage_ns]),
        "outside_ns": outside_s * NS_PER_S,
    }


def described(estimates: Mapping[str, Any]) -> list[str]:
    """Return the estimates as lines of text, with a warning where groups of tensor cross scale-up domains."""
    model = f"{estimates['model'] or 'model'} of {estimates['parameters'] / 1e9:.4g} billion parameters"
    degrees = " x ".join(f"{name} {estimates[name]}" for name in DIMENSIONS)
    sent = ", ".join(f"{name} {estimates[f'{name}_bytes'] / 1e9:.3g} GB" for name in DIMENSIONS)
    lines = [
        f"{model}: {degrees}",
        f"a rank sends {sent}",
        f"and computes {estimates['compute_ns'] / 1e6:,.4g} ms; bubble {estimates['bubble']:.1%}; "
        f"the step takes {estimates['bound_ns'] / 1e6:,.4g} ms or more",
    ]
    if estimates["outside_ns"] > 0:
        lines.append(
            "warning: tensor-parallel groups cross scale-up domains, whose links are faster than those between "
            f"them: a step takes about {estimates['outside_ns'] / 1e6:,.4g} ms more; set parallel.tensor to a "
            "divisor of machine.accelerators"
        )
    return lines


def _pipeline_ns(pattern: Training, stage_ns: list[float]) -> float:
    return max(pattern.micro_batches * time_ns + sum(stage_ns[:stage]) for stage, time_ns in enumerate(stage_ns))
