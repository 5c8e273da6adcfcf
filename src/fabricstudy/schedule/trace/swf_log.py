"""Logs in the standard workload format: lines of 18 fields, and comments that begin with a semicolon.

Chapin et al.: Benchmarks and standards for the evaluation of parallel job schedulers, JSSPP 1999.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.core.errors import Code
from fabricstudy.core.input_files import split_lines
from fabricstudy.core.model import ConfigError

from ..jobs import Jobs
from ..result import ScheduleResult

FIELDS = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time",
)  # fmt: skip


class SwfField(IntEnum):
    """Fields that are read, counted from 1 as in the format's definition."""

    JOB = 1
    SUBMIT = 2
    RUN = 4
    ALLOCATED = 5
    PROCESSORS = 8
    REQUEST = 9
    STATUS = 11
    EXECUTABLE = 14
    QUEUE = 15


_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_HEADER = re.compile(r";\s*(\w+):\s*(\d{1,15})\b")


@dataclass(frozen=True, eq=False)
class Log:
    """The lines of a log."""

    file: str
    """Its name, for messages."""
    header: dict[str, tuple[int, int]]
    """Whole numbers of the header by name, each with its line."""
    line: Ints
    fields: Floats
    """Line of each job in the file, from 1, and its numbers; int64 [jobs] and float64 [jobs, 18]."""
    numbered: bool = True
    """Whether the fields are columns of the file."""

    def column(self, field: SwfField) -> Floats:
        """Return a field of all jobs."""
        return self.fields[:, field - 1]

    def only(self, chosen: Bools) -> Log:
        """Return the chosen jobs."""
        return replace(self, line=self.line[chosen], fields=self.fields[chosen])

    def refusal(self, job: int, field: SwfField, problem: str, remedy: str, code: Code) -> ConfigError:
        """Return the error about a field of a job."""
        value = self.fields[job, field - 1]
        found = refusal(self.file, int(self.line[job]), field, problem, value, remedy, code)
        return found if self.numbered else found.changed(keys=(f"line {self.line[job]} ({FIELDS[field - 1]})",))


def refusal(
    file: str, line: int, column: int | None, problem: str, value: object, remedy: str, code: Code
) -> ConfigError:
    """Return the error about a field of a log, or about a line without a column; columns count fields from 1."""
    at = f"line {line}" + ("" if column is None else f", column {column} ({FIELDS[column - 1]})")
    plain = value
    if isinstance(value, float):  # numbers of numpy are printed with their type
        plain = int(value) if value.is_integer() and abs(value) < 2**63 else float(value)
    return ConfigError(problem, remedy, (at,), plain, code, file=file)


def read_swf(text: str, file: str) -> Log:
    """Read a log. Raises ConfigError with line and column unless each line is 18 numbers."""
    header: dict[str, tuple[int, int]] = {}
    numbers, values = array("q"), array("d")
    for number, line in enumerate(split_lines(text), start=1):
        if line.startswith(";"):
            if found := _HEADER.match(line):
                header[found[1]] = (int(found[2]), number)
        elif words := line.split(maxsplit=len(FIELDS)):
            if len(words) != len(FIELDS) or not all(map(_NUMBER.fullmatch, words)):
                raise _mistake(words, file, number)
            numbers.append(number)
            values.extend(map(float, words))
    return Log(file, header, np.array(numbers, dtype=np.int64), np.array(values).reshape(-1, len(FIELDS)))


def _mistake(words: list[str], file: str, line: int) -> ConfigError:
    """Return the error about the first field that is no number, or about the number of fields."""
    for column, word in enumerate(words[: len(FIELDS)], start=1):
        if _NUMBER.fullmatch(word) is None:
            remedy = "write a number, or -1 if unknown"
            return refusal(file, line, column, "this field is not a number", word, remedy, "invalid-trace")
    problem = f"{'more' if len(words) > len(FIELDS) else 'fewer'} than {len(FIELDS)} fields"
    remedy = f"write the {len(FIELDS)} fields of the standard workload format in each line"
    return refusal(file, line, None, problem, " ".join(words)[:60], remedy, "invalid-trace")


def swf_text(jobs: Jobs, scheduled: ScheduleResult | None = None) -> str:
    """Return jobs in the standard workload format, with nodes as processors.

    Without a schedule, reading the text results in equal jobs. With one, wait (field 3), run time, processors and
    partition (field 16, from 1) are those of the schedule; a rejected job has status 5, and neither wait nor partition.

    Examples
    --------
    >>> print(swf_text(Jobs.of([0.5], [60], [90], [512])), end="")
    ; Version: 2.2
    ; MaxJobs: 1
    1 0.5 -1 60 512 -1 -1 512 90 -1 1 -1 -1 -1 -1 -1 -1 -1
    """
    unknown = np.full(len(jobs), -1)
    wait, run, processors, partition = unknown, jobs.runtime_s, jobs.nodes, unknown
    status = np.ones(len(jobs), dtype=np.int64)
    if scheduled is not None:
        ran = scheduled.ran
        wait = np.where(ran, scheduled.start_s - jobs.submit_s, -1)
        run = np.where(ran, scheduled.end_s - scheduled.start_s, -1)
        processors = np.where(ran, scheduled.class_nodes, -1)
        partition = np.where(ran, scheduled.partition + 1, -1)
        status = np.where(ran, 1, 5)
    columns = (
        jobs.number, jobs.submit_s, wait, run, processors, unknown, unknown, jobs.nodes, jobs.request_s, unknown,
        status, unknown, unknown, jobs.executable, jobs.queue, partition, unknown, unknown,
    )  # fmt: skip
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = [" ".join(map(_plain, row)) for row in rows]
    return "\n".join(["; Version: 2.2", f"; MaxJobs: {len(jobs)}", *lines, ""])


def _plain(number: float) -> str:
    return str(int(number)) if isinstance(number, int) or number.is_integer() else repr(number)
