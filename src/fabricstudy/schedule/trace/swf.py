"""Logs in the standard workload format: lines of 18 fields, and comments that begin with a semicolon.

Chapin et al.: Benchmarks and standards for the evaluation of parallel job schedulers, JSSPP 1999.
"""

from __future__ import annotations

import hashlib
import math
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pydantic

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.core.errors import Code
from fabricstudy.core.input_files import InputFileError, changed_ns, read_bytes, split_lines, unpacked
from fabricstudy.core.model import ConfigError, Whole, model_check
from fabricstudy.core.quantities import Moment

from ..jobs import Jobs
from ..result import ScheduleResult
from .base import OfferedLoad, Trace, stretched

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


TOO_LARGE = "use a larger machine, or write `cores_per_node`, or `too_large: reject`"

_MOST, _LONGEST_S = 2.0**53, 100_000 * 86_400.0
_TIMES = {SwfField.SUBMIT, SwfField.RUN, SwfField.REQUEST}
_WHOLE = {SwfField.JOB, SwfField.EXECUTABLE, SwfField.QUEUE}

# Control characters, which text does not contain.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")


class Swf(Trace, kind="swf"):
    """A log in the standard workload format, compressed by gzip or not.

    Each line has 18 fields; lines that begin with `;` are the header or comments (Chapin et al.: Benchmarks and
    standards for the evaluation of parallel job schedulers, JSSPP 1999; https://www.cs.huji.ac.il/labs/parallel/workload/).
    """

    is_drawn = False
    file: str = pydantic.Field(min_length=1, description="the file, relative to the study's folder")
    from_s: Moment = pydantic.Field("0 s", alias="from", validate_default=True, description="first time of submission")
    to_s: Moment | None = pydantic.Field(None, alias="to", description="time of submission at which the part ends")
    cores_per_node: Annotated[Whole, pydantic.Field(ge=1, le=10_000)] | None = pydantic.Field(
        None, description="processors of the log for each node of the machine; default: 1, if the header agrees"
    )
    load: OfferedLoad | None = pydantic.Field(
        None, description="requested node-seconds over those of the machine, by scaling the times between arrivals"
    )
    too_large: Literal["refuse", "reject"] = pydantic.Field(
        "refuse", description="how jobs larger than the machine are treated"
    )
    sha256: Annotated[str, pydantic.Field(pattern="^[0-9a-f]{64}$")] | None = pydantic.Field(
        None, description="SHA-256 of the file; another file is refused"
    )

    @model_check
    def _in_order(self) -> None:
        if self.to_s is not None and self.to_s <= self.from_s:
            remedy = "write a time after `from`"
            raise ConfigError("an empty part of the log", remedy, ("to",), self.to_s, code="out-of-range")

    def digest(self, folder: Path) -> str:
        return self._read(folder)[1]

    def jobs(self, machine_nodes: int, block_nodes: int, seed: int, folder: Path) -> Jobs:
        """Read the jobs; count repaired irregularities, and refuse mistakes with their line and column."""
        log, sha256 = self._read(folder)
        if self.sha256 is not None and sha256 != self.sha256:
            remedy = "use the intended file, or correct `sha256`"
            raise ConfigError("the file does not have this `sha256`", remedy, code="invalid-trace", file=self.file)
        cores_per_node = self._cores(log, machine_nodes)
        repairs: dict[str, int] = {}
        is_part, number = np.isin(log.column(SwfField.STATUS), (2, 3, 4)), log.column(SwfField.JOB)
        # Parts of preempted jobs that are summed up in another line.
        summed_up = is_part & np.isin(number, number[np.isin(log.column(SwfField.STATUS), (0, 1))])
        _count(repairs, "partial_records", summed_up)
        log = log.only(~summed_up)
        _check_numbers(log)
        _check_times(log, repairs)
        submit_s = log.column(SwfField.SUBMIT)
        log = log.only((submit_s >= self.from_s) & (submit_s < (math.inf if self.to_s is None else self.to_s)))
        # Jobs without run time or processors were cancelled before they started.
        idle = log.column(SwfField.RUN) <= 0
        nowhere = ~idle & (np.maximum(log.column(SwfField.PROCESSORS), log.column(SwfField.ALLOCATED)) <= 0)
        _count(repairs, "no_runtime", idle)
        _count(repairs, "no_processors", nowhere)
        log = log.only(~(idle | nowhere))
        if not len(log.line):
            raise ConfigError("no job is left", "use another part of the trace", code="invalid-trace", file=self.file)
        nodes = self._nodes(log, cores_per_node, machine_nodes, repairs)
        submit_s, runtime_s = log.column(SwfField.SUBMIT), log.column(SwfField.RUN)
        if self.load is not None:
            submit_s = stretched(submit_s, float((nodes * runtime_s).sum()), machine_nodes, self.load)
        asked_s = log.column(SwfField.REQUEST)
        _count(repairs, "no_request", asked_s <= 0)
        _count(repairs, "overran", (asked_s > 0) & (runtime_s > asked_s))
        request_s = np.where(asked_s > 0, asked_s, runtime_s)
        number, executable, queue = map(log.column, (SwfField.JOB, SwfField.EXECUTABLE, SwfField.QUEUE))
        return Jobs.of(submit_s, runtime_s, request_s, nodes, number, executable, queue, repairs)

    def _read(self, folder: Path) -> tuple[Log, str]:
        """Return the lines of the file and its SHA-256."""
        path = folder / self.file
        try:
            return _read_log(path, changed_ns(path), self._parse)
        except InputFileError as mistake:
            raise mistake.changed(problem=f"the log: {mistake.problem}", file=self.file) from None

    def _parse(self, text: str) -> Log:
        if re.match(r"(?i)[a-z|]*jobid[a-z]*\|", text):
            raise ConfigError("the output of sacct", "write kind: sacct", ("trace", "kind"), code="invalid-trace")
        return read_swf(text, self.file)

    def _cores(self, log: Log, machine_nodes: int) -> int:
        """Return the processors of a node."""
        nodes, processors = log.header.get("MaxNodes"), log.header.get("MaxProcs")
        if self.cores_per_node is None and nodes and processors and nodes[0] != processors[0]:
            problem = f"a machine of {nodes[0]} nodes and {processors[0]} processors"
            remedy = f"write `cores_per_node`, such as {max(processors[0] // max(nodes[0], 1), 1)}"
            raise refusal(self.file, processors[1], None, problem, processors[0], remedy, "invalid-trace")
        cores = self.cores_per_node or 1
        if processors and processors[0] > machine_nodes * cores and self.too_large == "refuse":
            problem = f"the log's machine has more processors than the {machine_nodes * cores} of this one"
            raise refusal(self.file, processors[1], None, problem, processors[0], TOO_LARGE, "invalid-trace")
        return cores

    def _nodes(self, log: Log, cores_per_node: int, machine_nodes: int, repairs: dict[str, int]) -> Ints:
        """Return the nodes of each job: the requested ones, or the allocated ones if the request is unknown."""
        requested, allocated = log.column(SwfField.PROCESSORS), log.column(SwfField.ALLOCATED)
        _count(repairs, "allocated_otherwise", (requested > 0) & (allocated > 0) & (requested != allocated))
        _count(repairs, "no_requested_processors", requested <= 0)
        nodes = np.ceil(np.where(requested > 0, requested, allocated) / cores_per_node).astype(np.int64)
        large = np.flatnonzero(nodes > machine_nodes)
        if len(large) and self.too_large == "refuse":
            problem = f"the job needs {nodes[large[0]]} nodes, and the machine has {machine_nodes}"
            field = SwfField.PROCESSORS if requested[large[0]] > 0 else SwfField.ALLOCATED
            raise log.refusal(large[0], field, problem, TOO_LARGE, "invalid-trace")
        _count(repairs, "too_large", nodes > machine_nodes)
        return nodes


@lru_cache(maxsize=4)
def _read_log(path: Path, changed_ns: int, parse: Callable[[str], Log]) -> tuple[Log, str]:
    content = read_bytes(path)
    log = parse(_text(content))
    _check_ranges(log)
    return log, hashlib.sha256(content).hexdigest()


def _text(content: bytes) -> str:
    content = unpacked(content)
    if _NO_TEXT.search(content):
        remedy = "use a log in the standard workload format, as text or compressed by gzip"
        raise InputFileError("not a text file", remedy, code="file-unreadable")
    # Names in headers have any encoding; all else is ASCII.
    return content.removeprefix(BOM_UTF8).decode("latin-1").replace("\r\n", "\n")


def _check_ranges(log: Log) -> None:
    """Refuse values outside the ranges of their fields."""
    for field in (field for field in SwfField if field is not SwfField.STATUS):
        least, most = 0.0 if field is SwfField.JOB else -_MOST, _LONGEST_S if field in _TIMES else _MOST
        values = log.column(field)
        wrong = ~((values >= least) & (values <= most))
        if field in _WHOLE:
            wrong |= values != np.rint(values)
        if wrong.any():
            kind = "whole number" if field in _WHOLE else "number"
            problem, remedy = f"not a possible {kind}", f"write one from {least:.0f} to {most:.0f}"
            raise log.refusal(int(np.argmax(wrong)), field, problem, remedy, "invalid-trace")


def _count(repairs: dict[str, int], name: str, rows: Bools) -> None:
    """Record the number of occurrences, if there are any."""
    if rows.any():
        repairs[name] = int(rows.sum())


def _check_numbers(log: Log) -> None:
    """Refuse duplicate job numbers."""
    number = log.column(SwfField.JOB)
    _, first, distinct = np.unique(number, return_index=True, return_inverse=True)
    duplicates = np.flatnonzero(first[distinct] != np.arange(len(number)))
    if len(duplicates):
        problem = f"duplicate job number, already used in line {log.line[first[distinct[duplicates[0]]]]}"
        raise log.refusal(duplicates[0], SwfField.JOB, problem, "use distinct numbers", "duplicate")


def _check_times(log: Log, repairs: dict[str, int]) -> None:
    """Refuse times of submission that are negative, or earlier than a previous one by more than a second."""
    submit_s = log.column(SwfField.SUBMIT)
    negative = np.flatnonzero(submit_s < 0)
    if len(negative):
        problem, remedy = "a negative time of submission", "count seconds from the start of the log"
        raise log.refusal(negative[0], SwfField.SUBMIT, problem, remedy, "invalid-trace")
    back_s = np.maximum.accumulate(submit_s) - submit_s if len(submit_s) else submit_s
    far = np.flatnonzero(back_s > 1)
    if len(far):
        problem = f"submitted {back_s[far[0]]:g} s before a job in an earlier line"
        raise log.refusal(far[0], SwfField.SUBMIT, problem, "sort the lines by their submit time", "invalid-trace")
    _count(repairs, "out_of_order", back_s > 0)
