"""The module of each bundled kind, by the noun of its family and its name.

A kind is imported when a study names it. Which modules a result depends on follows from its kinds, not from this list.
"""


def _modules(package: str, *kinds: str) -> dict[str, str]:
    """Return the module of each kind: that of its name in the package of its family."""
    return {kind: f"fabricstudy.{package}.{kind.replace('-', '_')}" for kind in kinds}


MODULES: dict[str, dict[str, str]] = {
    "allocation": {"fragmented": "fabricstudy.schedule.fragmented", "slurm": "fabricstudy.schedule.slurm"}
    | _modules("workload.allocation", "cluster", "explicit", "random", "spread"),
    "analysis": _modules(
        "analysis",
        "candidates", "cost", "deadlock", "partitions", "resilience", "topologies",
    ),
    "backfill": dict.fromkeys(["conservative", "drain", "easy", "none"], "fabricstudy.schedule.backfill.rules"),
    "block sizes": dict.fromkeys(["file", "linear", "power-law", "uniform"], "fabricstudy.workload.block_sizes"),
    "engine": _modules("engine", "analysis", "caminos", "codes", "flow", "packet", "sst"),
    "machine": {"graph": "fabricstudy.machine.from_file"} | dict.fromkeys(
        ["express-mesh", "hypercube", "hyperx", "mesh", "torus"], "fabricstudy.machine.grids"
    ) | dict.fromkeys(["bluegene-p", "bluegene-q"], "fabricstudy.machine.bluegene") | _modules(
        "machine",
        "aries", "dragonfly", "fat-tree", "gemini", "jellyfish", "megafly", "percs", "polarfly", "rails", "slim-fly",
        "tofu-d", "xgft",
    ),
    "mapping": _modules(
        "workload.mapping",
        "annealing", "best", "curve", "exchange", "file", "greedy", "linear", "orb", "random", "recursive-bisection",
    ),
    "message sizes": dict.fromkeys(["lognormal", "table", "uniform"], "fabricstudy.workload.sizes"),
    "order": dict.fromkeys(["fcfs", "largest-first", "shortest-first"], "fabricstudy.schedule.order.simple") | _modules(
        "schedule.order", "wfp",
    ),
    "partition list": _modules("schedule.partition_list", "cuboids", "nodes", "shapes"),
    "pattern": dict.fromkeys(["gather", "incast", "scatter"], "fabricstudy.workload.pattern.rooted") | _modules(
        "workload.pattern",
        "all-gather", "all-reduce", "all-to-all", "barrier", "bisection", "broadcast", "idle", "matrix", "messages",
        "pairs", "pencil-fft", "permutation", "ping-pong", "reduce-scatter", "ring", "stencil", "task-graph", "trace",
        "training", "uniform-random",
    ),
    "price list": {"file": "fabricstudy.structure.prices.from_file"} | _modules(
        "structure.prices", "besta-2014", "mixnet-2025"
    ),
    "routing": _modules(
        "routing", "adaptive", "d-mod-k", "dimension-order", "ecmp", "minimal", "table", "ugal", "valiant"
    ),
    "trace": _modules("schedule.trace", "lublin", "sacct", "swf", "synthetic"),
    "traffic": dict.fromkeys(
        ["bit-reverse", "complement", "permutation", "shift", "shuffle", "transpose"],
        "fabricstudy.workload.traffic.permutations",
    ) | dict.fromkeys(["group-shift", "tornado"], "fabricstudy.workload.traffic.adversarial") | _modules(
        "workload.traffic", "hot-spot", "matrix", "mix", "neighbours", "uniform",
    ),
}  # fmt: skip

SYNONYMS = {"machine": {"dragonfly+": "megafly"}}
"""Other names that a study may write for a kind, by the noun of its family."""

BUNDLED_EXTENSIONS: dict[str, dict[str, str]] = {
    "allocation": dict.fromkeys(
        [
            "building-blocks", "convex-block", "cuboid", "one-group", "swapped-cluster", "tree-partition",
            "whole-groups",
        ],
        "partitioning",
    ),
    "analysis": {
        kind: kind.replace("-", "_")
        for kind in (
            "caps", "contention", "design", "express-lines", "isoperimetry", "packings", "partition-lists", "printed",
        )
    },
    "engine": {"htsim": "htsim"},
    "machine": {"twisted-torus": "twisted_torus"},
    "mapping": {"ordered": "ordered", "scotch": "scotch"},
    "pattern": dict.fromkeys(["patches", "placed-patches"], "namd")
    | dict.fromkeys(["spread", "sub-all-to-all", "unstructured-mesh"], "low_diameter")
    | {"hop-pairs": "wicon", "states-planes": "openatom", "strassen-bfs": "caps"}
    | {kind: kind.replace("-", "_") for kind in ("b-eff", "domain-all-to-all", "furthest-pairing", "refined-blocks")},
}  # fmt: skip
"""The file in ``configs/extensions`` of each kind that a study has to list as an extension."""
