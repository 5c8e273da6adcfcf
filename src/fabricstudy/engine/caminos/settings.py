"""What a study may say about CAMINOS."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabricstudy.kinds import register
from fabricstudy.quantities import Size

from ..settings import EngineSettings


@register
class CaminosSettings(EngineSettings):
    """CAMINOS; `phit` is the unit in which it moves data (one packet unless said otherwise)."""

    kind: Literal["caminos"] = "caminos"
    phit_bytes: Size | None = Field(
        None,
        alias="phit",
        description="unit in which data moves; left out: one packet or a part of it; smaller is slower",
    )
