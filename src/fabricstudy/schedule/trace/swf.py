"""Jobs of a log in the standard workload format, with repairs of what is odd in it."""

from __future__ import annotations

import hashlib
import math
import re
from codecs import BOM_UTF8
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pydantic

from fabricstudy.core.arrays import Bools, Ints
from fabricstudy.core.input_files import InputFileError, changed_ns, read_bytes, unpacked
from fabricstudy.core.model import ConfigError, Whole, model_check
from fabricstudy.core.quantities import Moment

from ..jobs import Jobs
from .base import OfferedLoad, Trace, stretched
from .swf_log import Log, SwfField, read_swf, refusal

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
        "refuse", description="jobs larger than the machine. refuse: an error; reject: counted as rejected"
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
        found: dict[str, Bools] = {}
        is_part, number = np.isin(log.column(SwfField.STATUS), (2, 3, 4)), log.column(SwfField.JOB)
        # Parts of preempted jobs that are summed up in another line.
        summed_up = is_part & np.isin(number, number[np.isin(log.column(SwfField.STATUS), (0, 1))])
        found["partial_records"] = summed_up
        log = log.only(~summed_up)
        _check_numbers(log)
        found["out_of_order"] = _check_times(log)
        submit_s = log.column(SwfField.SUBMIT)
        log = log.only((submit_s >= self.from_s) & (submit_s < (math.inf if self.to_s is None else self.to_s)))
        # Jobs without run time or processors were cancelled before they started.
        idle = log.column(SwfField.RUN) <= 0
        nowhere = ~idle & (np.maximum(log.column(SwfField.PROCESSORS), log.column(SwfField.ALLOCATED)) <= 0)
        found["no_runtime"], found["no_processors"] = idle, nowhere
        log = log.only(~(idle | nowhere))
        if not len(log.line):
            raise ConfigError("no job is left", "use another part of the trace", code="invalid-trace", file=self.file)
        nodes = self._nodes(log, cores_per_node, machine_nodes, found)
        submit_s, runtime_s = log.column(SwfField.SUBMIT), log.column(SwfField.RUN)
        if self.load is not None:
            submit_s = stretched(submit_s, float((nodes * runtime_s).sum()), machine_nodes, self.load)
        asked_s = log.column(SwfField.REQUEST)
        found["no_request"], found["overran"] = asked_s <= 0, (asked_s > 0) & (runtime_s > asked_s)
        request_s = np.where(asked_s > 0, asked_s, runtime_s)
        repairs = {name: int(rows.sum()) for name, rows in found.items() if rows.any()}
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

    def _nodes(self, log: Log, cores_per_node: int, machine_nodes: int, found: dict[str, Bools]) -> Ints:
        """Return the nodes of each job: the requested ones, or the allocated ones if the request is unknown."""
        requested, allocated = log.column(SwfField.PROCESSORS), log.column(SwfField.ALLOCATED)
        found["allocated_otherwise"] = (requested > 0) & (allocated > 0) & (requested != allocated)
        found["no_requested_processors"] = requested <= 0
        nodes = np.ceil(np.where(requested > 0, requested, allocated) / cores_per_node).astype(np.int64)
        large = found["too_large"] = nodes > machine_nodes

        def problem(job: int) -> str:
            return f"the job needs {nodes[job]} nodes, and the machine has {machine_nodes}"

        if self.too_large == "refuse":
            log.check(large & (requested > 0), SwfField.PROCESSORS, problem, TOO_LARGE)
            log.check(large, SwfField.ALLOCATED, problem, TOO_LARGE)
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
        problem = f"not a possible {'whole number' if field in _WHOLE else 'number'}"
        log.check(wrong, field, problem, f"write one from {least:.0f} to {most:.0f}")


def _check_numbers(log: Log) -> None:
    """Refuse duplicate job numbers."""
    number = log.column(SwfField.JOB)
    _, first, distinct = np.unique(number, return_index=True, return_inverse=True)
    first_of = first[distinct]

    def problem(job: int) -> str:
        return f"duplicate job number, already used in line {log.line[first_of[job]]}"

    log.check(first_of != np.arange(len(number)), SwfField.JOB, problem, "use distinct numbers", "duplicate")


def _check_times(log: Log) -> Bools:
    """Return the jobs that are submitted before a previous one; refuse more than a second, and negative times."""
    submit_s = log.column(SwfField.SUBMIT)
    remedy = "count seconds from the start of the log"
    log.check(submit_s < 0, SwfField.SUBMIT, "a negative time of submission", remedy)
    back_s = np.maximum.accumulate(submit_s) - submit_s if len(submit_s) else submit_s

    def problem(job: int) -> str:
        return f"submitted {back_s[job]:g} s before a job in an earlier line"

    log.check(back_s > 1, SwfField.SUBMIT, problem, "sort the lines by their submit time")
    return back_s > 0
