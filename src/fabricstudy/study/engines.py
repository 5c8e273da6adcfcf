"""What a study may say about the simulator and the network parameters that all simulators share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import ByKind, Flag, Model, Number
from .units import Duration, Latency, Size


class Network(Model):
    """Parameters of routers and network interfaces, the same for every engine."""

    packet_bytes: Size = Field(
        "2 kB", alias="packet", validate_default=True, description="largest packet; longer messages are cut"
    )
    buffer_bytes: Size = Field(
        "64 kB", alias="buffer", validate_default=True, description="buffer of each router input"
    )
    router_latency_ns: Latency = Field(
        "100 ns", alias="router_latency", validate_default=True, description="time a packet takes through a router"
    )


class Caminos(Model):
    """CAMINOS; `phit` is the unit in which it moves data (one packet unless said otherwise)."""

    kind: Literal["caminos"] = "caminos"
    phit_bytes: Size | None = Field(
        None,
        alias="phit",
        description="unit in which data moves; left out: one packet or a part of it; smaller is slower",
    )


class Sst(Model):
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


class Codes(Model):
    """CODES on ROSS: packets, for the topologies that it has; see docs/engines/codes.md."""

    kind: Literal["codes"] = "codes"
    job_links: Flag = Field(
        True,
        description="tell the links that each of several jobs uses, where CODES can: on a dragonfly from a list of all "
        "hops, elsewhere, if routes are fixed, from simulating each job alone as well (takes about as long again)",
    )


class AnalysisOnly(Model):
    """No simulation: bounds, hop-bytes, link sharing and (under oblivious routing) link loads; no runtimes."""

    kind: Literal["analysis"] = "analysis"


EngineConfig = Annotated[Caminos | Sst | Codes | AnalysisOnly, ByKind()]


class Limits(Model):
    """What one simulation may use; a point that needs more is a row that says so."""

    time_s: Duration = Field("10 min", alias="time", validate_default=True, description="wall time of a simulation")
    memory_bytes: Size = Field("2 GB", alias="memory", validate_default=True, description="memory of a simulation")
