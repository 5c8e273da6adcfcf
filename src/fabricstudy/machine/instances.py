"""Published machines by name, from `instances.yaml`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Instance:
    """A published machine."""

    description: dict[str, Any]
    """Study-file keys."""
    about: str
    source: str
    assumed: str = ""
    """What is not published, or modelled otherwise."""


def _read(path: Path) -> dict[str, Instance]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    facts = yaml.load(path.read_text(encoding="utf-8"), loader)
    return {name: Instance(keys.pop("machine"), **keys) for name, keys in facts.items()}


INSTANCES = _read(Path(__file__).with_name("instances.yaml"))
