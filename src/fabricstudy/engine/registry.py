"""The engines by name."""

from __future__ import annotations

from functools import cache

from .analysis import Analysis
from .caminos import Caminos
from .codes import Codes
from .contract import Engine
from .sst import Sst

# One line an engine.
ENGINES: dict[str, type[Engine]] = {"caminos": Caminos, "sst": Sst, "codes": Codes, "analysis": Analysis}


@cache
def engine_named(name: str) -> Engine:
    """Give the engine of a name that the study's models know."""
    return ENGINES[name]()
