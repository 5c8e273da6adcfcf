"""Kinds: what a study names by ``kind:``, each a class of a module.

A *family* holds the kinds that a field of a study accepts: topologies, routings, patterns, allocations, mappings,
analyses, engines. Its base class is the type of the field: ``class Routing(Kind, family="routing")``. A member states
its kind: ``class Valiant(Routing, kind="valiant")``. `fabricstudy.core.kind_modules` lists the bundled kinds;
extensions of a study add others.

Examples
--------
>>> from fabricstudy.routing.base import Routing
>>> Routing.model_validate("valiant").kind
'valiant'
>>> "minimal" in Routing.FAMILY.kinds
True
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo, WithJsonSchema
from pydantic_core import CoreSchema, core_schema

from fabricstudy.core.bundled_files import bundled_path
from fabricstudy.core.errors import suggestion
from fabricstudy.core.kind_modules import BUNDLED_EXTENSIONS, MODULES, SYNONYMS
from fabricstudy.core.model import ConfigError, Model, Written
from fabricstudy.core.quantities import has_base_units
from fabricstudy.core.source import code_digest, digest_of, extension_package

_described: ContextVar[frozenset[str]] = ContextVar("described", default=frozenset())
_in_use: ContextVar[str | None] = ContextVar("extensions", default=None)


@contextmanager
def extension_scope(package: str) -> Iterator[None]:
    """Make the extensions of one package the only known ones; outside, all imported ones are known."""
    token = _in_use.set(package)
    try:
        yield
    finally:
        _in_use.reset(token)


class Family:
    """The kinds of one family.

    `noun` names a member in messages, and the family in `fabricstudy.core.kind_modules`. Modules are imported on
    demand.
    """

    def __init__(self, noun: str) -> None:
        self.noun, self._modules, self.synonyms = noun, MODULES.get(noun, {}), SYNONYMS.get(noun, {})
        self._ours: dict[str, type[Kind]] = {}
        self._of_extensions: dict[str, dict[str, type[Kind]]] = {}

    def add(self, member: type[Kind]) -> None:
        """Add a kind. Raises ConfigError if another class has its name."""
        kind, package = kind_of(member), extension_package(member.__module__)
        members = self._of_extensions.setdefault(package, {}) if package else self._ours
        existing = members.get(kind)
        if package and (kind in self._modules or kind in self._ours):
            owner = "fabricstudy"
        elif existing and (existing.__module__, existing.__qualname__) != (member.__module__, member.__qualname__):
            owner = f"{existing.__module__.split('.')[-1]}.py"
        else:
            members[kind] = member
            return
        problem = f"two kinds of {self.noun} have this name; the other is in {owner}"
        raise ConfigError(problem, "rename one of them", ("extensions",), kind, "extension")

    def remove(self, kind: str) -> None:
        """Remove a bundled kind that a test added."""
        del self._ours[kind]

    def forget(self, package: str) -> None:
        """Remove the kinds of a package of extensions."""
        self._of_extensions.pop(package, None)

    def extensions(self, package: str) -> dict[str, type[Kind]]:
        """Return the kinds that a package of extensions added, by name."""
        return dict(self._of_extensions.get(package, {}))

    @property
    def members(self) -> dict[str, type[Kind]]:
        """The members by name, in alphabetical order: bundled ones, and those of the extensions in use."""
        for module in self._modules.values():
            importlib.import_module(module)
        return dict(sorted(self._known().items()))

    def find(self, kind: str) -> type[Kind] | None:
        """Return the member of a name, or None; no other bundled member is imported."""
        if kind in self._modules and kind not in self._ours:
            importlib.import_module(self._modules[kind])
        return self._known().get(kind)

    @property
    def kinds(self) -> list[str]:
        return sorted(self._modules.keys() | self._known())

    def _known(self) -> dict[str, type[Kind]]:
        in_use = _in_use.get()
        extensions = self._of_extensions.values() if in_use is None else [self.extensions(in_use)]
        return self._ours | {kind: member for kinds in extensions for kind, member in kinds.items()}


class Kind(Model):
    """Base class of the families and their kinds.

    Parameters
    ----------
    family : str, optional
        Noun of the family of which the class is the base.
    kind : str, optional
        Name of the kind that the class is; without one it is a base of kinds.
    """

    FAMILY: ClassVar[Family]

    words: ClassVar[str] = "kind or mapping:"
    """Type of a value in the reference."""

    kind: str = ""

    def __init_subclass__(cls, kind: str = "", family: str = "", **config: Any) -> None:
        if family:
            cls.FAMILY = Family(family)
        if kind:
            cls.__annotations__["kind"] = Literal.__getitem__(kind)
            names = [kind, *(name for name, meant in cls.FAMILY.synonyms.items() if meant == kind)]
            if len(names) > 1:
                words = Written(" or ".join(f"`{name}`" for name in names))
                cls.__annotations__["kind"] = Annotated[
                    Literal.__getitem__(kind), WithJsonSchema({"enum": names}), words
                ]
            cls.kind = kind
        super().__init_subclass__(**config)

    @classmethod
    def __pydantic_init_subclass__(cls, kind: str = "", **_: Any) -> None:
        """Add a kind to its family, once the class is complete."""
        if kind:
            cls.FAMILY.add(cls)

    @classmethod
    def is_family(cls) -> bool:
        return "FAMILY" in cls.__dict__

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        written = super().from_shorthand(value)
        kind = written.get("kind") if isinstance(written, dict) else None
        meant = cls.FAMILY.synonyms.get(kind) if isinstance(kind, str) else None
        return written if meant is None else {**written, "kind": meant}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if not cls.is_family():
            return handler(source)
        return core_schema.with_info_plain_validator_function(cls._member_of)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the name of a kind alone, and the mapping of each member."""
        if not cls.is_family():
            return handler(schema)
        name = {"enum": sorted([*cls.FAMILY.kinds, *cls.FAMILY.synonyms])}
        if cls.FAMILY.noun in _described.get():  # a kind within one of its own family, such as a mapping's start
            return {"anyOf": [name, {"type": "object", "required": ["kind"], "properties": {"kind": name}}]}
        token = _described.set(_described.get() | {cls.FAMILY.noun})
        try:
            members = [handler(member.__pydantic_core_schema__) for member in cls.FAMILY.members.values()]
        finally:
            _described.reset(token)
        return {"anyOf": [name, *members]}

    @classmethod
    def _member_of(cls, value: Any, info: ValidationInfo) -> Kind:
        if isinstance(value, cls):
            return value
        cls.check_written(value)
        written = cls.from_shorthand(value)
        member = cls._kind_of(value, written)
        # Records have the names of fields; studies have the aliases.
        of_record = info.context is None or has_base_units(info.context)
        return member.model_validate(written, context=info.context, by_alias=True, by_name=of_record)

    @classmethod
    def check_written(cls, value: Any) -> None:
        """Refuse values that are no member, before shorthands are expanded."""

    @classmethod
    def _kind_of(cls, value: Any, written: Any) -> type[Kind]:
        if not isinstance(written, dict):
            remedy = f"write {{kind: ...}}; {suggestion('', cls.FAMILY.kinds)}"
            if value is None:
                raise ConfigError("no value", remedy, code="missing-key")
            raise ConfigError("not a mapping of keys to values", remedy, value=value, code="wrong-type")
        if "kind" not in written:
            remedy = f"add kind: ...; {suggestion('', cls.FAMILY.kinds)}"
            raise ConfigError("this key is missing", remedy, ("kind",), code="missing-key")
        kind = written["kind"]
        member = cls.FAMILY.find(kind) if isinstance(kind, str) else None
        if member is None:
            path = ("kind",) if isinstance(value, dict) else ()
            problem = f"unknown kind of {cls.FAMILY.noun}"
            remedy = suggestion(kind, cls.FAMILY.kinds)
            if isinstance(kind, str) and (bundled := BUNDLED_EXTENSIONS.get(cls.FAMILY.noun, {}).get(kind)):
                file = f"extensions/{bundled}.py"
                remedy = f"copy {bundled_path(f'configs/{file}')} to {file} beside the study; add extensions: [{file}]"
            raise ConfigError(problem, remedy, path, kind, code="unknown-value")
        return member


def families() -> list[type[Kind]]:
    """Return the base classes of the imported families, sorted by noun; an extension may define one, too."""
    bases = (base for base in Kind.__subclasses__() if base.is_family() and base.__module__ in sys.modules)
    return sorted(bases, key=lambda base: base.FAMILY.noun)


def kinds_within(value: Any) -> Iterator[Kind]:
    """Return all kinds within a model, a list or a mapping, at any depth, each before those within it.

    Examples
    --------
    >>> from fabricstudy.workload.job import Job
    >>> job = Job.model_validate({"name": "app", "share": 1.0, "pattern": {"kind": "ring", "message": "1 kB"}})
    >>> [kind.kind for kind in kinds_within([job])]
    ['ring', 'cluster', 'linear']
    """
    if isinstance(value, Kind):
        yield value
    if isinstance(value, BaseModel):
        value = [inner for _, inner in value]
    elif isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple | set | frozenset):
        return
    for inner in value:
        yield from kinds_within(inner)


def code_of(package: str, value: Any) -> str:
    """Return a digest of a package, of those that it may import, and of the extensions of the kinds within a value."""
    extensions = {extension_package(type(kind).__module__) for kind in kinds_within(value)} - {""}
    return digest_of((name, b"") for name in (code_digest(package), *sorted(extensions)))


def members_of(annotation: Any) -> list[type[Model]]:
    """Return the models that a field of type `annotation` accepts, through unions, lists and annotations.

    Examples
    --------
    >>> from fabricstudy.routing.base import Routing
    >>> [member.__name__ for member in members_of(Routing | None)][:2]
    ['Adaptive', 'DModK']
    """
    if isinstance(annotation, type) and issubclass(annotation, Kind) and annotation.is_family():
        return list(annotation.FAMILY.members.values())
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return [annotation]
    origin = get_origin(annotation)
    inner = get_args(annotation)[:1] if origin is Annotated else get_args(annotation)
    return [member for part in inner for member in members_of(part)]


def kind_of(member: type[BaseModel]) -> str:
    """Return the name of a kind.

    Examples
    --------
    >>> from fabricstudy.routing.valiant import Valiant
    >>> kind_of(Valiant)
    'valiant'
    """
    return str(get_args(member.model_fields["kind"].annotation)[0])
