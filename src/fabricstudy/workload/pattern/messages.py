"""The messages listed in a file, CSV or Parquet, as its content tells.

The columns are phase, source, destination and bytes. Rows of a rank within a phase are in send order.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core import input_files
from fabricstudy.core.arrays import Ints
from fabricstudy.core.input_files import MAX_RANKS, MAX_TRAFFIC_BYTES, InputFileError, position_text, whole
from fabricstudy.core.model import Whole

from .base import Pattern, Sends, TrafficEstimate, TrafficFile, repeat

Positions = Callable[[int], str]
"""Returns the line or row of a message in its file."""

MESSAGE_COLUMNS = ("phase", "source", "destination", "bytes")
_LARGEST = {"phase": 2**31 - 2, "source": MAX_RANKS - 1, "destination": MAX_RANKS - 1, "bytes": MAX_TRAFFIC_BYTES}

MAX_ROWS = 50_000_000
"""Maximum number of messages in a Parquet file, where equal rows take almost no space."""


class MessageFile(Sends):
    """Messages: phases, ranks and bytes from 0, int64 [messages] each."""

    @property
    def ranks(self) -> int:
        """Ranks of the job: one more than the largest number."""
        return 1 + int(max(self.source.max(), self.destination.max()))

    @property
    def phases(self) -> int:
        """Number of phases, including empty ones before the last."""
        return 1 + int(self.phase.max())


def read_messages(path: Path, data: bytes) -> MessageFile:
    """Parse messages in the format of the content; raises InputFileError, with line and column."""
    is_table = data.startswith(b"PAR1") or path.suffix == ".parquet"
    rows, position = _read_parquet(data) if is_table else _read_csv(data)
    if not len(rows):
        raise InputFileError("no messages", "write one line per message")
    for column, name in enumerate(MESSAGE_COLUMNS):
        wrong = np.flatnonzero((rows[:, column] < 0) | (rows[:, column] > _LARGEST[name]))
        if len(wrong):
            remedy = f"write 0 to {_LARGEST[name]}"
            raise InputFileError("out of range", remedy, f"{position(wrong[0])} ({name})", int(rows[wrong[0], column]))
    total = float(rows[:, 3].sum(dtype=np.float64))
    if total > MAX_TRAFFIC_BYTES:
        raise InputFileError("too many bytes in total", f"use at most {MAX_TRAFFIC_BYTES}", "", total)
    return MessageFile(*(np.ascontiguousarray(column) for column in rows.T))


def _read_csv(data: bytes) -> tuple[Ints, Positions]:
    rows = input_files.numbered_csv_rows(data)
    line, head = next(rows, (1, []))
    input_files.check_columns(line, head, MESSAGE_COLUMNS)
    _check_columns(head, position_text(line))
    columns = [(name, head.index(name) + 1) for name in MESSAGE_COLUMNS]
    messages, lines = [], []
    for line, row in rows:
        input_files.check_width(line, row, head)
        lines.append(line)
        cells = [(row[column - 1], (line, column, name)) for name, column in columns]
        messages.append([whole(cell, -(2**62), 2**62 + 1, where) for cell, where in cells])
    return np.array(messages, dtype=np.int64).reshape(-1, 4), lambda index: f"line {lines[index]}"


def _check_columns(names: list[str], where: str) -> None:
    missing = [name for name in MESSAGE_COLUMNS if name not in names]
    if missing:
        raise InputFileError(f"missing column {missing[0]}", f"use the columns {', '.join(MESSAGE_COLUMNS)}", where)


def _read_parquet(data: bytes) -> tuple[Ints, Positions]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # A damaged column ends the process where others are read beside it.
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True, pre_buffer=False)
        names = file.schema_arrow.names
        _check_columns(names, "")
        if file.metadata.num_rows > MAX_ROWS:
            raise InputFileError("too many messages", f"use at most {MAX_ROWS:,}", "", file.metadata.num_rows)
        table = file.read([name for name in (*MESSAGE_COLUMNS, "job") if name in names], use_threads=False)
        if "job" in names and len(table["job"].unique()) > 1:
            raise InputFileError("messages of several jobs", "use those of one", "column job")
        for name in MESSAGE_COLUMNS:
            if not pa.types.is_integer(table[name].type) or table[name].null_count:
                contents = f"{table[name].type} with {table[name].null_count} missing"
                raise InputFileError("not all integers", "use integers", f"column {name}", contents)
        columns = [table[name].cast(pa.int64()).to_numpy() for name in MESSAGE_COLUMNS]
    except InputFileError:
        raise
    except (pa.ArrowException, OSError, LookupError, ValueError) as error:
        raise InputFileError(f"not Parquet: {error}", "write it with pandas.DataFrame.to_parquet") from None
    return np.stack(columns, axis=1), lambda index: f"row {index + 1}"


class MessageList(TrafficFile, Pattern, kind="messages"):
    """The messages listed in a file, by phase; a rank sends those of a phase in the order of the file.

    A CSV (.csv) or Parquet (.parquet) file has the columns phase, source, destination and bytes; phases and ranks
    are numbered from 0. The job has one rank more than the largest number. The point contains the digest of the file.
    """

    iterations: Whole = Field(1, ge=1, le=1_000_000, description="number of consecutive repetitions of the list")
    listed_ranks: SkipJsonSchema[Whole] = 0
    messages: SkipJsonSchema[Whole] = 0
    empty_messages: SkipJsonSchema[Whole] = 0
    total_bytes: SkipJsonSchema[Whole] = 0
    phases: SkipJsonSchema[Whole] = 1

    READER = staticmethod(read_messages)

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        return {
            "listed_ranks": content.ranks,
            "messages": len(content.phase),
            "empty_messages": int((content.size_bytes == 0).sum()),
            "total_bytes": int(content.size_bytes.sum()),
            "phases": content.phases,
        }

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the empty messages, and the others by their mean size."""
        others = self.messages - self.empty_messages
        counts = ((others, self.total_bytes // max(1, others)), (self.empty_messages, 0))
        return tuple(
            TrafficEstimate(count * float(self.iterations), size, self.phases) for count, size in counts if count
        )

    def check_ranks(self, ranks: int) -> None:
        self.check_listed_ranks(self.listed_ranks, f"the file has messages of {self.listed_ranks} ranks", ranks)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        return repeat(self.listed(), self.iterations)
