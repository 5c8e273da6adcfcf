"""Whether a record was made by the code that is here."""

from __future__ import annotations

from functools import cache

from fabricstudy.store import Record

from .registry import engine_named
from .simulate import fingerprint


def made_by_other_code(record: Record) -> bool:
    """Say whether our own code has changed since a record was made, so that it may be wrong.

    Snakemake sees that by itself unless it has lost its memory, as when ``results`` was copied without ``.snakemake``.
    Programs are left out: those of compute nodes may be others than that of the node where tables are made.
    """
    return _own_code(record["fingerprint"]) != _own_code(_mark(record["engine"]))


@cache
def _mark(kind: str) -> str:
    return fingerprint(engine_named(kind))


def _own_code(mark: str) -> list[str]:
    """Give the digests of the stages and of the adapter; what follows tells the program."""
    return mark.split("-")[:2]
