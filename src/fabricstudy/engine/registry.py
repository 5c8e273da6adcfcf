"""The engines by name."""

from __future__ import annotations

from functools import cache

from .contract import Engine
from .settings import EngineSettings


@cache
def engine_named(name: str) -> Engine:
    """Give the engine of a name that studies know."""
    settings = EngineSettings.FAMILY.members[name]
    assert issubclass(settings, EngineSettings)
    return settings.adapter()


def engines() -> dict[str, Engine]:
    """Give all engines by name."""
    return {name: engine_named(name) for name in EngineSettings.FAMILY.kinds}
