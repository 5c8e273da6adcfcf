"""Keys of CODES."""

from typing import Literal

from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Flag

from ..settings import EngineSettings


@register
class CodesSettings(EngineSettings):
    """CODES on ROSS: packet-level models of several topologies; see docs/engines/codes.md."""

    kind: Literal["codes"] = "codes"
    job_links: Flag = Field(
        True,
        description="tell the links that each of several jobs uses, where CODES can: on a dragonfly from a list of all "
        "hops, elsewhere, if routes are fixed, from simulating each job alone as well (takes about as long again)",
    )
