"""All-to-all over scale-up domains, in rounds and by forwarding.

References
----------
Wang, Ghobadi, Shakeri, Zhang, Hasani: Rail-only: a low-cost high-performance network for training LLMs with trillion
parameters. HotI 2024, arXiv:2307.12169, section on all-to-all traffic.
"""

import itertools
from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import ConfigError, Flag, Whole
from fabricstudy.core.quantities import Size
from fabricstudy.workload.operations import CALC, ENDED, RECEIVE, SEND, Operations
from fabricstudy.workload.pattern.base import Pattern, Sends, TrafficEstimate

MARKS = ("domain", "forward", "between")


class DomainAllToAll(Pattern, kind="domain-all-to-all"):
    """Each rank sends a `message` to each other, in a round for each distance of domains.

    Rank ``d * accelerators + a`` is accelerator a of domain d. In round k it sends to the accelerators of domain d + k,
    modulo the domains: directly, or with `forward` what is for accelerator b first to accelerator b of its own domain
    (mark `forward`), which sends it, and its own, on to b of domain d + k (mark `between`), so that traffic between
    domains stays on its rail. What is for the own domain has the mark `domain`. The orders:

    * posted: all sends are posted at once, and forwarded ones when they have arrived
    * rounds: a round begins when what a rank sends in the one before has left, and what it receives has arrived; in a
      round what is to be forwarded comes first
    * pipelined: the first sends of a round begin when those of the round before have ended, and its other sends when
      those of the round before have left

    With `rounds` forwarding takes (K - 1)/K times B(rail) / B(scale-up) longer than sending directly over a full spine,
    K being the accelerators of a domain: (K - 1)/K of the bytes cross the domain's switch, and nothing overlaps.

    References
    ----------
    Wang et al.: Rail-only. HotI 2024, arXiv:2307.12169.
    """

    has_operations = True

    domains: Whole = Field(ge=2, le=10_000, description="domains")
    accelerators: Whole = Field(ge=1, le=10_000, description="ranks per domain")
    message_bytes: Size = Field(alias="message", description="bytes from each rank to each other")
    forward: Flag = Field(True, description="forward within the domain what leaves it")
    order: Literal["posted", "rounds", "pipelined"] = Field("rounds", description="order of the sends")

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.domains * self.accelerators

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages, forwarded ones twice."""
        forwarded = (self.domains - 1) * (self.accelerators - 1) if self.forward else 0
        phases = 1 if self.order == "posted" else self.domains - 1
        return (TrafficEstimate(float(ranks * (ranks - 1 + forwarded)), int(self.message_bytes), phases),)

    def check_ranks(self, ranks: int) -> None:
        if ranks != self.ranks:
            problem = f"{self.domains} domains of {self.accelerators} have {self.ranks} ranks, but the job has {ranks}"
            raise ConfigError(problem, f"give the job {self.ranks} ranks", ("domains",), self.domains, "does-not-fit")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        listed = self.operations()
        sends = listed.sends
        destination = listed.rank[listed.partner[sends]]
        return Sends(np.zeros(len(sends), dtype=np.int32), listed.rank[sends], destination, listed.size_bytes[sends])

    def operations(self) -> Operations:
        built = _Builder(self.ranks)
        rank = np.arange(self.ranks)
        domain, own = np.divmod(rank, self.accelerators)
        others = [(own + shift) % self.accelerators for shift in range(1, self.accelerators)]
        posted, pipelined = self.order == "posted", self.order == "pipelined"
        # Of each rank: what its sends within and between domains wait for, and the ends of the latter.
        began: Ints | None = None
        ready: Ints | None = None
        ended: Ints | None = None
        for distance in range(1, self.domains):
            if not posted:
                began = built.calcs(ready if pipelined and self.forward else ended)
            legs = [built.messages(rank, domain * self.accelerators + b, 1, began) for b in others if self.forward]
            ready = began
            if not posted and self.forward:
                ready = built.calcs(*itertools.chain(*legs), ended if pipelined else None)
            for b in others if distance == 1 else ():
                built.messages(rank, domain * self.accelerators + b, 0, ready)
            far = (domain + distance) % self.domains * self.accelerators
            if self.forward:
                # What arrives from each other of the domain goes on to the same place of the other domain.
                waits = [ready, *(received if posted else ready for _, received in legs)]
                sent = [built.messages(rank, far + own, 2, needed) for needed in waits]
            else:
                sent = [built.messages(rank, far + b, 2, ready) for b in (own, *others)]
            ended = np.stack([send for send, _ in sent] if pipelined else list(itertools.chain(*sent)))
        return built.operations(int(self.message_bytes))


class _Builder:
    """Operations in the order in which they are added, one of each rank at a time."""

    def __init__(self, ranks: int) -> None:
        self._ranks, self._count = ranks, 0
        self._kind: list[int] = []
        self._rank: list[Ints] = []
        self._partner: list[Ints] = []
        self._mark: list[int] = []
        self._waits: list[tuple[Ints, Ints]] = []

    def _add(self, kind: int, rank: Ints, partner: Ints, mark: int, needs: Ints | None) -> Ints:
        """Add an operation of each of `rank`, all ranks; return those of rank 0, 1, ..., which need `needs` of it."""
        number = self._count + np.arange(self._ranks)
        self._count += self._ranks
        self._kind.append(kind)
        self._rank.append(rank)
        self._partner.append(partner)
        self._mark.append(mark)
        by_rank = np.empty_like(number)
        by_rank[rank] = number
        if needs is not None:
            self._waits += [(by_rank, needed) for needed in np.atleast_2d(needs)]
        return by_rank

    def calcs(self, *needs: Ints | None) -> Ints:
        """Add a calc of no duration to each rank."""
        rows = [np.atleast_2d(needed) for needed in needs if needed is not None]
        nothing = np.full(self._ranks, -1)
        return self._add(CALC, np.arange(self._ranks), nothing, -1, np.concatenate(rows) if rows else None)

    def messages(self, source: Ints, destination: Ints, mark: int, needs: Ints | None) -> tuple[Ints, Ints]:
        """Let each of all ranks send to another, a permutation; return the send and the receive of each rank."""
        sent = self._count + np.arange(self._ranks)
        of_send = self._add(SEND, source, sent + self._ranks, mark, needs)
        return of_send, self._add(RECEIVE, destination, sent, mark, None)

    def operations(self, size_bytes: int) -> Operations:
        """Return the operations, sorted by rank."""
        rank, partner = np.concatenate(self._rank), np.concatenate(self._partner)
        kind, mark = (np.repeat(column, self._ranks) for column in (self._kind, self._mark))
        order = np.argsort(rank, kind="stable")
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        dependent, needs = (np.concatenate(ends) for ends in zip(*self._waits, strict=True)) if self._waits else (
            np.zeros((2, 0), dtype=np.int64)
        )  # fmt: skip
        return Operations(
            ranks=self._ranks,
            rank=rank[order].astype(np.int32),
            stream=np.zeros(len(order), dtype=np.int32),
            kind=kind[order].astype(np.int8),
            duration_ns=np.zeros(len(order)),
            size_bytes=np.where(kind[order] == CALC, 0, size_bytes).astype(np.int64),
            partner=np.where(partner < 0, -1, number[partner])[order],
            dependent=number[dependent],
            needs=number[needs],
            when=np.full(len(needs), ENDED, dtype=np.int8),
            mark=mark[order].astype(np.int16),
            mark_names=MARKS,
        )
