"""Keys of SST."""

from typing import Literal

from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Number
from fabricstudy.core.quantities import Size

from ..settings import EngineSettings


@register
class SstSettings(EngineSettings):
    """SST: Merlin's routers, Firefly's network interfaces and MPI, and Ember's motifs."""

    kind: Literal["sst"] = "sst"
    motifs: Literal["messages", "native"] = Field(
        "messages",
        description="what the jobs do: the message list that every engine gets, or Ember's own Alltoall and Halo3D",
    )
    mpi: Literal["none", "default"] = Field(
        "none", description="costs of network interface and MPI: none, as in the other engines, or SST's defaults"
    )
    crossbar: Number = Field(
        1.5, ge=1, le=1000, description="bandwidth of a router's crossbar over that of the fastest links"
    )
    flit_bytes: Size | None = Field(
        None, alias="flit", description="unit in which data moves; left out: a quarter of a packet; smaller is slower"
    )
