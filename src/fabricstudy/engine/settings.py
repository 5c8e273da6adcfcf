"""Network parameters, limits and engine of a simulation."""

from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, Field, WithJsonSchema

from fabricstudy.core.errors import suggestion
from fabricstudy.core.kinds import Kind
from fabricstudy.core.model import ConfigError, Flag, Model, Name, NoPhysics, Number, Whole, Written, model_check
from fabricstudy.core.quantities import NS_PER_S, Bandwidth, Duration, Latency, Memory, Size
from fabricstudy.workload.software_cost import SoftwareCost

ClassName = Annotated[str, Name("[a-z][a-z0-9-]{0,31}", "use small letters, digits and '-'; begin with a letter")]
Share = Annotated[Number, Field(ge=0.01, le=1)]
TrafficClasses = Annotated[
    tuple[tuple[ClassName, Share], ...],
    BeforeValidator(lambda value: sorted(value.items()) if isinstance(value, dict) else value),
    Written("{class: share}"),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "number"}}),
]


class SwitchBuffer(NamedTuple):
    """The packet buffer of a switch, divided by the ports that share it, and where it is published."""

    switch_bytes: int
    ports: int
    port_speed: str
    source: str

    @property
    def port_bytes(self) -> int:
        """An equal part of the buffer; a busy port of a real switch may have more, and an idle one has less."""
        return self.switch_bytes // self.ports

    def describe(self) -> str:
        """Return where the bytes of a port come from."""
        of_ports = f"{self.switch_bytes:,} B / {self.ports} ports of {self.port_speed}"
        return f"{self.port_bytes:,} B a port: {of_ports}; {self.source}"


_TOMAHAWK_2 = "port-buffers.forwardingplane.net/concepts/broadcom-tomahawk2"
_SONIC = "github.com/sonic-net/sonic-buildimage"

SWITCH_BUFFERS = {
    "tomahawk-1": SwitchBuffer(15_982_720, 32, "100 Gb/s", f"Celestica DX010, {_SONIC}/pull/3492"),
    "tomahawk-2": SwitchBuffer(42_000_000, 64, "100 Gb/s", _TOMAHAWK_2),
    "tomahawk-5": SwitchBuffer(165_364_160, 64, "800 Gb/s", f"Arista 7060X6-64PE, {_SONIC}/pull/25560"),
    "spectrum-1": SwitchBuffer(13_945_824, 32, "100 Gb/s", f"Mellanox SN2700, {_SONIC}/pull/5908"),
    "spectrum-4": SwitchBuffer(158_229_504, 64, "800 Gb/s", f"NVIDIA SN5600, {_SONIC}/pull/20991"),
}  # fmt: skip
"""Buffers of Slingshot's Rosetta, of Quantum-2 and -3, and of Aries are not published."""


def _of_switch(value: object) -> object:
    """Replace the name of a switch by the buffer of one of its ports."""
    if not isinstance(value, str) or not value.strip()[:1].isalpha():
        return value
    if value not in SWITCH_BUFFERS:
        raise ConfigError("no such switch", suggestion(value, SWITCH_BUFFERS), value=value, code="unknown-name")
    return f"{SWITCH_BUFFERS[value].port_bytes} B"


PortBuffer = Annotated[
    Size,
    BeforeValidator(_of_switch),
    WithJsonSchema({"anyOf": [{"enum": list(SWITCH_BUFFERS)}, {"type": "string", "examples": ["256 kB"]}]}),
]

StudyScheme = Literal["hops", "global-hops", "dateline", "one"]


class Network(Model):
    """Parameters of routers and network interfaces, the same for every engine; docs/concepts/engines.md has the
    sources of the defaults."""

    packet_bytes: Size = Field(
        "2 kB",
        alias="packet",
        validate_default=True,
        description="largest packet; longer messages are cut; the default is about an MTU of InfiniBand (2,048 B)",
    )
    buffer_bytes: Size = Field(
        "64 kB",
        alias="buffer",
        validate_default=True,
        description="buffer of each virtual channel of a router input on CAMINOS, SST and CODES, and on packet with "
        "`buffer_per: channel`; the default is that of CODES' own dragonfly",
    )
    port_buffer_bytes: PortBuffer = Field(
        "256 kB",
        alias="port_buffer",
        validate_default=True,
        description="buffer of each router input, which its virtual channels share; packet only. Above the default, "
        "it hardly affects runtimes on the bundled machines. Or a switch of `fabricstudy list buffers`",
    )
    buffer_per: Literal["port", "channel"] = Field(
        "port",
        description="port: the virtual channels of a router input share `port_buffer`, with virtual output queues; "
        "channel: each is one queue and has `buffer`, as always on CAMINOS, SST and CODES",
    )
    router_latency_ns: Latency = Field(
        "100 ns",
        alias="router_latency",
        validate_default=True,
        description="time a packet takes through a router; the default is that of a fast switch",
    )
    virtual_channels: Whole | None = Field(
        None,
        ge=1,
        le=256,
        description="virtual channels of each link; left out: by the engine, as many as the routing needs against "
        "deadlock, or more; packet and CAMINOS only",
    )
    channel_scheme: StudyScheme | None = Field(
        None,
        description="classes of virtual channels that avoid deadlock. hops: one per hop; global-hops: one before and "
        "one in the destination group, and one more before the intermediate of a detour (Kim et al. 2008); dateline: "
        "one before and one after the wrap-around link of a ring; one: a single class, if the channel dependency graph "
        "is acyclic. Default: by the routing; packet only",
    )
    injected_messages: Whole = Field(
        16,
        alias="injection",
        ge=1,
        le=1_000_000,
        description="messages of a node in flight at once, whose packets are interleaved; 1: one after the other. 16 "
        "are the torus injection FIFOs of a Blue Gene/Q node (Chen et al., IEEE Micro 32(1), 2012, "
        "doi:10.1109/MM.2011.96); other interfaces have more",
    )
    ports_per_node: Whole = Field(
        1,
        ge=1,
        le=64,
        description="ports of a node, each with a link to its router that is as fast as the machine says; packet and "
        "CAMINOS only",
    )
    rails: Literal["round-robin", "striping"] = Field(
        "round-robin",
        description="how a node with several ports divides what it sends (Liu, Vishnu, Panda, SC 2004, "
        "doi:10.1109/SC.2004.15): its messages leave by the ports in turn, each with `injection` under way; or each "
        "message is striped, packet by packet, over all ports",
    )
    send_overhead_ns: Latency = Field(
        "0 ns",
        alias="send_overhead",
        validate_default=True,
        description="time that a rank computes before each message that it sends, in MPI and the driver; packet and "
        "flow only",
    )
    receive_overhead_ns: Latency = Field(
        "0 ns",
        alias="receive_overhead",
        validate_default=True,
        description="time that a rank computes after each message that it receives; packet and flow only",
    )
    copy_Bps: Bandwidth | None = Field(
        None,
        alias="copy_bandwidth",
        description="bandwidth at which a rank copies each message that it sends or receives; left out: no copies; "
        "packet and flow only",
    )
    congestion_management: Flag = Field(
        False,
        description="throttle the senders to a congested node, by the method of the engine; packet on any machine, SST "
        "and CODES on dragonflies and PERCS",
    )
    classes: TrafficClasses = Field(
        (),
        max_length=8,
        description="traffic classes by name, with their shares of the bandwidth of links; each has its own buffers at "
        "all ports; a class without traffic leaves its share to the others; packet on any machine, SST on dragonflies "
        "and PERCS",
    )

    @property
    def software_cost(self) -> SoftwareCost:
        """What a rank computes for each message."""
        byte_ns = 0.0 if self.copy_Bps is None else NS_PER_S / self.copy_Bps
        return SoftwareCost(self.send_overhead_ns, self.receive_overhead_ns, byte_ns)

    @property
    def ports_of_message(self) -> int:
        """The ports of a node by which one message leaves."""
        return self.ports_per_node if self.rails == "striping" else 1

    @property
    def input_buffer_bytes(self) -> int:
        """The buffer of a router input, or of each of its virtual channels."""
        return int(self.port_buffer_bytes if self.buffer_per == "port" else self.buffer_bytes)

    @model_check
    def _shares_are_of_one_link(self) -> None:
        total = sum(share for _, share in self.classes)
        if total > 1 + 1e-9:
            problem, remedy = f"the shares of the classes sum up to {total:g}", "use shares with a sum of at most 1"
            raise ConfigError(problem, remedy, ("classes",), code="out-of-range")


class Limits(Model):
    """Limits of one simulation; a point that needs more is a row with this reason."""

    time_s: Duration = Field("10 min", alias="time", validate_default=True, description="wall time of a simulation")
    memory_bytes: Memory = Field("2 GB", alias="memory", validate_default=True, description="memory of a simulation")
    disk_bytes: Memory = Field(
        "4 GB", alias="disk", validate_default=True, description="files that a simulation writes"
    )


Record = Annotated[
    Literal["messages"] | None,
    Field(
        description="messages: the times of each message of the jobs become rows of the table `messages`; points with "
        "and without it are simulated separately",
    ),
]


class EngineSettings(Kind, family="engine"):
    """Keys of one engine; each engine is a package in `fabricstudy.engine`."""

    checked_by: ClassVar[str | None] = None
    """The engine that repeats some points of a study, for a spot check of this engine's times."""
    needs_check: ClassVar[bool] = False
    """Whether this spot check needs no `check: engines`."""

    processes: Annotated[Whole, NoPhysics] = Field(
        1,
        ge=1,
        le=1024,
        description="cores of one computer that share the work of each point, on SST and CODES; changes no result, and "
        "where it would the point is refused",
    )
