"""Digest of the code that builds a machine."""

from fabricstudy.core.kinds import kinds_within
from fabricstudy.core.source import code_digest
from fabricstudy.machine.base import Topology


def machine_code(config: Topology) -> str:
    """Return the digest of the code that builds a machine, and writes and reads its definition."""
    return code_digest(*{type(kind).__module__ for kind in kinds_within(config)}, "fabricstudy.machine.definitions")
