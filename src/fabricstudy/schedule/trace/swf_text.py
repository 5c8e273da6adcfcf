"""The standard workload format as text: lines of 18 fields, and comments that begin with a semicolon.

Chapin et al.: Benchmarks and standards for the evaluation of parallel job schedulers, JSSPP 1999.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.core.errors import Code, StudyError
from fabricstudy.core.input_files import split_lines

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


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_HEADER = re.compile(r";\s*(\w+):\s*(\d{1,15})\b")

MAX_LINE_CHARACTERS = 10_000
MIN_LINE_CHARACTERS = 2 * len(FIELDS) - 1
"""Characters of a line: 18 numbers need some hundred, and at least a digit each."""


@dataclass(frozen=True, eq=False)
class Log:
    """The lines of a log.

    Parameters
    ----------
    file : str
        Its name, for messages.
    header : dict
        Whole numbers of the header by name, each with its line.
    line : int64 array [jobs]
        Line of each job in the file, from 1.
    fields : float64 array [jobs, 18]
        Numbers of the line.
    """

    file: str
    header: dict[str, tuple[int, int]]
    line: Ints
    fields: Floats

    def column(self, field: SwfField) -> Floats:
        """Return a field of all jobs."""
        return self.fields[:, field - 1]

    def only(self, chosen: Bools) -> Log:
        """Return the chosen jobs."""
        return Log(self.file, self.header, self.line[chosen], self.fields[chosen])

    def refusal(self, job: int, field: SwfField, problem: str, remedy: str, code: Code) -> StudyError:
        """Return the error about a field of a job."""
        return refusal(self.file, int(self.line[job]), field, problem, self.fields[job, field - 1], remedy, code)


def refusal(
    file: str, line: int, column: int | None, problem: str, value: object, remedy: str, code: Code
) -> StudyError:
    """Return the error about a field of a log, or about a line without a column; columns count fields from 1."""
    at = f"line {line}" + ("" if column is None else f", column {column} ({FIELDS[column - 1]})")
    plain = value
    if isinstance(value, float):  # numbers of numpy are printed with their type
        plain = int(value) if value.is_integer() and abs(value) < 2**63 else float(value)
    return StudyError(problem, remedy, file, at, plain, code)


def read_swf(text: str, file: str) -> Log:
    """Read a log. Raises StudyError with line and column unless each line is 18 numbers."""
    header: dict[str, tuple[int, int]] = {}
    numbers, lines = [], []
    for number, line in enumerate(split_lines(text), start=1):
        if line.startswith(";"):
            match = _HEADER.match(line)
            if match:
                header[match[1]] = (int(match[2]), number)
        elif len(line) > MAX_LINE_CHARACTERS:
            problem, remedy = f"a line of {len(line):,} characters", "use a log in the standard workload format"
            raise refusal(file, number, None, problem, line[:60], remedy, "invalid-trace")
        elif content := line.strip():
            if len(content) < MIN_LINE_CHARACTERS:  # refused before millions of them are stored
                _slow_table([line], [number], file)
            numbers.append(number)
            lines.append(line)
    try:
        fields = np.loadtxt(lines, dtype=np.float64, comments=None, ndmin=2) if lines else np.empty((0, len(FIELDS)))
    except ValueError:
        fields = np.empty(0)
    if fields.shape != (len(lines), len(FIELDS)) or not np.isfinite(fields).all():
        fields = _slow_table(lines, numbers, file)
    return Log(file, header, np.array(numbers, dtype=np.int64), fields)


def _slow_table(lines: Sequence[str], numbers: Sequence[int], file: str) -> Floats:
    """Read line by line, up to the first that is not 18 numbers."""
    fields = np.empty((len(lines), len(FIELDS)))
    for row, (line, number) in enumerate(zip(lines, numbers, strict=True)):
        words = line.split()
        for column, word in enumerate(words[: len(FIELDS)], start=1):
            if _NUMBER.fullmatch(word) is None or not np.isfinite(float(word)):
                remedy = "write a number, or -1 if unknown"
                raise refusal(file, number, column, "this field is not a number", word, remedy, "invalid-trace")
        if len(words) != len(FIELDS):
            problem, text = f"a line of {len(words)} fields", line.strip()[:60]
            remedy = f"write the {len(FIELDS)} fields of the standard workload format in each line"
            raise refusal(file, number, None, problem, text, remedy, "invalid-trace")
        fields[row] = [float(word) for word in words]
    return fields


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
