"""The engines by name: their settings in a study, and their adapters."""

from collections.abc import Callable, Iterable
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


def engine_of(settings: EngineSettings) -> Engine:
    """Return the engine with these settings."""
    return _adapter(type(settings))


@cache
def _adapter(settings: type[EngineSettings]) -> Engine:
    return _ADAPTERS[settings]()


def engine_named(name: str) -> Engine:
    """Return the engine with a name; raise `KeyError` if there is none."""
    settings = EngineSettings.FAMILY.find(name)
    if settings is None or not issubclass(settings, EngineSettings):
        raise KeyError(name)
    return _adapter(settings)


def engines() -> dict[str, Engine]:
    """Return all engines by name."""
    return {name: engine_named(name) for name in EngineSettings.FAMILY.kinds}


def simulates(name: str) -> bool:
    """Return whether an engine returns runtimes; that of an extension does, which need not be known here."""
    return EngineSettings.FAMILY.find(name) is None or engine_named(name).simulates


def missing_engines(used: Iterable[EngineSettings]) -> list[str]:
    """Return the names of those engines whose program is missing."""
    distinct = {type(settings): settings for settings in used}.values()
    return sorted(settings.kind for settings in distinct if not engine_of(settings).probe().found)
