"""Whether a record was made by the code and the program that are here."""

from __future__ import annotations

from functools import cache

from fabricstudy.store import Record

from .registry import engine_named
from .simulate import fingerprint, holds, stands


def is_current(record: Record) -> bool:
    """Say whether a record was made by this code, and by the program that is here, if one is."""
    return holds(record, *_here(record["engine"]))


def is_finished(record: Record | None) -> bool:
    """Say whether a point need not be simulated again."""
    return record is not None and stands(record, *_here(record["engine"]))


def made_by_other_code(record: Record) -> bool:
    """Say whether our own code has changed since a record was made, so that it may be wrong.

    Snakemake sees that by itself unless it has lost its memory, as when ``results`` was copied without ``.snakemake``.
    Programs are left out: those of compute nodes may be others than that of the node where tables are made.
    """
    mark, _ = _here(record["engine"])
    return not holds(record, mark, present=False)


@cache
def _here(kind: str) -> tuple[str, bool]:
    """Give an engine's fingerprint, and whether its program is here."""
    engine = engine_named(kind)
    return fingerprint(engine), engine.probe().found
