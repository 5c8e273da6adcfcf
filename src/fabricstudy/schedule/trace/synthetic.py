"""Jobs drawn from stated distributions."""

import math
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.core.errors import ConfigError
from fabricstudy.core.model import Model, Number, Whole
from fabricstudy.core.quantities import Span

from ..jobs import Jobs
from .base import OfferedLoad, RequestedTimes, Trace, scale

_Weight = Annotated[Number, Field(gt=0)]


class Runtime(Model):
    """Run times: log-normal, up to a maximum."""

    median_s: Span = Field(alias="median", description="median before times are scaled to the load")
    spread: Annotated[Number, Field(ge=0, le=5)] = Field(1.0, description="standard deviation of the logarithm")
    longest_s: Span = Field(alias="longest", description="maximum, independent of the load")


class Synthetic(Trace, kind="synthetic"):
    """Jobs drawn from stated distributions: a mix of sizes, log-normal run times, arrivals uniform over a span.

    With `load`, all run times are scaled by one factor, so that requested nodes times run times are this share of the
    machine's node-seconds in the span. Sizes, arrivals and the draws of the times do not depend on the load.
    """

    number: Annotated[Whole, Field(ge=1, le=10_000_000)] = Field(alias="jobs", description="jobs")
    span_s: Span = Field(alias="span", description="time over which jobs arrive")
    load: OfferedLoad | None = Field(
        None, description="requested node-seconds over those of the machine in the span; default: times as drawn"
    )
    sizes: dict[Annotated[int, Field(ge=1)], _Weight] = Field(
        min_length=1, max_length=1000, description="share of jobs by nodes: {nodes: share}"
    )
    runtime: Runtime = Field(description="run times")
    request: RequestedTimes = Field(default_factory=RequestedTimes, description="requested times")

    def __hash__(self) -> int:
        """Hash the values as JSON: `sizes` has no hash."""
        return hash(self.model_dump_json())

    @property
    def expected_jobs(self) -> int:
        return self.number

    def max_nodes(self, block_nodes: int) -> int:
        return max(self.sizes)

    def jobs(self, machine_nodes: int, block_nodes: int, seed: int, folder: Path) -> Jobs:
        """Draw the jobs; sizes, arrivals, run times and requests come from separate random streams."""
        sizes, arrivals, times, requests = (np.random.default_rng([seed, purpose]) for purpose in range(4))
        share = np.array(list(self.sizes.values()))
        nodes = sizes.choice(np.array(list(self.sizes)), self.number, p=share / share.sum())
        runtime_s = self._runtimes(nodes, machine_nodes, times)
        submit_s = np.sort(arrivals.uniform(0.0, self.span_s, self.number))
        return Jobs.of(submit_s, runtime_s, self.request.times(runtime_s, requests), nodes)

    def _runtimes(self, nodes: Ints, machine_nodes: int, rng: np.random.Generator) -> Floats:
        runtime = self.runtime
        drawn = runtime.median_s * np.exp(runtime.spread * rng.standard_normal(self.number))
        factor = 1.0
        if self.load is not None:
            total_node_s = self.load * machine_nodes * self.span_s
            factor = scale(nodes.astype(np.float64), drawn, runtime.longest_s, total_node_s)
            if not math.isfinite(factor):
                most = float(nodes.sum()) * runtime.longest_s / (machine_nodes * self.span_s)
                problem = f"{self.number} jobs of at most {runtime.longest_s:g} s have a load of at most {most:.2f}"
                remedy = "use more jobs, longer ones, or a lower load"
                raise ConfigError(problem, remedy, ("trace", "load"), self.load, "invalid-trace")
        runtime_s: Floats = np.minimum(drawn * factor, runtime.longest_s)
        return runtime_s
