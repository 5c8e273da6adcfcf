"""Keys of CAMINOS."""

from typing import Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.kinds import register
from fabricstudy.core.quantities import Size

from ..settings import EngineSettings


@register
class CaminosSettings(EngineSettings):
    """CAMINOS; `phit` is the unit in which it moves data (default: one packet or a part of it)."""

    kind: Literal["caminos"] = "caminos"
    phit_bytes: Size | None = Field(
        None,
        alias="phit",
        description="unit in which data moves; left out: one packet or a part of it; smaller is slower",
    )
    inherited_phit_bytes: SkipJsonSchema[Size | None] = Field(
        None, alias="inherited_phit", description="phit of the point of which this is a baseline run; set when planned"
    )
