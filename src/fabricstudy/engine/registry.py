"""The engines by name: their settings in a study, and their adapters."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from fabricstudy.core.kinds import Kind

from .contract import Engine
from .settings import EngineSettings

_ADAPTERS: dict[type[Kind], Callable[[], Engine]] = {}

E = TypeVar("E", bound=Callable[[], Engine])


def adapter_of(settings: type[EngineSettings]) -> Callable[[E], E]:
    """Decorate a class to register it as the adapter of the engine with these settings."""

    def register(adapter: E) -> E:
        _ADAPTERS[settings] = adapter
        return adapter

    return register


@cache
def engine_named(name: str) -> Engine:
    """Return the engine with a name; raise `KeyError` if there is none."""
    settings = EngineSettings.FAMILY.find(name)
    if settings is None:
        raise KeyError(name)
    return _ADAPTERS[settings]()


def engines() -> dict[str, Engine]:
    """Return all engines by name."""
    return {name: engine_named(name) for name in EngineSettings.FAMILY.kinds}
