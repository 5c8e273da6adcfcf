"""A small valid study, and how tests change it and write it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricstudy.core.errors import ConfigError
from fabricstudy.study.file import load_study, validate_study
from fabricstudy.study.model import Study
from fabricstudy.study.plan import plan

from ...machines import DRAGONFLY

VALID: dict[str, Any] = {
    "study": "small",
    "machine": DRAGONFLY | {"latency": "40 ns"},
    "routing": {"kind": "minimal"},
    "jobs": [{"name": "app", "share": 1.0, "pattern": {"kind": "all-to-all", "message": "100 kB"}}],
    "engine": "caminos",
    "sweep": {
        "arrangement": {"of": "machine.arrangement", "values": ["absolute", "relative"]},
        "alpha": {"of": "machine.bandwidth.global", "values": {0.5: "0.5 GB/s", 1: "1 GB/s", 2: "2 GB/s"}},
    },
}

Changes = dict[str, Any]

JARGON = ("pydantic", "Input should", "String should", "validation", "dragonfly.groups", "all-to-all.message")


def the_error(path: Path) -> ConfigError:
    """Return the error that a file makes."""
    with pytest.raises(ConfigError) as caught:
        plan(load_study(path))
    return caught.value


def told(error: ConfigError) -> list[tuple[str, str | None]]:
    """Code and path of each mistake; every one names the file and is one line for people, without pydantic's words."""
    for one in error.each():
        line = one.to_json()["message"]
        assert line.startswith(f"{one.file}: {f'{one.path}: ' if one.path else ''}") and "\n" not in line
        assert one.problem and one.remedy and f"; {one.remedy}" in line
        assert not [words for words in JARGON if words in line]
    return [(one.code, one.path) for one in error.each()]


def changed(changes: Changes) -> dict[str, Any]:
    """Return the valid study with the values at dotted paths replaced; `...` removes the key."""
    data = copy.deepcopy(VALID)
    for path, value in changes.items():
        *above, last = path.split("/")
        node: Any = data
        for key in above:
            node = node[int(key)] if isinstance(node, list) else node[key]
        if value is ...:
            del node[last]
        elif isinstance(node, list):
            node[int(last)] = value
        else:
            node[last] = value
    return data


@pytest.fixture
def study_of() -> Callable[..., Study]:
    """Return a function that reads the valid study with changes."""
    return lambda **changes: validate_study(changed({key.replace("__", "/"): value for key, value in changes.items()}))


@pytest.fixture
def study_data() -> Callable[[Changes], dict[str, Any]]:
    """Return a function that changes the valid study."""
    return changed


@pytest.fixture
def write_study(tmp_path: Path) -> Callable[[Changes], Path]:
    """Return a function that writes the valid study with changes into a file."""

    def write(changes: Changes) -> Path:
        path = tmp_path / "a study.yaml"
        path.write_text(yaml.safe_dump(changed(changes), sort_keys=False), encoding="utf-8")
        return path

    return write
