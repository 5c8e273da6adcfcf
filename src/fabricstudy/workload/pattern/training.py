"""One step of the training of a transformer on tensor, pipeline, data and expert parallel ranks.

References
----------
Shoeybi et al.: Megatron-LM. arXiv:1909.08053 (2019), section 3: tensor parallelism.
Narayanan et al.: Efficient large-scale language model training on GPU clusters using Megatron-LM. SC 2021,
doi:10.1145/3458817.3476209: pipelines with 1F1B, bubble, bytes sent, floating-point operations.
Huang et al.: GPipe. NeurIPS 2019, arXiv:1811.06965. Rajbhandari et al.: ZeRO. SC 2020, arXiv:1910.02054.
Lepikhin et al.: GShard. ICLR 2021, arXiv:2006.16668: experts.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from math import prod
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.input_files import MAX_RANKS, MAX_TRAFFIC_BYTES
from fabricstudy.core.model import ConfigError, Flag, Model, Number, Whole, at_path, check_all, model_check
from fabricstudy.core.quantities import NS_PER_S, Computation, ComputeRate, Size
from fabricstudy.machine.base import ScaleUp

from ..matching import MAX_NS, MAX_OPERATIONS
from ..operations import Operations
from ..training_step import training_step
from ..transformer import Transformer
from . import collective
from .all_reduce import Algorithm, all_reduce, check_inside
from .base import Pattern, Sends, TrafficEstimate, sends_of
from .collective import CollectivePart, Rounds, count_messages, ends_of_blocks

Dimension = Literal["tensor", "expert", "data", "pipeline"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

Group = Literal["tensor", "expert", "data", "shared"]
"""Ranks of one degree of parallelism; shared: data- and expert-parallel ranks with the same attention parameters."""
GroupOperation = Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all"]


class Parallel(Model):
    """Degrees of parallelism; their product is the number of ranks."""

    tensor: Whole = Field(1, ge=1, description="ranks that share each layer")
    pipeline: Whole = Field(1, ge=1, description="stages of consecutive layers")
    data: Whole = Field(1, ge=1, description="ranks with the same parameters and other sequences")
    expert: Whole = Field(1, ge=1, description="ranks that share the experts of each layer, with other sequences")
    order: tuple[Dimension, ...] = Field(
        DIMENSIONS, description="from neighbouring ranks to distant ones: neighbours differ in the first"
    )

    @model_check
    def _orders_all(self) -> None:
        if sorted(self.order) != sorted(DIMENSIONS):
            remedy = f"list {', '.join(DIMENSIONS)}, each once"
            raise ConfigError("not an order of the four", remedy, ("order",), ", ".join(self.order), "does-not-fit")

    @property
    def ranks(self) -> int:
        return self.tensor * self.pipeline * self.data * self.expert

    @property
    def tensor_span(self) -> int:
        """Number of consecutive ranks that a tensor-parallel group spans."""
        inner: list[int] = [getattr(self, name) for name in self.order[: self.order.index("tensor")]]
        return self.tensor * prod(inner)

    def grid(self) -> Ints:
        """Return the ranks by stage, data, expert and tensor, int64 [pipeline, data, expert, tensor]."""
        outer_first = tuple(reversed(self.order))
        ranks = np.arange(self.ranks).reshape([getattr(self, name) for name in outer_first])
        return ranks.transpose([outer_first.index(name) for name in ("pipeline", "data", "expert", "tensor")])

    def groups(self, name: Group) -> Ints:
        """Return the ranks of each group of each stage, ascending, int64 [pipeline, groups, members]."""
        ranks = self.grid()
        if name == "shared":
            together = np.moveaxis(ranks, 3, 1).reshape(self.pipeline, self.tensor, -1)
        else:
            axis = ("pipeline", "data", "expert", "tensor").index(name)
            together = np.moveaxis(ranks, axis, 3).reshape(self.pipeline, -1, ranks.shape[axis])
        return np.sort(together, axis=2)


class Gradients(Model):
    """Sum of the gradients over the ranks with the same parameters."""

    zero: Literal[0, 1] = Field(
        0, description="0: all-reduce; 1: reduce-scatter, and an all-gather of the parameters at the end"
    )
    bucket_bytes: Size = Field(
        100_000_000, alias="bucket", description="most bytes of one collective; smaller: more operations"
    )
    overlap: Flag = Field(
        True, description="begin when the gradients of a block of layers are complete, instead of all"
    )


class Collectives(Model):
    """Algorithms of the collectives."""

    tensor: Algorithm = Field("ring", description="all-reduce of activations in tensor-parallel groups")
    data: Algorithm = Field("ring", description="all-reduce of gradients; ring or direct with zero: 1")
    expert: Literal["linear", "pairwise"] = Field("linear", description="all-to-all in expert-parallel groups")
    inside: Whole | None = Field(None, ge=2, description="consecutive ranks of a group of hierarchical, for data")


class Accelerator(Model):
    """Time of computation: by a rate, or of one layer."""

    rate_FLOPps: ComputeRate | None = Field(None, alias="rate", description="peak rate of an accelerator")
    efficiency: Number = Field(0.45, gt=0, le=1, description="share of the peak rate that is reached")
    forward_ns: Computation | None = Field(
        None, alias="forward", description="measured time of a layer and micro-batch, instead of rate"
    )
    backward_ns: Computation | None = Field(None, alias="backward", description="of the backward pass, with forward")

    @model_check
    def _one_time(self) -> None:
        if (self.forward_ns is None) != (self.backward_ns is None) or (self.rate_FLOPps is None) == (
            self.forward_ns is None
        ):
            remedy = "set rate, or both forward and backward"
            raise ConfigError("neither a rate nor both times, or both", remedy, code="conflicting-keys")


class Pass(NamedTuple):
    """A pass of a micro-batch through a block: time of computation, and bytes of activations of a rank."""

    time_ns: float
    reduced_bytes: int
    """Bytes that tensor ranks all-reduce."""
    pair_bytes: int
    """Bytes that a rank sends to each other one of its experts."""


class Block(NamedTuple):
    """Consecutive layers of a stage, computed at once for a micro-batch; bytes of a rank."""

    forward: Pass
    backward: Pass
    shared_bytes: int
    """Gradients of the parameters that ranks of data and expert share."""
    routed_bytes: int
    """Gradients of experts, which ranks of data share."""


@lru_cache(maxsize=1024)
def group_steps(
    operation: GroupOperation, algorithm: str, ranks: int, size_bytes: int, inside: int | None = None
) -> tuple[CollectivePart, ...]:
    """Return the steps of a collective in a group; `size_bytes` is the vector, of an all-to-all the block of a pair."""
    if operation == "all-reduce":
        return tuple(all_reduce(algorithm, ranks, size_bytes, inside))
    if operation == "all-to-all":
        if algorithm == "linear":
            source, destination, _ = collective.direct(ranks, ranks)[0]
            return ([collective.exchange(source, destination, size_bytes)],)
        rank = np.arange(ranks)
        return (Rounds(ranks - 1, lambda step: collective.exchange(rank, (rank + step + 1) % ranks, size_bytes)),)
    if algorithm == "direct":
        scattered = collective.direct(ranks, size_bytes)
        return (scattered if operation == "reduce-scatter" else collective.reverse_steps(scattered),)
    return (collective.ring(ranks, size_bytes, -1 if operation == "reduce-scatter" else 0),)


def _least_operations(algorithm: Algorithm, members: int) -> int:
    """Return the sends and receives of a rank in an all-reduce; of algorithms without `members` steps a lower bound."""
    return 4 * (members - 1) if algorithm in ("ring", "direct") else 2 * (members > 1)


class Training(Pattern, kind="training"):
    """One step of the training of a transformer: computation and messages in the order of their dependencies.

    The layers are divided evenly among the stages. A stage computes `layers_at_once` layers of a micro-batch, then
    their collectives; these sum up the all-reduces of the layers, so their bytes are exact and their latencies too few.
    Tensor-parallel ranks wait for their all-reduces, and expert-parallel ranks for their all-to-alls; messages between
    stages and collectives of gradients overlap with computation. The optimizer takes no time.

    Notes
    -----
    For b sequences of s tokens of h elements a micro-batch:

    * tensor: 4 all-reduces of b s h elements a layer and micro-batch, 2 forward and 2 backward (Shoeybi et al. 2019);
      6 with `recompute`
    * pipeline: b s h elements a boundary, micro-batch and direction, of which each rank of tensor sends its part
    * data: 2 (d - 1) / d of the parameters of a rank, for d ranks with the same parameters
    * expert: 2 all-to-alls a layer and direction, in which ranks of tensor share the k b s h elements, for k active
      experts; tokens are spread evenly over experts
    * computation: 2 floating-point operations a parameter and token forward, and those of attention; twice as many
      backward, three times with `recompute` (Narayanan et al. 2021)

    The pipeline bubble is (p - 1) / m of the computation, for p equal stages and m micro-batches.
    """

    has_operations = True

    model: Transformer = Field(description="model: a published one by its name, or a shape")
    parallel: Parallel = Field(default_factory=Parallel, description="degrees of parallelism")
    micro_batches: Whole = Field(1, ge=1, le=100_000, description="micro-batches of each rank of data and expert (m)")
    micro_batch: Whole = Field(1, ge=1, le=100_000, description="sequences of a micro-batch (b)")
    schedule: Literal["1f1b", "gpipe"] = Field(
        "1f1b", description="1f1b: a backward pass after each forward pass, as soon as possible; gpipe: after all"
    )
    gradients: Gradients = Field(default_factory=Gradients, description="sum of the gradients")
    collectives: Collectives = Field(default_factory=Collectives, description="algorithms of the collectives")
    compute: Accelerator = Field(description="time of computation")
    recompute: Flag = Field(False, description="repeat the forward pass of a block before its backward pass")
    layers_at_once: Whole = Field(
        4, ge=1, description="layers between two collectives; fewer: more operations, and buckets begin earlier"
    )

    @model_check
    def _fits(self) -> None:
        check_all([self._check_degrees, self._check_collectives])
        self._check_size()

    def _check_degrees(self) -> None:
        model, parallel = self.model, self.parallel
        for what, count, name in (
            ("layers", model.layers, "pipeline"),
            ("heads", model.heads, "tensor"),
            ("ffn", model.ffn, "tensor"),
            ("experts", model.experts, "expert"),
        ):
            degree = getattr(parallel, name)
            if count % degree:
                problem = f"the model's {what} ({count}) are not divisible by it"
                remedy = f"use a divisor of {count}"
                raise ConfigError(problem, remedy, ("parallel", name), degree, "does-not-fit")

    def _check_collectives(self) -> None:
        zero, used = self.gradients.zero, self.collectives
        if zero and used.data not in ("ring", "direct"):
            problem = "zero: 1 needs a reduce-scatter and an all-gather"
            raise ConfigError(problem, "use ring or direct", ("collectives", "data"), used.data, "conflicting-keys")
        if used.tensor == "hierarchical":
            problem = "groups of tensor are not divided further"
            raise ConfigError(
                problem, "use another algorithm", ("collectives", "tensor"), used.tensor, "conflicting-keys"
            )
        with at_path("collectives"):
            check_inside(used.data, used.inside)
        if used.inside is not None and not self._divides_gradient_groups(used.inside):
            members = {self.parallel.data, self.parallel.data * self.parallel.expert}
            problem = f"groups of {' and '.join(map(str, sorted(members)))} ranks cannot be divided by it"
            remedy = "use a smaller divisor"
            raise ConfigError(problem, remedy, ("collectives", "inside"), used.inside, "does-not-fit")

    def _divides_gradient_groups(self, inside: int) -> bool:
        members = {self.parallel.data, self.parallel.data * self.parallel.expert}
        return all(size % inside == 0 and size > inside for size in members)

    def _check_size(self) -> None:
        """Raise ConfigError for a step of too many operations, bytes or nanoseconds, before it is built."""
        parallel, micro_batches = self.parallel, self.micro_batches
        if parallel.ranks > MAX_RANKS:
            raise ConfigError("more ranks than any machine has", f"use at most {MAX_RANKS:,}", ("parallel",),
                              parallel.ranks, "out-of-range")  # fmt: skip
        layers = self.model.layers // parallel.pipeline
        blocks = -(-layers // self.layers_at_once)
        largest = self._block(min(layers, self.layers_at_once), True, True)
        most_bytes = max(*largest.forward[1:], *largest.backward[1:], largest.shared_bytes, largest.routed_bytes)
        if most_bytes * parallel.ranks > MAX_TRAFFIC_BYTES:
            problem = f"{most_bytes:.3g} B of activations or gradients of a block on each rank"
            raise ConfigError(problem, "use a smaller model or micro_batch", ("model",), code="out-of-range")
        if max(largest.forward.time_ns, largest.backward.time_ns) > MAX_NS:
            problem = f"a pass of {largest.backward.time_ns:.3g} ns through a block"
            raise ConfigError(problem, "use a smaller model or micro_batch", ("compute",), code="out-of-range")
        # At least so many operations of a rank in all collectives of one kind.
        members, bucket_bytes = parallel.data * parallel.expert, self.gradients.bucket_bytes
        buckets = -(-largest.shared_bytes // bucket_bytes) * (members > 1)
        buckets += -(-largest.routed_bytes // bucket_bytes) * (parallel.data > 1)
        of_tensor = 2 * micro_batches * _least_operations(self.collectives.tensor, parallel.tensor)
        of_expert = 4 * micro_batches * (parallel.expert - 1)
        counts = {
            ("micro_batches",): blocks * (2 * micro_batches + of_tensor + of_expert),
            ("gradients", "bucket"): blocks * buckets * _least_operations(self.collectives.data, members),
        }
        keys = max(counts, key=lambda keys: counts[keys])
        if (operations := parallel.ranks * sum(counts.values())) > MAX_OPERATIONS:
            remedy = f"use at most {MAX_OPERATIONS:,}: larger buckets, fewer micro_batches or more layers_at_once"
            raise ConfigError(f"a step of {operations:.3g} operations", remedy, keys, code="out-of-range")

    def check_ranks(self, ranks: int) -> None:
        parallel = self.parallel
        if parallel.ranks != ranks:
            factors = " x ".join(f"{name} {getattr(parallel, name)}" for name in DIMENSIONS)
            problem = f"{factors} is {parallel.ranks}, but the job has {ranks} ranks"
            remedy = f"give the job {parallel.ranks} ranks, or change the degrees"
            raise ConfigError(problem, remedy, ("parallel",), parallel.ranks, "does-not-fit")

    @property
    def boundary_bytes(self) -> int:
        """Activations that a rank sends to the next stage, for a micro-batch."""
        return -(-self.model.activation_bytes(self.micro_batch) // self.parallel.tensor)

    def blocks(self, stage: int) -> tuple[Block, ...]:
        """Return the blocks of layers of a stage, in the order of the forward pass."""
        layers = self.model.layers // self.parallel.pipeline
        starts = range(0, layers, self.layers_at_once)
        return tuple(
            self._block(
                min(self.layers_at_once, layers - start),
                stage == 0 and start == 0,
                stage == self.parallel.pipeline - 1 and start == starts[-1],
            )
            for start in starts
        )

    def _block(self, layers: int, is_first: bool, is_last: bool) -> Block:
        model, parallel, forward_passes = self.model, self.parallel, 2 if self.recompute else 1
        activation_bytes = layers * 2 * model.activation_bytes(self.micro_batch)
        pair_bytes = 0
        if parallel.expert > 1:
            pair_bytes = -(-activation_bytes * model.active_experts // (parallel.expert * parallel.tensor))
        shared = layers * model.shared_parameters + is_first * model.embedding_parameters
        shared += is_last * model.output_parameters
        forward_ns, backward_ns = self._times_ns(layers, is_last)
        return Block(
            Pass(forward_ns, activation_bytes, pair_bytes),
            Pass(
                backward_ns + (forward_passes - 1) * forward_ns,
                forward_passes * activation_bytes,
                forward_passes * pair_bytes,
            ),
            -(-shared // parallel.tensor) * model.element_bytes,
            -(-layers * model.routed_parameters // (parallel.tensor * parallel.expert)) * model.element_bytes,
        )

    def _times_ns(self, layers: int, is_last: bool) -> tuple[float, float]:
        used = self.compute
        if used.forward_ns is not None and used.backward_ns is not None:
            return layers * used.forward_ns, layers * used.backward_ns
        assert used.rate_FLOPps is not None
        flop = layers * self.model.layer_flop(self.micro_batch)
        flop += self.model.output_flop(self.micro_batch) if is_last else 0.0
        forward_ns = flop / self.parallel.tensor / (used.rate_FLOPps * used.efficiency) * NS_PER_S
        return forward_ns, 2 * forward_ns

    def buckets(self, gradient_bytes: int) -> list[int]:
        """Divide the gradients of a block evenly into the fewest buckets."""
        count = -(-gradient_bytes // self.gradients.bucket_bytes)
        return np.diff(ends_of_blocks(gradient_bytes, count)).tolist() if count else []

    def group_steps(self, group: Group, operation: GroupOperation, size_bytes: int) -> tuple[CollectivePart, ...]:
        """Return the steps of a collective in each group; none in groups of one rank."""
        parallel, used = self.parallel, self.collectives
        ranks = parallel.data * parallel.expert if group == "shared" else getattr(parallel, group)
        if ranks == 1 or not size_bytes:
            return ()
        if group in ("data", "shared"):
            return group_steps(operation, used.data, ranks, size_bytes, used.inside)
        return group_steps(operation, getattr(used, group), ranks, size_bytes)

    def gradient_buckets(self, block: Block) -> list[tuple[Group, int]]:
        """Return the group and the bytes of each bucket of a block."""
        parts: tuple[tuple[Group, int], ...] = ("shared", block.shared_bytes), ("data", block.routed_bytes)
        return [(group, size_bytes) for group, total_bytes in parts for size_bytes in self.buckets(total_bytes)]

    def gradient_operations(self) -> tuple[GroupOperation, ...]:
        """Return the collectives of a bucket: one, or one in the backward pass and one at the end."""
        return ("reduce-scatter", "all-gather") if self.gradients.zero else ("all-reduce",)

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size; about one message of a rank is under way at a time."""
        messages = sum(self.sent().values(), Counter[int]())
        return tuple(
            TrafficEstimate(float(messages[size]), size, max(1, messages[size] // max(1, ranks)))
            for size in sorted(messages)
        )

    def sent(self) -> dict[str, Counter[int]]:
        """Return the number of messages of each size in a step, of all ranks together, by dimension."""
        found: dict[str, Counter[int]] = {name: Counter() for name in DIMENSIONS}
        tensor, expert, data, stages = (getattr(self.parallel, name) for name in DIMENSIONS)
        groups = {"tensor": expert * data, "expert": tensor * data, "data": tensor * expert, "shared": tensor}

        def add(name: str, group: Group, times: int, operation: GroupOperation, size_bytes: int) -> None:
            for size, count in count_messages(self.group_steps(group, operation, size_bytes))[0].items():
                found[name][size] += times * groups[group] * count

        for block in (block for stage in range(stages) for block in self.blocks(stage)):
            for part in (block.forward, block.backward):
                add("tensor", "tensor", self.micro_batches, "all-reduce", part.reduced_bytes)
                add("expert", "expert", self.micro_batches, "all-to-all", part.pair_bytes)
            for operation in self.gradient_operations():
                for group, size_bytes in self.gradient_buckets(block):
                    add("data", group, 1, operation, size_bytes)
        if stages > 1:
            messages = 2 * (stages - 1) * self.micro_batches * data * expert * tensor
            found["pipeline"][self.boundary_bytes] += messages
        return found

    def estimates(self, ranks: int, bandwidth_Bps: float, domains: ScaleUp | None) -> dict[str, Any]:
        """Return parameters, bytes, computation, bubble and a lower bound of a step.

        No stage begins before the previous ones have computed a micro-batch forward, nor ends before they have computed
        one backward; a rank also waits for the activations that it sends in its groups of tensor and expert.
        `outside_ns` is the additional time of all-reduces if tensor-parallel groups cross scale-up domains;
        `ring_inside` are the members in a domain of a ring over the gradients that leaves it by one of several, or 0.
        """
        sent_bytes = {
            name: sum(size * count for size, count in sizes.items()) / ranks for name, sizes in self.sent().items()
        }
        stage_ns = [
            sum(block.forward.time_ns + block.backward.time_ns for block in self.blocks(stage))
            for stage in range(self.parallel.pipeline)
        ]
        waiting_ns = (sent_bytes["tensor"] + sent_bytes["expert"]) / self.micro_batches / bandwidth_Bps * NS_PER_S
        outside_s = 0.0
        if domains is not None and self.parallel.tensor > 1 and domains.accelerators % self.parallel.tensor_span:
            outside_s = sent_bytes["tensor"] * (1 / domains.outside_Bps - 1 / domains.inside_Bps)
        return {
            "model": self.model.name or "",
            **{name: getattr(self.parallel, name) for name in DIMENSIONS},
            "parameters": self.model.parameters,
            **{f"{name}_bytes": size for name, size in sent_bytes.items()},
            "compute_ns": self.micro_batches * sum(stage_ns) / len(stage_ns),
            "bubble": self._pipeline_ns(stage_ns) / (self.micro_batches * max(stage_ns)) - 1,
            "bound_ns": self._pipeline_ns([time_ns + waiting_ns for time_ns in stage_ns]),
            "outside_ns": outside_s * NS_PER_S,
            "ring_inside": 0 if domains is None else self._ring_inside(domains.accelerators),
        }

    def _ring_inside(self, accelerators: int) -> int:
        domain = self.parallel.groups("shared")[0, 0] // accelerators
        inside = int(np.count_nonzero(domain == domain[0]))
        return inside if self.collectives.data == "ring" and 1 < inside < len(domain) else 0

    def _pipeline_ns(self, stage_ns: list[float]) -> float:
        return max(self.micro_batches * time_ns + sum(stage_ns[:stage]) for stage, time_ns in enumerate(stage_ns))

    def describe(self, estimates: Mapping[str, Any]) -> list[str]:
        """Return the estimates as lines of text, with warnings on groups that cross scale-up domains."""
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
        if inside := estimates["ring_inside"]:
            divides = self.gradients.zero == 0 and self._divides_gradient_groups(inside)
            remedy = f"hierarchical with inside: {inside}" if divides else "direct"
            lines.append(
                f"warning: rings of the gradients have {inside} members in a scale-up domain and leave it by one of "
                f"them, whose port carries all; collectives.data: {remedy} uses the ports of all members"
            )
        return lines

    def operations(self) -> Operations:
        return training_step(self)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        return sends_of(self.operations())
