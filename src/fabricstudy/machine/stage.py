"""Digest of the code that builds a machine."""

from __future__ import annotations

from fabricstudy.core.source import digest_of, imported
from fabricstudy.machine.base import Topology


def machine_code(config: Topology) -> str:
    """Digest of the code that builds a machine, and of what keeps it."""
    return digest_of(imported(type(config).__module__) | {__name__})
