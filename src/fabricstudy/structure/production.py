"""Published lists of the partitions that a machine's scheduler allocates."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from fabricstudy.core.errors import suggestion
from fabricstudy.core.model import ConfigError, Whole, Written

PRODUCTION: dict[str, tuple[tuple[int, ...], ...]] = {
    # Oltchik and Schwartz, Network Partitioning and Avoidable Contention, Table 6, current geometries.
    "mira": (
        (1, 1, 1, 1), (2, 1, 1, 1), (4, 1, 1, 1), (4, 2, 1, 1), (4, 4, 1, 1),
        (4, 3, 2, 1), (4, 4, 2, 1), (4, 4, 3, 1), (4, 4, 2, 2), (4, 4, 3, 2),
    ),
    # The same table: proposed geometries, and the current one of each size without a proposal.
    "mira-proposed": (
        (1, 1, 1, 1), (2, 1, 1, 1), (2, 2, 1, 1), (2, 2, 2, 1), (2, 2, 2, 2),
        (3, 2, 2, 2), (4, 4, 2, 1), (4, 4, 3, 1), (4, 4, 2, 2), (4, 4, 3, 2),
    ),
}  # fmt: skip
"""Published partition lists, in midplanes."""


def _by_name(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value not in PRODUCTION:
        remedy = suggestion(value, PRODUCTION)
        raise ConfigError("unknown published list", remedy, value=value, code="unknown-value")
    return PRODUCTION[value]


Side = Annotated[Whole, Field(ge=1, le=100_000)]
Sides = Annotated[tuple[Side, ...], Field(min_length=1, max_length=26)]
Allowed = Annotated[
    tuple[Sides, ...],
    Field(min_length=1, max_length=100_000),
    BeforeValidator(_by_name),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": sorted(PRODUCTION)},
                {"type": "array", "items": {"type": "array", "items": {"type": "integer", "minimum": 1}}},
            ]
        }
    ),
    Written("name of a published list (" + ", ".join(f"`{name}`" for name in PRODUCTION) + ") or list of geometries"),
]


def fits(geometry: tuple[int, ...], blocks: tuple[int, ...]) -> bool:
    """Return True if a cuboid fits in some orientation; missing sides are 1."""
    longest = zip(sorted(geometry, reverse=True), sorted(blocks, reverse=True), strict=False)
    return len(geometry) <= len(blocks) and all(side <= most for side, most in longest)
