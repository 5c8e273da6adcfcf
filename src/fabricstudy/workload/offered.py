"""Offered traffic: each node offers messages at a steady rate, independently of the network (open loop)."""

from math import ceil
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.core.model import ConfigError, Model, Number, Whole, Written, model_check
from fabricstudy.core.returned import Returned
from fabricstudy.machine.graph import Machine

from .sizes import MessageSizes, SizeOrSizes
from .streams import Purpose, stream
from .traffic.base import Destinations, Traffic

SATURATION: Literal["saturation"] = "saturation"

MIN_MEASURED = 100
"""Least length of the window, in message times."""

MIN_BATCH = 5
"""Least length of a batch, in message times."""

MIN_MESSAGES, MIN_MESSAGES_OF_NODE = 20_000, 10
"""Minimum number of messages in a window, in total and per node; the second half, which is evaluated, has half."""

WARMUP_SHARE = 0.25
"""Messages of the warm-up over those."""

WARMUP_LATENCIES, WINDOW_LATENCIES = 10, 20
"""Latencies without load in a warm-up and in a window at least."""

BLOCK = 256
"""Messages of each node that are drawn at once."""


class OfferedMessages(NamedTuple):
    """Messages with their creation, in transmission times of a message on a node's link."""

    time: Floats
    source: Ints
    destination: Ints


def _check_load(load: Any) -> Any:
    if load == SATURATION:
        return load
    if isinstance(load, bool) or not isinstance(load, int | float) or not 0 < load <= 1:
        is_above = isinstance(load, int | float) and load > 1
        problem = "a node cannot send more than its link carries, which is load 1" if is_above else "not a load"
        remedy = "write a number above 0 and up to 1, or saturation"
        # A value from 5 to 100 is most likely a percentage.
        remedy = f"did you mean {load / 100:g}?" if is_above and 5 <= load <= 100 else remedy
        raise ConfigError(problem, remedy, value=load, code="out-of-range")
    return float(load)


class Offered(Model):
    """Steady traffic instead of jobs.

    All nodes send. Messages are created at times that do not depend on the network, and wait in an unbounded queue of
    their node. The latency, from the creation of a message to the arrival of its last byte, includes this source queue.
    """

    traffic: Traffic = Field(description="destinations of the messages")
    load: Annotated[
        float | Literal["saturation"],
        BeforeValidator(_check_load),
        WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 1}, {"const": SATURATION}]}),
        Written("number, or saturation"),
    ] = Field(
        description="share of the bandwidth of a node's link that each node offers; saturation: search the highest "
        "steady load"
    )
    message_bytes: SizeOrSizes = Field(
        "256 B",
        alias="message",
        validate_default=True,
        description="message size, or a distribution from which each message draws its size (packet only); a message "
        "may be several packets",
    )
    arrivals: Literal["poisson", "periodic", "bursts"] = Field(
        "poisson",
        description="arrivals at a node: a Poisson process; periodic with random phases; or bursts of messages at the "
        "rate of the node's link",
    )
    burst: Number | None = Field(
        None, ge=1, le=1e6, description="mean number of messages of a burst (geometric), for arrivals: bursts"
    )
    warmup: Whole = Field(
        1000,
        ge=0,
        le=10_000_000,
        description="least time before the measurement, in message times of a node's link; it also lasts for ten "
        "latencies and some messages",
    )
    measured: Whole = Field(
        2000,
        ge=MIN_MEASURED,
        le=10_000_000,
        description="least time of the measurement, in message times of a node's link; it also lasts for 20,000 "
        "messages, ten of each node, and twenty latencies",
    )
    batches: Whole = Field(
        40, ge=8, le=1000, description="parts of this time, whose means yield the confidence intervals"
    )
    tolerance: Number = Field(0.02, ge=0.001, le=0.2, description="resolution of the search for the saturation load")

    @model_check
    def _fits(self) -> None:
        if self.measured < MIN_BATCH * self.batches:
            problem = f"{self.batches} batches of {self.measured} message times are shorter than {MIN_BATCH} each"
            raise ConfigError(
                problem, "use fewer batches, or measure longer", ("batches",), self.batches, "out-of-range"
            )
        if (self.arrivals == "bursts") != (self.burst is not None):
            remedy = "write both arrivals: bursts and burst: 8, or neither"
            raise ConfigError("bursts need a mean length", remedy, ("burst",), self.burst, "conflicting-keys")

    def size_rows(self) -> Floats:
        """Return the rows of `MessageSizes.inverse` for messages of different sizes; none for one size."""
        return self.message_bytes.inverse() if isinstance(self.message_bytes, MessageSizes) else np.empty((0, 3))

    @property
    def mean_bytes(self) -> float:
        """Return the mean message size."""
        rows = self.size_rows()
        if not len(rows):
            return float(int(self.message_bytes))
        return float(np.diff(rows[:, 0], prepend=0.0) @ rows[:, 1:].mean(axis=1))

    def destinations(self, machine: Machine, seed: int) -> Destinations:
        """Return the destinations of all nodes; random ones depend on the seed alone."""
        returned = Returned(self.traffic, "destinations")
        with returned.time_limit():
            rows = returned.instance(self.traffic.destinations(machine, stream(seed, 0, Purpose.PATTERN)), Destinations)
        node, first, last = (
            returned.integers(column, name, None, machine.nodes)
            for column, name in ((rows.node, "nodes"), (rows.first, "first nodes"), (rows.last, "last nodes"))
        )
        share = returned.floats(rows.share, "shares", len(node))
        if not len(first) == len(last) == len(node):
            raise returned.error("returns columns of different lengths")
        if np.any(np.diff(node) < 0) or np.any(first > last):
            raise returned.error("returns rows that are not sorted by node, or ranges that end before they begin")
        if np.any(np.bincount(node, share) > 1 + 1e-9) or not share.any():
            raise returned.error("returns shares of a node above 1 in total, or no share at all")
        if np.any((first == node) & (last == node)):
            raise returned.error("returns nodes that send to themselves alone")
        return Destinations(node.astype(np.int64), share, first.astype(np.int64), last.astype(np.int64))

    def long_enough(self, load: float, senders: float, latency: float, factor: int = 1) -> Self:
        """Return the traffic with a warm-up and a window that are long in messages and in latencies, times `factor`.

        Parameters
        ----------
        senders : float
            Nodes that send; one with a part of the load counts as this part.
        latency : float
            Latency without load, in message times.
        """
        messages_time = max(MIN_MESSAGES, MIN_MESSAGES_OF_NODE * senders) / (load * senders)
        warmup = max(self.warmup, ceil(WARMUP_SHARE * messages_time), ceil(WARMUP_LATENCIES * latency))
        measured = max(self.measured, ceil(messages_time), ceil(WINDOW_LATENCIES * latency))
        return self.model_copy(update={"warmup": factor * warmup, "measured": factor * measured})

    def messages(self, destinations: Destinations, nodes: int, load: float, end: float, seed: int) -> OfferedMessages:
        """Return the messages created before `end`, for engines whose input lists them.

        All loads and routings have the same sequence of gaps (in units of the mean gap) and destinations.
        """
        share = np.bincount(destinations.node, weights=destinations.share, minlength=nodes).astype(np.float64)
        senders = np.flatnonzero(share)
        of_gaps, of_goals = stream(seed, 0, Purpose.ARRIVALS).spawn(2)
        interval, now = 1 / (load * share[senders]), np.zeros(len(senders))
        blocks: list[Floats] = []
        while now.min(initial=end) < end:
            gaps = self._gaps(of_gaps, interval, first=not blocks)
            blocks.append(now + np.cumsum(gaps, axis=0))
            now = blocks[-1][-1]
        time = np.concatenate(blocks) if blocks else np.empty((0, 0))
        source = np.broadcast_to(senders, time.shape)
        destination = _drawn(destinations, source, share, of_goals.random((*time.shape, 2)))
        used = time < end
        return OfferedMessages(time[used], source[used], destination[used])

    def _gaps(self, rng: np.random.Generator, interval: Floats, first: bool) -> Floats:
        """Return a block of gaps between messages, of given means; the first messages have random phases."""
        shape = (BLOCK, len(interval))
        draws = rng.exponential(size=shape)
        if self.arrivals == "poisson":
            return interval * draws
        gaps = np.broadcast_to(interval, shape).copy()
        if self.burst is not None:
            pauses = rng.random(shape) < 1 / self.burst
            gaps = 1 + pauses * self.burst * np.maximum(interval - 1, 0) * draws
        if first:
            gaps[0] = interval * rng.random(len(interval))
        return gaps


def _drawn(rows: Destinations, source: Ints, share: Floats, draws: Floats) -> Ints:
    """Return a destination for each message, given two random numbers below 1 for each."""
    cumulated, first_row = np.cumsum(rows.share), np.searchsorted(rows.node, np.arange(len(share) + 1))
    before = np.append(0.0, cumulated)[first_row[:-1]]
    row = np.searchsorted(cumulated, before[source] + draws[..., 0] * share[source], side="right")
    row = np.clip(row, first_row[source], first_row[source + 1] - 1)
    first, last = rows.first[row], rows.last[row]
    within = (first <= source) & (source <= last)
    goal = first + (draws[..., 1] * (last - first + 1 - within)).astype(np.int64)
    return goal + (within & (goal >= source))
