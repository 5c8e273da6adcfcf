"""The operations of a step of training: schedule of the stages, computation, messages and collectives."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from fabricstudy.core.arrays import Ints

from .operations import Operations
from .program import GroupCollective, Program, in_groups

if TYPE_CHECKING:
    from .pattern.training import Block, Group, GroupOperation, Pass, Training

MARKS = ("forward", "backward", "tensor", "pipeline", "data", "expert")
COMPUTE, TENSOR, PIPELINE, DATA, EXPERT = range(5)
"""Streams of a rank: computation, and communication in each of its groups."""


def passes(schedule: str, stage: int, stages: int, micro_batches: int) -> list[tuple[bool, int]]:
    """Return the passes of a stage in their order: whether forward, and the micro-batch.

    With 1F1B a stage first computes as many forward passes as there are stages after it, then forward and backward
    passes in turn (Narayanan et al. 2021, figure 4).
    """
    ahead = micro_batches if schedule == "gpipe" else min(stages - 1 - stage, micro_batches)
    order = [(True, number) for number in range(ahead)]
    for number in range(micro_batches):
        if ahead + number < micro_batches:
            order.append((True, ahead + number))
        order.append((False, number))
    return order


@lru_cache(maxsize=2)
def training_step(pattern: Training) -> Operations:
    """Return the operations of all ranks in one step."""
    return _Step(pattern).build()


class _Step:
    def __init__(self, pattern: Training) -> None:
        self.pattern, self.grid = pattern, pattern.parallel.grid()
        self.program = Program(pattern.parallel.ranks, MARKS)
        nothing = np.full(pattern.parallel.ranks, -1, dtype=np.int64)
        self.current, self.reduced = nothing, nothing
        """The last operation of each rank in its passes, and in its collectives of gradients."""
        self.inputs: dict[tuple[int, bool, int], Ints] = {}
        """Receives of the ranks of a stage, by stage, whether forward, and micro-batch."""
        self._collectives: dict[tuple[int, Group, GroupOperation, int], GroupCollective | None] = {}

    def build(self) -> Operations:
        pattern, stages = self.pattern, self.pattern.parallel.pipeline
        waiting = [passes(pattern.schedule, stage, stages, pattern.micro_batches)[::-1] for stage in range(stages)]
        while any(waiting):
            for stage, order in enumerate(waiting):
                while order and self._has_input(stage, *order[-1]):
                    self._pass(stage, *order.pop())
        for stage in range(stages):
            blocks = pattern.blocks(stage)[::-1]
            if not pattern.gradients.overlap:
                for block in blocks:
                    self._reduce(stage, block, pattern.gradient_operations()[0])
            if pattern.gradients.zero:
                for block in blocks:
                    self._reduce(stage, block, "all-gather")
        return self.program.operations()

    def _has_input(self, stage: int, forward: bool, number: int) -> bool:
        is_end = stage == (0 if forward else self.pattern.parallel.pipeline - 1)
        return is_end or (stage, forward, number) in self.inputs

    def _pass(self, stage: int, forward: bool, number: int) -> None:
        """Add the pass of a micro-batch through a stage, and the messages to the next one."""
        pattern, ranks = self.pattern, self.grid[stage].ravel()
        blocks = pattern.blocks(stage)
        needed = self.inputs.pop((stage, forward, number), None)
        is_last = not forward and number == pattern.micro_batches - 1
        for block in blocks if forward else blocks[::-1]:
            part = block.forward if forward else block.backward
            calc = self.program.compute(ranks, COMPUTE, part.time_ns, "forward" if forward else "backward")
            self.program.wait(calc, self.current[ranks])
            if needed is not None:
                self.program.wait(calc, needed)
                needed = None
            self.current = self.current.copy()
            self.current[ranks] = calc
            self._exchange(stage, part)
            if is_last and pattern.gradients.overlap:
                self._reduce(stage, block, pattern.gradient_operations()[0])
        following = stage + (1 if forward else -1)
        if 0 <= following < pattern.parallel.pipeline:
            sends, receives = self.program.send(
                ranks, self.grid[following].ravel(), PIPELINE, pattern.boundary_bytes, "pipeline"
            )
            self.program.wait(sends, self.current[ranks])
            self.inputs[following, forward, number] = receives

    def _exchange(self, stage: int, part: Pass) -> None:
        """Add the collectives of activations, for which the ranks wait."""
        exchanges: tuple[tuple[int, Group, GroupOperation, int], ...] = (
            (TENSOR, "tensor", "all-reduce", part.reduced_bytes),
            (EXPERT, "expert", "all-to-all", part.pair_bytes),
        )
        for stream, mark, operation, size_bytes in exchanges:
            exchange = self._collective(stage, mark, operation, size_bytes)
            if exchange is not None:
                self.current = self.program.collective(exchange, stream, mark, self.current)

    def _reduce(self, stage: int, block: Block, operation: GroupOperation) -> None:
        """Add the collectives of a block's gradients, which follow each other."""
        for group, size_bytes in self.pattern.gradient_buckets(block):
            part = self._collective(stage, group, operation, size_bytes)
            if part is not None:
                first = self.program.count + part.first
                self.reduced = self.program.collective(part, DATA, "data", self.reduced)
                self.program.wait(first, self.current[part.rank[part.first]])

    def _collective(
        self, stage: int, group: Group, operation: GroupOperation, size_bytes: int
    ) -> GroupCollective | None:
        """Return a collective in all groups of a stage; None in groups of one rank."""
        key = stage, group, operation, size_bytes
        if key not in self._collectives:
            steps = [step for part in self.pattern.group_steps(group, operation, size_bytes) for step in part]
            groups = self.pattern.parallel.groups(group)[stage]
            self._collectives[key] = in_groups(groups, steps) if steps else None
        return self._collectives[key]
