"""The engines by name: what a study says about each, and the adapter that runs it."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from fabricstudy.core.kinds import Kind

from .contract import Engine
from .settings import EngineSettings

_ADAPTERS: dict[type[Kind], Callable[[], Engine]] = {}

E = TypeVar("E", bound=Callable[[], Engine])


def adapter_of(settings: type[EngineSettings]) -> Callable[[E], E]:
    """Make a class the adapter of the engine with these settings; to be put above it."""

    def noted(adapter: E) -> E:
        _ADAPTERS[settings] = adapter
        return adapter

    return noted


@cache
def engine_named(name: str) -> Engine:
    """Return the engine of a name that studies know."""
    settings = EngineSettings.FAMILY.find(name)
    if settings is None:
        raise KeyError(name)
    return _ADAPTERS[settings]()


def engines() -> dict[str, Engine]:
    """Return all engines by name."""
    return {name: engine_named(name) for name in EngineSettings.FAMILY.kinds}
