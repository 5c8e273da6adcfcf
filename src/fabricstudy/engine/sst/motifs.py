"""Patterns with a native motif of Ember."""

from fabricstudy.workload.job import Job
from fabricstudy.workload.pattern.all_to_all import AllToAll
from fabricstudy.workload.pattern.stencil import Stencil

from ..contract import Unsupported
from ..point import Point
from .traces import RankLayout


def check_native(point: Point) -> None:
    """Raise `Unsupported` for patterns without motif, background jobs, and jobs that compute."""
    for job in point.jobs:
        if not job.pattern.silent:
            native_motif(job, job.rank_count(point.machine.nodes, point.machine.cores_per_node))
    if any(job.background for job in point.jobs):
        raise Unsupported("Ember's own motifs cannot be repeated in the background; leave engine.motifs out")
    if any(job.compute is not None for job in point.jobs):
        raise Unsupported("Ember's own motifs do not compute; leave engine.motifs out, or compute")


def native_motif(job: Job, ranks: int) -> str:
    """Return the motif of a job's pattern; raise `Unsupported` if there is none.

    Ember's Alltoall sends to one rank after the other, in whatever order the study asks for; its Halo3D finishes one
    dimension before the next.

    Examples
    --------
    >>> motif = native_motif(Job.model_validate({"share": 1, "pattern": {"kind": "stencil", "message": "10 kB"}}), 24)
    >>> motif.startswith("Halo3D pex=2 pey=3 pez=4 nx=1 ny=1 nz=1 fields_per_cell=10000 datatype_width=1")
    True
    """
    pattern = job.pattern
    if isinstance(pattern, AllToAll) and pattern.sizes is None:
        return f"Alltoall bytes={int(pattern.message_bytes)} iterations={pattern.iterations} compute=0"
    if isinstance(pattern, Stencil) and not pattern.periodic and len(pattern.grid(ranks)) <= 3:
        # Ember's first dimension varies fastest, as the last one of the pattern does.
        z, y, x = (1, 1, 1, *pattern.grid(ranks))[-3:]
        return (
            f"Halo3D pex={x} pey={y} pez={z} nx=1 ny=1 nz=1 fields_per_cell={int(pattern.message_bytes)} "
            f"datatype_width=1 computetime=0 iterations={pattern.iterations} doreduce=0"
        )
    what = f"{pattern.kind} with these settings" if isinstance(pattern, Stencil | AllToAll) else pattern.kind
    raise Unsupported(f"Ember has no motif for {what}; leave engine.motifs out to run it from the message list")


def map_file(number: int, seats: RankLayout) -> str:
    """Return SST's rank of each task of job `number`, in the format of Ember's CustomMap."""
    tasks = "\n".join(map(str, seats.sst_rank_of_rank.tolist()))
    return f"[JOB {number} START]\n{tasks}\n[JOB {number} END]\n"
