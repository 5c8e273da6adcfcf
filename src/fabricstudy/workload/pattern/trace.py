"""The operations of a trace, each of which starts when those that it depends on have ended or started."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.model import NoPhysics, Number, Whole
from fabricstudy.core.quantities import MessageSize, Size

from ..operations import CALC, Operations
from ..rendezvous import CONTROL_BYTES, with_rendezvous
from ..sequences import merged
from ..traces.formats import Format, read_trace
from ..traces.mpi import Clock, algorithms_of
from .base import Pattern, Sends, TrafficEstimate, TrafficFile, sends_of


class Trace(TrafficFile, Pattern, kind="trace"):
    """The computation and the messages of a program, in the order that its own dependencies allow.

    The file is GOAL, text or binary, Parquet, DUMPI (.meta, or the .bin of rank 0), OTF2 (.otf2), or that of rank 0 of
    Chakra, of a PyTorch execution trace or of liballprof, compressed by gzip or not; `fabricstudy trace` describes and
    converts traces.
    An operation computes, sends or receives. It starts when the operations that it depends on have ended or started; a
    stream of a rank computes one thing at a time. The job has the ranks of the trace. The point contains the digest of
    all files.

    Notes
    -----
    The k-th send of a rank to another with a tag is for the k-th receive there with this tag, as in MPI. A
    trace's own computation times contain what passes between its messages, so set no overheads in `network` with it.

    References
    ----------
    Hoefler, Siebert and Lumsdaine: Group Operation Assembly Language. ICPP 2009, doi:10.1109/ICPP.2009.70.
    """

    has_operations = True

    format_name: Annotated[Format | None, NoPhysics] = Field(
        None, alias="format", description="format of the file; default: by its content"
    )
    compute: Number = Field(1, ge=0, le=1e6, description="factor of all computation times; 0: messages alone")
    end_of_send: Literal["eager", "synchronous"] = Field(
        "eager",
        alias="sends",
        description="when a send has ended: eager (its last packet has left the node) or synchronous (it has arrived)",
    )
    collectives: Literal["mpich"] | dict[str, str] = Field(
        "mpich",
        description="algorithms of collective operations: mpich or, for some, others, such as {all-reduce: ring}",
    )
    clock: Clock = Field(
        "wall", description="clock of the computation of DUMPI: wall, or cpu for recordings of ranks that shared cores"
    )
    streams: Literal["separate", "merged"] = Field(
        "separate",
        description="separate: streams of a rank compute at the same time; merged: a rank does one thing after "
        "another, which SST and CODES need",
    )
    rendezvous_bytes: Size | None = Field(
        None,
        alias="rendezvous",
        description="size above which messages wait for a request and a clear to send (RTS, CTS); left out: none do",
    )
    empty_bytes: MessageSize = Field(
        "0 B",
        alias="empty",
        validate_default=True,
        description="size of messages of 0 bytes, for engines that have none: 1 B",
    )
    listed_ranks: SkipJsonSchema[Whole] = 0
    operation_count: SkipJsonSchema[Whole] = 0
    sizes: SkipJsonSchema[tuple[tuple[Whole, Whole], ...]] = ()
    """Mean size and number of the messages of each power of two of bytes."""

    @classmethod
    def _read_file(cls, path: Path, written: Mapping[str, Any]) -> tuple[Any, str]:
        algorithms = algorithms_of(written.get("collectives", "mpich"))
        # Another value is refused by the field.
        clock: Clock = "cpu" if written.get("clock") == "cpu" else "wall"
        chosen = written.get("format", written.get("format_name"))
        name = chosen if chosen in get_args(Format) else None
        return read_trace(path, algorithms, "invalid-data-file", name, clock)

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        size_bytes = content.size_bytes[content.sends]
        power, number = np.unique(np.frexp(size_bytes)[1], return_inverse=True)
        counts = np.bincount(number, minlength=len(power))
        means = np.ceil(np.bincount(number, size_bytes, len(power)) / counts).astype(np.int64)
        return {
            "listed_ranks": content.ranks,
            "operation_count": len(content),
            "sizes": tuple(zip(means.tolist(), counts.tolist(), strict=True)),
        }

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size; about one message of a rank is under way at a time."""
        above = self.rendezvous_bytes
        control = sum(2 * count for size_bytes, count in self.sizes if above is not None and size_bytes > above)
        return tuple(
            TrafficEstimate(float(count), size_bytes or int(self.empty_bytes), max(1, count // max(1, ranks)))
            for size_bytes, count in (*self.sizes, *[(CONTROL_BYTES, control)] * (control > 0))
        )

    def check_ranks(self, ranks: int) -> None:
        self.check_listed_ranks(self.listed_ranks, f"the trace has {self.listed_ranks} ranks", ranks)

    def operations(self) -> Operations:
        operations = self._program()
        if self.streams == "merged":
            operations = merged(operations)
        return operations.scaled(self.compute, self.end_of_send == "eager")

    def _program(self) -> Operations:
        listed: Operations = self.listed()
        if self.empty_bytes:
            empty = (listed.kind != CALC) & (listed.size_bytes == 0)
            listed = replace(listed, size_bytes=np.where(empty, self.empty_bytes, listed.size_bytes))
        return listed if self.rendezvous_bytes is None else with_rendezvous(listed, self.rendezvous_bytes)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        return sends_of(self._program())
