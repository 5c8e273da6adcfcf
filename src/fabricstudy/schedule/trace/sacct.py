"""Jobs of Slurm's accounting: what ``sacct --parsable2`` prints, read as a log of the standard workload format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

import numpy as np

from fabricstudy.core.input_files import split_lines
from fabricstudy.core.model import ConfigError

from .swf import Swf
from .swf_log import FIELDS, Log, SwfField, refusal

COMMAND = "sacct --allusers --allocations --parsable2 --format=JobID,Submit,Start,End,NNodes,NCPUS,Timelimit,State"

_SAME = {"jobidraw": "jobid", "alloccpus": "ncpus", "reqcpus": "ncpus", "allocnodes": "nnodes", "reqnodes": "nnodes"}
"""Columns that replace another one; of several, the first one is read."""

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?", re.ASCII)
_DURATION = re.compile(r"(?:(\d{1,6})-)?(\d{1,7}):(\d\d)(?::(\d\d)(?:\.\d+)?)?", re.ASCII)
_NO_LIMIT = ("", "UNLIMITED", "Partition_Limit", "INVALID")
_NO_MOMENT = ("", "Unknown", "None")
_UNFINISHED = ("PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING")


class Sacct(Swf, kind="sacct"):
    """Jobs as Slurm's accounting lists them, compressed by gzip or not: the output of `sacct --parsable2`.

    It needs the columns JobID, Submit, Start and End (or Elapsed), NNodes or NCPUS, and may have Timelimit and State,
    in any order; others have no effect, nor do the lines of job steps. Jobs that have not ended are dropped. With
    `cores_per_node`, sizes are those of NCPUS. Times count from the first submission.
    """

    def _parse(self, text: str) -> Log:
        return read_sacct(text, self.file, self.cores_per_node is not None)


def read_sacct(text: str, file: str, by_processors: bool = False) -> Log:
    """Read the output of sacct; sizes are processors or nodes. Raises ConfigError with the line."""
    lines = [(number, line.rstrip("\r")) for number, line in enumerate(split_lines(text), 1) if line.strip()]
    (first, head), *rows = lines or [(1, "")]
    columns = _columns(head, file, first, by_processors)
    known, jobs, numbers, ids = len(head.split("|")), list[list[float]](), list[int](), dict[str, int]()
    for number, line in rows:
        # --parsable ends each line with a bar; published logs have it in the first one alone, too.
        line += "|" * (head.endswith("|") and not line.endswith("|"))
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != known:
            problem = f"{len(cells)} cells in a table of {known} columns"
            raise refusal(file, number, None, problem, line[:60], f"use {COMMAND}", "invalid-trace")
        cell = {name: cells[column] for name, column in columns.items()}
        if "." in cell["jobid"]:
            continue  # a step
        if cell["jobid"] in ids:
            problem = f"duplicate job number, already used in line {ids[cell['jobid']]}"
            raise refusal(file, number, None, problem, cell["jobid"], "leave out --duplicates", "duplicate")
        ids[cell["jobid"]] = number
        jobs.append(_fields(cell, file, number, len(ids), by_processors))
        numbers.append(number)
    fields = np.array(jobs, dtype=np.float64).reshape(-1, len(FIELDS))
    submit_s = fields[:, SwfField.SUBMIT - 1]
    order = np.argsort(submit_s, kind="stable")
    submit_s -= submit_s.min(initial=np.inf) if len(submit_s) else 0
    return Log(file, {}, np.array(numbers, dtype=np.int64)[order], fields[order], numbered=False)


def _columns(head: str, file: str, line: int, by_processors: bool) -> dict[str, int]:
    """Return the columns that are read."""
    columns: dict[str, int] = {}
    for column, name in enumerate(head.split("|")):
        word = name.strip().lower()
        columns.setdefault(word, column)
        columns.setdefault(_SAME.get(word, word), column)
    needed = ["jobid", "submit", "ncpus" if by_processors else "nnodes"]
    needed += [] if {"elapsed", "elapsedraw"} & set(columns) else ["start", "end"]
    if missing := [name for name in needed if name not in columns]:
        sizes = {"ncpus": "leave out `cores_per_node`", "nnodes": "write `cores_per_node`"}
        both = {"ncpus", "nnodes"} & set(columns) and missing[0] in sizes
        remedy = f"{sizes[missing[0]]}, or use {COMMAND}" if both else f"use {COMMAND}"
        raise refusal(file, line, None, f"no column {missing[0]}", head[:60], remedy, "invalid-trace")
    return columns


def _fields(cell: Mapping[str, str], file: str, line: int, number: int, by_processors: bool) -> list[float]:
    """Return a job in the fields of the standard workload format; unknown numbers are -1."""

    def wrong(name: str, remedy: str) -> ConfigError:
        return refusal(file, line, None, f"{name} is not what sacct prints", cell[name][:60], remedy, "invalid-trace")

    def moment_s(name: str) -> float | None:
        if cell[name] in _NO_MOMENT:
            return None
        try:
            if _MOMENT.fullmatch(cell[name]) is None:
                raise ValueError
            return (datetime.fromisoformat(cell[name]) - datetime(1970, 1, 1)).total_seconds()
        except ValueError:
            raise wrong(name, "write it like 2026-01-31T23:59:00; unset SLURM_TIME_FORMAT") from None

    def duration_s(name: str) -> float:
        found = _DURATION.fullmatch(cell[name])
        # Without days, two numbers are minutes and seconds for Slurm, and hours and minutes for others.
        if found is None or (found[1] is None and found[4] is None):
            raise wrong(name, "write it like 1-12:00:00")
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return float(((24 * days + hours) * 60 + minutes) * 60 + seconds)

    def whole(name: str, unit: int = 1) -> float:
        if re.fullmatch(r"\d{1,15}", cell[name], re.ASCII) is None:
            raise wrong(name, "write digits")
        return float(int(cell[name]) * unit)

    submit_s = moment_s("submit")
    if submit_s is None:
        raise wrong("submit", "leave the job out")
    start_s, end_s = (moment_s(name) if name in cell else None for name in ("start", "end"))
    if cell.get("state", "").split(" ")[0] in _UNFINISHED:
        run_s = -1.0
    elif "elapsedraw" in cell or "elapsed" in cell:
        run_s = whole("elapsedraw") if "elapsedraw" in cell else duration_s("elapsed")
    else:
        run_s = -1.0 if start_s is None or end_s is None else end_s - start_s
    limit_s = -1.0
    if "timelimitraw" in cell and cell["timelimitraw"] not in _NO_LIMIT:
        limit_s = whole("timelimitraw", 60)
    elif "timelimitraw" not in cell and cell.get("timelimit", "") not in _NO_LIMIT:
        limit_s = duration_s("timelimit")
    size = whole("ncpus" if by_processors else "nnodes")
    fields = dict.fromkeys(range(1, len(FIELDS) + 1), -1.0) | {
        SwfField.JOB: whole("jobid") if cell["jobid"].isdigit() else float(2**50 + number), SwfField.SUBMIT: submit_s,
        SwfField.RUN: run_s, SwfField.ALLOCATED: size, SwfField.PROCESSORS: size, SwfField.REQUEST: limit_s,
        SwfField.STATUS: 1.0,
    }  # fmt: skip
    return list(fields.values())
