"""Adapter of CAMINOS: prepare its input, read its result."""

from pathlib import Path

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.workload.messages import PlacedJob
from fabricstudy.workload.traffic.base import Destinations

from ..bundled import RESULT, BundledEngine
from ..contract import Unsupported
from ..point import Point
from ..registry import adapter_of
from ..steady_state import SteadyRun
from .caveats import CAVEATS
from .channels import channels, channels_of
from .clock import CaminosSettings, clock
from .cost import work
from .files import CONFIGURATION, write_files, write_offered
from .result import read_offered_result, read_result


@adapter_of(CaminosSettings)
class Caminos(BundledEngine):
    """The engine CAMINOS; see the module's docstring."""

    name = "caminos"
    title = "CAMINOS"
    build_folder = name
    reading_offered = read_offered_result.__module__
    caveats = CAVEATS
    work = staticmethod(work)
    read_result = staticmethod(read_result)

    def check(self, point: Point, machine: Machine) -> None:
        """Raise `Unsupported` for routings that cannot be listed, bandwidths without a common grid, and long delays."""
        clock(point, machine)
        channels(point, machine)

    def virtual_channels(self, routing: Routing, machine: Machine) -> int | None:
        """Return the default number of virtual channels of a routing; None for one that CAMINOS cannot take."""
        try:
            return channels_of(routing, machine)
        except Unsupported:
            return None

    def baseline(self, run: Point, point: Point, machine: Machine) -> CaminosSettings:
        """Return the settings with which a baseline run has the phit of its point."""
        assert isinstance(point.engine, CaminosSettings)
        try:
            phit, default_phit = clock(point, machine).phit_bytes, clock(run, machine).phit_bytes
        except Unsupported:
            return point.engine
        return point.engine if phit == default_phit else point.engine.model_copy(update={"inherited_phit_bytes": phit})

    def derived(self, point: Point, machine: Machine) -> dict[str, int]:
        return {"phit_bytes": clock(point, machine).phit_bytes, "virtual_channels": channels(point, machine)}

    def scale(self, point: Point, machine: Machine) -> dict[str, float]:
        units = clock(point, machine)
        return {"cycle_ns": units.cycle_ns, "phit_bytes": units.phit_bytes}

    def stored_bytes(self, point: Point, machine: Machine) -> float:
        return clock(point, machine).phit_bytes

    def prepare(self, folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> list[str]:
        write_files(folder, point, machine, jobs)
        return self.command(CONFIGURATION, RESULT)

    def prepare_offered(
        self, folder: Path, point: Point, machine: Machine, destinations: Destinations, load: float
    ) -> list[str]:
        write_offered(folder, point, machine, destinations, load)
        return self.command(CONFIGURATION, RESULT)

    def read_offered(self, folder: Path, exit_code: int, point: Point, machine: Machine) -> SteadyRun:
        self.check_exit(folder, exit_code)
        return read_offered_result(folder, point, machine)
