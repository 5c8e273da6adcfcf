"""Reading a study file: size, encoding, YAML, and then the models."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml
from pydantic import ValidationError

from fabricstudy.core.bundled_files import bundled_path
from fabricstudy.core.errors import StudyError
from fabricstudy.core.extensions import load_extensions
from fabricstudy.core.input_files import InputFileError, read_bytes, text_of
from fabricstudy.core.kinds import extension_scope
from fabricstudy.core.model import Model
from fabricstudy.machine.base import Topology

from .messages import explain_errors
from .model import Study

MAX_BYTES = 10_000_000
MAX_YAML_NODES = 1_000_000
MAX_NUMBER_LENGTH = 100
MAX_DEPTH = 50

M = TypeVar("M", bound=Model)

_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Safe):  # type: ignore[misc]
    """Reads plain scalars as YAML 1.2 does: what version 1.1 turns into something else than is written stays text.

    In 1.1, which PyYAML reads, 011 is 9, 1:30 is 90, 2024-01-01 a date, and yes, no, on and off are true and false.
    """

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9_]*)|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|(0|[1-9][0-9_]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), _first)


def load_study(path: str | Path) -> Study:
    """Read and check a study file.

    Other files that the study names are sought relative to the study's folder.

    Parameters
    ----------
    path : str or Path
        The file, UTF-8 YAML.

    Raises
    ------
    StudyError
        With file, path in it, value and remedy of all that is wrong.
    """
    path = Path(path)
    try:
        return validate_study(parse_yaml(_text(path)), path)
    except StudyError as error:
        raise error.in_file(str(path)) from None


def parse_study_name(path: Path) -> str:
    """Return the name that a study file gives its study, which is not checked."""
    return str(parse_yaml(_text(path)).get("study"))


def validate_study(data: Any, path: Path | None = None) -> Study:
    """Check a study that has been read from YAML; `path` is its file.

    Raises
    ------
    StudyError
        Without the name of the file.
    """
    if not isinstance(data, dict):
        what = "empty" if data is None else "a list" if isinstance(data, list) else "a single value"
        raise StudyError(
            f"the file is {what}",
            f"write keys and values, as {bundled_path('docs/reference.md')} shows",
            code="invalid-yaml",
        )
    folder = path.parent if path else Path()
    package = load_extensions(data.get("extensions"), folder)
    with extension_scope(package):
        return validated(Study, data, {"file": path, "folder": folder, "extensions": package})


def validated(model: type[M], data: dict[str, Any], context: dict[str, Any]) -> M:
    """Check values that have been read against a model.

    Raises
    ------
    StudyError
        Without the name of the file.
    """
    try:
        return model.model_validate(data, context=context, by_alias=True, by_name=False)
    except ValidationError as error:
        raise explain_errors(error, data, model).in_study() from None


def referenced_files(value: Any, folder: Path) -> Iterator[tuple[str, Path]]:
    """Return the texts of what was read from a study that are names of files, with these files."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from referenced_files(part, folder)
    elif isinstance(value, str) and value and _is_file(folder / value):
        yield value, folder / value


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # longer than any name
        return False


def study_files(path: Path) -> list[Path]:
    """Return a study file, and those that it names."""
    try:
        return [path, *(named for _, named in referenced_files(parse_yaml(_text(path)), path.parent))]
    except StudyError as error:
        raise error.in_file(str(path)) from None


def load_machine(path: str | Path) -> Topology:
    """Read the machine of a study, or of a YAML file that holds only one (bare, or below the key `machine`).

    Raises
    ------
    StudyError
        With file, path in it, value and remedy of all that is wrong.
    """
    path = Path(path)
    try:
        data = _with_machine(path)
        if _is_bare(data):
            with extension_scope(load_extensions(data.get("extensions"), path.parent)):
                return validate_machine(data["machine"], path.parent)
        machine = validate_study(data, path).machine
        if machine is None:
            raise StudyError(
                "the study has no machine of its own", "give a study that simulates, or a machine", code="missing-key"
            )
        return machine
    except StudyError as error:
        raise error.in_file(str(path)) from None


def is_machine(path: Path) -> bool:
    """Whether a file holds a machine alone, rather than a study."""
    return _is_bare(_with_machine(path))


def _with_machine(path: Path) -> Any:
    data = parse_yaml(_text(path))
    return {"machine": data} if isinstance(data, dict) and not {"kind", "instance"}.isdisjoint(data) else data


def _is_bare(data: Any) -> bool:
    return isinstance(data, dict) and "machine" in data and set(data) <= {"machine", "extensions"}


def validate_machine(data: Any, folder: Path | None = None) -> Topology:
    """Check a machine that has been read from YAML; `folder` is that of the file.

    Raises
    ------
    StudyError
        Without the name of the file.
    """
    return validated(_OnlyMachine, {"machine": data}, {"folder": folder or Path()}).machine


class _OnlyMachine(Model):
    machine: Topology


def _text(path: Path) -> str:
    if not path.exists():
        raise StudyError(
            "there is no such file",
            "check the name; studies that come along have no path, such as quick",
            code="file-not-found",
        )
    try:
        return text_of(read_bytes(path, MAX_BYTES))
    except InputFileError as mistake:
        problem = f"{mistake.where}: {mistake.problem}" if mistake.where else mistake.problem
        raise StudyError(problem, mistake.remedy, code=mistake.code) from None


def parse_yaml(text: str) -> Any:
    """Read one YAML document into plain values.

    Raises
    ------
    StudyError
        If it is no plain YAML, repeats a key, or holds more than a study can.
    """
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _Walk(loader).visit(root, ())
        return loader.construct_document(root)
    except (yaml.YAMLError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        remedy = "fix it there; quote text that holds : # or {"
        raise StudyError(f"not plain YAML: {_reason(error)}", remedy, code="invalid-yaml") from None
    finally:
        loader.dispose()


def _reason(error: Exception) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem is None:
        return str(error).partition(";")[0].split("\n")[0] or type(error).__name__
    begun, seen = error.context_mark, error.problem_mark or error.context_mark
    if seen is None:
        return f"{error.context or ''} {error.problem}".strip()
    # A bracket, quote or key that is never closed is seen lines later.
    open_ones = ("flow", "quoted", "simple key")
    mark = begun if begun is not None and any(one in str(error.context) for one in open_ones) else seen
    later = f", seen in line {seen.line + 1}" if seen.line != mark.line else ""
    return f"{error.context or ''} {error.problem} (line {mark.line + 1}, column {mark.column + 1}{later})".strip()


class _Walk:
    """Looks at the tree of a document, aliases expanded, before anything is made of it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._left = MAX_YAML_NODES

    def visit(self, node: yaml.Node, path: tuple[str, ...]) -> None:
        self._left -= 1
        if self._left < 0 or len(path) > MAX_DEPTH:
            what = (
                "too deeply nested"
                if len(path) > MAX_DEPTH
                else f"more than {MAX_YAML_NODES:,} values, aliases counted"
            )
            place = ".".join(path[:8]) or None
            raise StudyError(f"the file is {what}", "make it smaller", None, place, code="file-too-large")
        if isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                self.visit(item, (*path, str(number)))
        elif isinstance(node, yaml.ScalarNode):
            if node.tag == "tag:yaml.org,2002:int" and len(node.value) > MAX_NUMBER_LENGTH:
                problem = f"a number of {len(node.value):,} digits"
                raise StudyError(problem, "write a smaller one", None, ".".join(path), code="file-too-large")
        elif isinstance(node, yaml.MappingNode):
            self._visit_mapping(node, path)

    def _visit_mapping(self, node: yaml.MappingNode, path: tuple[str, ...]) -> None:
        seen: set[Any] = set()
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                remedy = "take text or a number as key"
                raise StudyError("a key is a list or a mapping", remedy, None, ".".join(path), code="invalid-yaml")
            place = (*path, key_node.value)
            if key_node.tag != "tag:yaml.org,2002:merge":
                key = self._loader.construct_object(key_node)
                if key in seen:
                    line = key_node.start_mark.line + 1
                    raise StudyError(
                        f"the key stands twice (again in line {line})",
                        "keep one of them",
                        None,
                        ".".join(place),
                        key,
                        "invalid-yaml",
                    )
                seen.add(key)
            self.visit(value_node, place)
