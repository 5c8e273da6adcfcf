"""Reading a study file: size, encoding, YAML, and then the models."""

import os
import re
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml
from pydantic import ValidationError

from fabricstudy.core.bundled_files import bundled_path
from fabricstudy.core.errors import LIKENESS, ConfigError, combine_errors
from fabricstudy.core.extensions import load_extensions
from fabricstudy.core.input_files import read_bytes, text_of
from fabricstudy.core.kinds import extension_scope
from fabricstudy.core.model import Model, at_path
from fabricstudy.machine.base import Topology

from .messages import explain_errors
from .model import Study

MAX_STUDY_BYTES = 10_000_000
MAX_YAML_NODES = 1_000_000
MAX_NUMBER_LENGTH = 100
MAX_DEPTH = 50

M = TypeVar("M", bound=Model)

_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Safe):  # type: ignore[misc]
    """Reads plain scalars as YAML 1.2: in 1.1, which PyYAML reads, 011 is 9, 1_0 is 10, 1:30 is 90, and yes is true."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), _first)


def load_study(path: str | Path) -> Study:
    """Read and check a study file; paths in it are relative to its folder.

    Raises ConfigError with file, path, value and remedy of all mistakes.
    """
    path = Path(path)
    with at_path(file=str(path)):
        return validate_study(parse_yaml(_text(path)), path)


def parse_study_name(path: Path) -> str:
    """Return the name of a study from its file, unchecked."""
    return str(parse_yaml(_text(path)).get("study"))


def validate_study(data: Any, path: Path | None = None) -> Study:
    """Check a study that has been read from YAML; `path` is its file.

    Raises ConfigError without the name of the file.
    """
    if not isinstance(data, dict):
        what = "empty" if data is None else "a list" if isinstance(data, list) else "a single value"
        remedy = f"write keys and values, as {bundled_path('docs/reference.md')} shows"
        raise ConfigError(f"the file is {what}", remedy, code="invalid-yaml")
    folder = path.parent if path else Path()
    package = load_extensions(data.get("extensions"), folder)
    with extension_scope(package):
        try:
            return validated(Study, data, {"file": path, "folder": folder, "extensions": package})
        except ConfigError as error:
            from .mistakes import mistakes_of_points  # loads the stages

            raise combine_errors([error, *mistakes_of_points(data, error, folder)]) from None


def validated(model: type[M], data: dict[str, Any], context: dict[str, Any]) -> M:
    """Check values that have been read against a model. Raises ConfigError without the name of the file."""
    try:
        return model.model_validate(data, context=context, by_alias=True, by_name=False)
    except ValidationError as error:
        raise explain_errors(error, data, model) from None


def referenced_files(value: Any, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the texts in a study that are names of files, each with its file."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from referenced_files(part, folder)
    elif isinstance(value, str) and value:
        with suppress(OSError):  # longer than any name
            if (folder / value).is_file():
                # Imports readers, and the checks of traces, with numba.
                from fabricstudy.machine.fabric import included_files
                from fabricstudy.workload.traces.formats import files_beside

                yield value, folder / value
                for beside in (*files_beside(folder / value), *included_files(folder / value)):
                    yield os.path.relpath(beside, folder), beside


def study_files(path: Path) -> list[Path]:
    """Return a study file, and those that it names."""
    with at_path(file=str(path)):
        return [path, *(named for _, named in referenced_files(parse_yaml(_text(path)), path.parent))]


def load_machine(path: str | Path) -> Topology:
    """Return the machine of a study, or of a YAML file with only a machine (bare, or below the key `machine`).

    Raises ConfigError with file, path, value and remedy of all mistakes.
    """
    path = Path(path)
    with at_path(file=str(path)):
        data = _with_machine(path)
        if _is_bare(data):
            # A file that names none may use those of the command.
            listed = extension_scope(load_extensions(data["extensions"], path.parent)) if "extensions" in data else None
            with listed or nullcontext():
                return validate_machine(data["machine"], path.parent)
        machine = validate_study(data, path).machine
        if machine is None:
            raise ConfigError("the study has no machine", "name one that simulates, or a machine", code="missing-key")
        return machine


def is_machine(path: Path) -> bool:
    """Return whether a file contains only a machine, rather than a study."""
    return _is_bare(_with_machine(path))


def _with_machine(path: Path) -> Any:
    data = parse_yaml(_text(path))
    return {"machine": data} if isinstance(data, dict) and not {"kind", "instance"}.isdisjoint(data) else data


def _is_bare(data: Any) -> bool:
    return isinstance(data, dict) and "machine" in data and set(data) <= {"machine", "extensions"}


def validate_machine(data: Any, folder: Path | None = None) -> Topology:
    """Check a machine from YAML; `folder` is that of its file. Raises ConfigError without the name of the file."""
    return validated(_OnlyMachine, {"machine": data}, {"folder": folder or Path()}).machine


class _OnlyMachine(Model):
    machine: Topology


def similar_file(path: Path) -> str:
    """Return a question that names the study file next to `path` with the most similar name; empty without one."""
    files = {file.stem: file for file in path.parent.glob("*.yaml")}
    close = get_close_matches(path.stem, files, 1, LIKENESS)
    return f"did you mean '{files[close[0]]}'? " if close else ""


def _text(path: Path) -> str:
    if not path.exists():
        remedy = similar_file(path) or "check its path, or name a bundled study, such as quick"
        raise ConfigError("no such file", remedy, code="file-not-found")
    return text_of(read_bytes(path, MAX_STUDY_BYTES))


def parse_yaml(text: str) -> Any:
    """Return the plain values of a YAML document.

    Raises ConfigError for anything but plain YAML, repeated keys, and files that are too large.
    """
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _Walk(loader).visit(root, ())
        return loader.construct_document(root)
    except ConfigError:
        raise
    except (yaml.YAMLError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        remedy = "fix it there; quote text that contains : # or {"
        raise ConfigError(f"not plain YAML: {_reason(error)}", remedy, code="invalid-yaml") from None
    finally:
        loader.dispose()


def _reason(error: Exception) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem is None:
        return str(error).partition(";")[0].split("\n")[0] or type(error).__name__
    start, end = error.context_mark, error.problem_mark or error.context_mark
    if end is None:
        return f"{error.context or ''} {error.problem}".strip()
    # A bracket, quote or key that is never closed is noticed lines later.
    unclosed = any(construct in str(error.context) for construct in ("flow", "quoted", "simple key"))
    mark = start if start is not None and unclosed else end
    later = f", noticed in line {end.line + 1}" if end.line != mark.line else ""
    return f"{error.context or ''} {error.problem} (line {mark.line + 1}, column {mark.column + 1}{later})".strip()


class _Walk:
    """Checks the tree of a document, with aliases expanded, before it is constructed."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._left = MAX_YAML_NODES

    def visit(self, node: yaml.Node, path: tuple[str, ...]) -> None:
        self._left -= 1
        if self._left < 0 or len(path) > MAX_DEPTH:
            many = f"has more than {MAX_YAML_NODES:,} values, aliases included"
            problem = f"the file {'is nested too deeply' if len(path) > MAX_DEPTH else many}"
            raise ConfigError(problem, "make it smaller", path[:8], code="file-too-large")
        if isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                self.visit(item, (*path, str(number)))
        elif node.tag == "tag:yaml.org,2002:int" and len(node.value) > MAX_NUMBER_LENGTH:
            problem = f"a number of {len(node.value):,} digits"
            raise ConfigError(problem, "write a smaller one", path, code="file-too-large")
        seen: set[Any] = set()
        for key_node, value_node in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key_node, yaml.ScalarNode):
                remedy = "use text or a number as key"
                raise ConfigError("a key is a list or a mapping", remedy, path, code="invalid-yaml")
            key_path = (*path, key_node.value)
            if key_node.tag != "tag:yaml.org,2002:merge":
                key = self._loader.construct_object(key_node)
                if key in seen:
                    problem = f"duplicate key (again in line {key_node.start_mark.line + 1})"
                    raise ConfigError(problem, "remove one", key_path, key, "invalid-yaml")
                seen.add(key)
            self.visit(value_node, key_path)
