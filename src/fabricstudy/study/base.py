"""Base of all models in a study, and the few types that they share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, get_args, get_origin

from pydantic import (
    AllowInfNan,
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
)
from pydantic_core import CoreSchema, core_schema

# YAML tells numbers, text and true/false apart, so none of them is taken for another.
Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict(), AllowInfNan(False)]
Flag = Annotated[bool, Strict()]


class Model(BaseModel):
    """Immutable model that refuses unknown keys; YAML keys are the aliases, attributes carry units."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, strict=False)

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        """Give the mapping for which a shorter way of writing stands, or `value` itself if it is none.

        Where `kind` tells models apart, a kind's name alone stands for it with its default settings.
        """
        return {"kind": value} if isinstance(value, str) and "kind" in cls.model_fields else value


class ConfigError(ValueError):
    """What is wrong with a value: problem, remedy, and where below the value; the file joins later.

    Parameters
    ----------
    problem, remedy : str
        As in `fabricstudy.errors.StudyError`.
    path : tuple of str
        Keys from the validated value to the offending one.
    value : object, optional
        The offending value.
    """

    def __init__(self, problem: str, remedy: str, path: tuple[str, ...] = (), value: object = None) -> None:
        self.problem, self.remedy, self.path, self.value = problem, remedy, path, value
        super().__init__(f"{problem}; {remedy}")


@dataclass(frozen=True)
class ByKind:
    """Marks a union whose members `kind` tells apart; unlike pydantic's own it also takes a single member."""

    # How such a value is written, for the documentation.
    words: ClassVar[str] = "kind or mapping:"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Build a tagged union over the `kind` of each member; a text alone is a kind."""
        members = members_of(source)
        choices = {kind_of(member): handler.generate_schema(member) for member in members}
        tagged = core_schema.tagged_union_schema(choices, discriminator="kind")
        return core_schema.no_info_before_validator_function(members[0].from_shorthand, tagged)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe both ways of writing."""
        tagged = handler(schema)
        return {"anyOf": [{"enum": sorted(tagged["discriminator"]["mapping"])}, tagged]}


def members_of(annotation: Any) -> list[type[Model]]:
    """Give the models that may stand where `annotation` does, through unions, lists and further annotations.

    Examples
    --------
    >>> from fabricstudy.study.routings import RoutingConfig
    >>> [member.__name__ for member in members_of(RoutingConfig | None)][:2]
    ['Minimal', 'DimensionOrder']
    """
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return [annotation]
    origin = get_origin(annotation)
    inner = get_args(annotation)[:1] if origin is Annotated else get_args(annotation)
    return [member for part in inner for member in members_of(part)]


def kind_of(member: type[BaseModel]) -> str:
    """Give the word that selects a member of a union.

    Examples
    --------
    >>> from fabricstudy.study.routings import Valiant
    >>> kind_of(Valiant)
    'valiant'
    """
    return str(get_args(member.model_fields["kind"].annotation)[0])


@dataclass(frozen=True)
class Name:
    """Restricts a text to `pattern`; `rule` says the pattern in words."""

    pattern: str
    rule: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check the text after pydantic's own checks."""
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the text by its pattern."""
        return {"type": "string", "pattern": f"^{self.pattern}$"}

    def check(self, value: str) -> str:
        """Give `value` back if it matches.

        Raises
        ------
        ConfigError
            If it does not.
        """
        if re.fullmatch(self.pattern, value) is None:
            raise ConfigError("not a name that can be used here", self.rule, value=value)
        return value


@dataclass(frozen=True)
class OrList:
    """Says in the schema that a list may stand for a mapping, where a validator writes it out."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe both ways of writing."""
        return {"anyOf": [handler(schema), {"type": "array", "minItems": 1}]}


@dataclass(frozen=True)
class Written:
    """How a value is written, for the documentation, where its type does not tell."""

    words: str
