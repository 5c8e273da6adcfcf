"""The engines by name, and that of the settings in a study."""

from collections.abc import Iterable
from functools import cache

from .engine import Engine
from .settings import EngineSettings
from .simulator import Simulator


def engine_of(settings: EngineSettings) -> Engine:
    """Return the engine with these settings."""
    return _engine(type(settings))


@cache
def _engine(kind: type[EngineSettings]) -> Engine:
    assert issubclass(kind, Simulator)
    return Engine(kind)


def engine_named(name: str) -> Engine:
    """Return the engine with a name; raise `KeyError` if there is none."""
    kind = EngineSettings.FAMILY.find(name)
    if kind is None or not issubclass(kind, Simulator):
        raise KeyError(name)
    return _engine(kind)


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
