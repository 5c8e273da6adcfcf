"""A scheduler without any tricks, to compare the kernel with: plain sets, everything computed anew at each instant.

It was written from the sentences of the model alone (docs/concepts/scheduling.md), and not from the kernel.

Where these leave something open, it reads them so:

* A job that cannot start is passed over, and the later ones may take any free partition of their class that the
  reservation allows; of these the one that blocks fewest free partitions, whether reserved or not.
* Partitions that are free equally soon: fewest conflicts of all partitions, then the list's order.
* A running job that has used up its request is expected to end at once, that is, now.
* `conservative` takes arrivals in the order of the trace, whatever the order of the queue. A slot's time is an instant,
  too; where it goes by, since a job before it runs longer than it asked for, all slots are given up as at an end.
* `drain`: partitions above one are those with more midplanes that hold all of its own. Only those that are not free
  count, and without any of them a job may not start so. A job drains one that nobody drains. The pass is repeated
  until nothing starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Units = frozenset[object]


@dataclass(frozen=True)
class Job:
    """One job of a trace; its place in the trace is its name."""

    submit: float
    runtime: float
    request: float
    nodes: int


@dataclass(frozen=True)
class Partition:
    """Nodes, the midplanes that hold them, and the cables that join these."""

    nodes: int
    midplanes: Units
    cables: Units = frozenset()

    @property
    def units(self) -> Units:
        """All that it shares with nobody."""
        return self.midplanes | self.cables


@dataclass(frozen=True)
class Held:
    """A job on its partition: until when by its request, and until when in truth."""

    units: Units
    partition: int
    start: float
    expected: float
    end: float


Factor = Callable[[int, int], float]
"""From job and partition to how many times as long it runs."""


def cubed(number: float) -> float:
    """Return the third power, rounded as often as a product is; scores so are equal or not as elsewhere."""
    return number * number * number


class Reference:
    """Run jobs one after another in time; `starts` then has (start, partition) of each."""

    def __init__(
        self,
        jobs: Sequence[Job],
        partitions: Sequence[Partition],
        order: str,
        backfill: str,
        factor: Factor = lambda job, partition: 1.0,
        fixed_request: bool = False,
    ) -> None:
        self.jobs, self.partitions, self.order, self.backfill = jobs, partitions, order, backfill
        self._factor, self._fixed = factor, fixed_request
        self.starts: dict[int, tuple[float, int]] = {}
        self._running: dict[int, Held] = {}
        self._waiting: list[int] = []
        self._slots: dict[int, Held] = {}
        self._conflicts: dict[int, int] = {}
        self._has_ended = False
        self._now = float("-inf")

    def run(self) -> dict[int, tuple[float, int]]:
        """Run all jobs to their ends."""
        coming = sorted(range(len(self.jobs)), key=lambda job: (self.jobs[job].submit, job))
        while coming or self._running:
            now = min([self.jobs[coming[0]].submit] if coming else [], default=float("inf"))
            now = min([now, *(held.end for held in self._running.values())])
            now = min([now, *(slot.start for slot in self._slots.values() if slot.start > self._now)])
            self._now = now
            ended = [job for job, held in self._running.items() if held.end == now]
            for job in ended:
                del self._running[job]
            self._has_ended = bool(ended)
            while coming and self.jobs[coming[0]].submit == now:
                self._waiting.append(coming.pop(0))
            passes = {"none": self._easy, "easy": self._easy, "conservative": self._conservative, "drain": self._drain}
            passes[self.backfill](now)
        assert not self._waiting, "jobs are left over"
        return self.starts

    def request(self, job: int, partition: int) -> float:
        """Return the time that a job asks for on a partition."""
        return self.jobs[job].request * (1.0 if self._fixed else self._factor(job, partition))

    def of_class(self, job: int) -> list[int]:
        """Return the partitions of the least size that holds a job."""
        nodes = self.jobs[job].nodes
        least = min(one.nodes for one in self.partitions if one.nodes >= nodes)
        return [number for number, one in enumerate(self.partitions) if one.nodes == least]

    def conflicts(self, partition: int) -> int:
        """Count the partitions with which one conflicts."""
        if partition not in self._conflicts:
            own = self.partitions[partition].units
            self._conflicts[partition] = sum(not own.isdisjoint(one.units) for one in self.partitions) - 1
        return self._conflicts[partition]

    def free(self, of: Iterable[int] | None = None) -> list[int]:
        """Return the partitions, or those of some, of which nobody holds anything."""
        taken = frozenset().union(*(held.units for held in self._running.values()))
        among = range(len(self.partitions)) if of is None else of
        return [number for number in among if taken.isdisjoint(self.partitions[number].units)]

    def blocked(self, partition: int, free: Iterable[int]) -> int:
        """Count the free partitions that would not be free any more."""
        own = self.partitions[partition].units
        return sum(not own.isdisjoint(self.partitions[other].units) for other in free)

    def in_order(self, now: float) -> list[int]:
        """Return the waiting jobs in the order of the queue."""
        score: dict[str, Callable[[Job], float]] = {
            "fcfs": lambda job: 0.0,
            "wfp": lambda job: -cubed((now - job.submit) / job.request) * job.nodes,
            "shortest-first": lambda job: job.request,
            "largest-first": lambda job: -job.nodes,
        }
        of = score[self.order]
        return sorted(self._waiting, key=lambda job: (of(self.jobs[job]), self.jobs[job].submit, job))

    def start(self, job: int, among: Iterable[int], now: float) -> None:
        """Start a job on the partition that blocks fewest."""
        free = self.free()
        partition = min(among, key=lambda one: (self.blocked(one, free), one))
        self._running[job] = self._held(job, partition, now)
        self._waiting.remove(job)
        self.starts[job] = now, partition

    def _held(self, job: int, partition: int, start: float) -> Held:
        end = start + self.jobs[job].runtime * self._factor(job, partition)
        return Held(self.partitions[partition].units, partition, start, start + self.request(job, partition), end)

    def free_at(self, partition: int, now: float) -> float:
        """Return when a partition becomes free, by the requests of those that run."""
        own = self.partitions[partition].units
        return max([now, *(one.expected for one in self._running.values() if not own.isdisjoint(one.units))])

    def soonest(self, among: Iterable[int], now: float) -> tuple[float, int]:
        """Return the partition that is free soonest, and when."""
        time, _, partition = min((self.free_at(one, now), self.conflicts(one), one) for one in among)
        return time, partition

    def _easy(self, now: float) -> None:
        reserved: tuple[float, int] | None = None
        for job in self.in_order(now):
            free = self.free(self.of_class(job))
            allowed = [one for one in free if reserved is None or self._may(job, one, reserved, now)]
            if allowed:
                self.start(job, allowed, now)
            elif self.backfill == "none":
                return
            elif reserved is None:
                reserved = self.soonest(self.of_class(job), now)

    def _may(self, job: int, partition: int, reserved: tuple[float, int], now: float) -> bool:
        time, other = reserved
        apart = self.partitions[partition].units.isdisjoint(self.partitions[other].units)
        return apart or now + self.request(job, partition) <= time

    def _conservative(self, now: float) -> None:
        again = self._has_ended or any(slot.start < now for slot in self._slots.values())
        for job in sorted(self._waiting, key=lambda job: (self.jobs[job].submit, job)):
            if again or job not in self._slots:
                self._slots.pop(job, None)
                self._slots[job] = self._earliest(job, now)
        for job in [job for job in self._waiting if self._slots[job].start == now]:
            partition = self._slots.pop(job).partition
            if self.free([partition]):
                self.start(job, [partition], now)

    def _earliest(self, job: int, now: float) -> Held:
        others = [*self._slots.values(), *self._running.values()]
        found = []
        for partition in self.of_class(job):
            mine = [one for one in others if not one.units.isdisjoint(self.partitions[partition].units)]
            # A slot begins now, or where another one ends.
            for time in sorted({now, *(max(now, one.expected) for one in mine)}):
                end = time + self.request(job, partition)
                if all(max(now, one.expected) <= time or one.start >= end for one in mine):
                    found.append((time, self.conflicts(partition), partition))
                    break
        time, _, partition = min(found)
        return self._held(job, partition, time)

    def _drain(self, now: float) -> None:
        while self._drain_once(now):
            pass

    def _drain_once(self, now: float) -> bool:
        drained: set[object] = set()
        started = False
        for job in self.in_order(now):
            untouched = [one for one in self.of_class(job) if drained.isdisjoint(self.partitions[one].units)]
            allowed = self.free(untouched)
            if allowed:
                self.start(job, allowed, now)
                started = True
            elif untouched:
                drained |= self.partitions[self.soonest(untouched, now)[1]].units
        return started or self._fill(now)

    def _fill(self, now: float) -> bool:
        for job in self.in_order(now):
            free = self.free(self.of_class(job))
            allowed = [one for one in free if now + self.request(job, one) <= self._above_free_at(one, now)]
            if allowed:
                self.start(job, allowed, now)
                return True
        return False

    def _above_free_at(self, partition: int, now: float) -> float:
        own = self.partitions[partition].midplanes
        above = [one for one in range(len(self.partitions)) if self.partitions[one].midplanes > own]
        free = self.free(above)
        busy = [one for one in above if one not in free]
        return min((self.free_at(one, now) for one in busy), default=float("-inf"))


def run_on_nodes(
    jobs: Sequence[Job], nodes: int, order: str, backfill: str, count_only: bool = False
) -> dict[int, tuple[float, frozenset[int]]]:
    """Run jobs on any free nodes, lowest numbers first: start and nodes of each; `none` and `easy` only.

    With `count_only` the head's reservation is a number of nodes, as in textbooks, and not a set of them.
    """
    queue = Reference(jobs, [Partition(nodes, frozenset(range(nodes)))], order, backfill)
    coming = sorted(range(len(jobs)), key=lambda job: (jobs[job].submit, job))
    running: dict[int, frozenset[int]] = {}
    found: dict[int, tuple[float, frozenset[int]]] = {}
    ends: dict[int, float] = {}
    while coming or running:
        now = min([*(ends[job] for job in running), *(jobs[job].submit for job in coming[:1])])
        running = {job: own for job, own in running.items() if ends[job] > now}
        while coming and jobs[coming[0]].submit == now:
            queue._waiting.append(coming.pop(0))
        reserved: frozenset[int] | None = None
        until, spare = now, 0
        for job in queue.in_order(now):
            wanted, end = jobs[job].nodes, now + jobs[job].request
            free = set(range(nodes)) - set().union(*running.values())
            if reserved is not None and end > until:
                free = set(sorted(free)[:spare]) if count_only else free - reserved
            if len(free) >= wanted:
                own = frozenset(sorted(free)[:wanted])
                running[job], ends[job], found[job] = own, now + jobs[job].runtime, (now, own)
                queue._waiting.remove(job)
                if reserved is not None and end > until:
                    spare -= wanted
            elif backfill == "none":
                break
            elif reserved is None:
                for until in sorted({max(now, found[one][0] + jobs[one].request) for one in running}):
                    there = {n for one in running if found[one][0] + jobs[one].request > until for n in running[one]}
                    later = sorted(set(range(nodes)) - there)
                    if len(later) >= wanted:
                        reserved, spare = frozenset(later[:wanted]), len(later) - wanted
                        break
    return found
