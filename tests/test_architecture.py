"""Layering: a package imports only lower layers, and states what goes in and out."""

from __future__ import annotations

import ast
import importlib
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import fabricstudy
from fabricstudy.core.source import PACKAGES

PACKAGE = Path(__file__).resolve().parents[1] / "src/fabricstudy"
STAGES = list(PACKAGES)


ROOT = PACKAGE.parents[1]


def test_the_order_is_told_as_it_is() -> None:
    (drawing,) = re.findall(r"^```text\n(core .*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), re.M | re.S)
    assert [line.split()[0] for line in drawing.splitlines() if line[0] != " "] == STAGES
    _, order = str(fabricstudy.__doc__).split("\n\n", 1)
    assert re.findall("``(\\w+)``", order) == STAGES


def name_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_stages(file: Path) -> set[str]:
    """Stages that a module imports from, absolutely or relatively."""
    names = (name.split(".") for name in imported_names(file))
    return {parts[1] for parts in names if parts[0] == "fabricstudy" and len(parts) > 1} & set(STAGES)


def imported_names(file: Path) -> set[str]:
    """Names of the modules that a module imports; imports for type checkers do not count."""
    found: set[str] = set()
    package = file.relative_to(PACKAGE.parent).parts[:-1]
    tree = ast.parse(file.read_text())
    tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node))]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            inner = [f"{origin}.{alias.name}" for alias in node.names]
            found |= {name if name in MODULES else origin for name in inner}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


MODULES = {name_of(file): file for file in PACKAGE.rglob("*.py")}


@pytest.mark.parametrize("stage", STAGES)
def test_imports_go_forward_only(stage: str) -> None:
    later = set(STAGES[STAGES.index(stage) + 1 :])
    for file in (PACKAGE / stage).rglob("*.py"):
        assert not imported_stages(file) & later, file


@pytest.mark.parametrize("depth", [2, None], ids=["rooms", "modules"])
def test_imports_go_in_no_circle(depth: int | None) -> None:
    """Neither of modules nor of rooms: packages, and modules beside them."""
    graph: dict[str, set[str]] = {}
    for name, file in MODULES.items():
        imported = imported_names(file) & MODULES.keys()
        room, *others = (".".join(one.split(".")[:depth]) for one in (name, *imported))
        graph.setdefault(room, set()).update({other for other in others if other != room})
    assert sum(map(len, graph.values())) > 50
    TopologicalSorter(graph).prepare()  # raises CycleError


@pytest.mark.parametrize("stage", STAGES)
def test_each_package_says_what_goes_in_and_out(stage: str) -> None:
    text = ast.get_docstring(ast.parse((PACKAGE / stage / "__init__.py").read_text())) or ""
    assert "In:" in text and "Out:" in text


def test_the_check_itself_sees_relative_and_absolute_imports(tmp_path: Path) -> None:
    assert "routing" in imported_stages(PACKAGE / "structure/load.py")
    assert "engine" in imported_stages(PACKAGE / "engine/batch.py")


@pytest.mark.parametrize("stage", STAGES)
def test_each_package_has_what_it_offers(stage: str) -> None:
    package = importlib.import_module(f"fabricstudy.{stage}")
    assert [name for name in getattr(package, "__all__", []) if not hasattr(package, name)] == []
