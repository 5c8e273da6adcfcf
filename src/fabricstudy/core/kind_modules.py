"""The module of each bundled kind, by the noun of its family and its name.

A kind is imported when a study names it. Which modules a result depends on follows from its kinds, not from this list.
"""


def _modules(package: str, *kinds: str) -> dict[str, str]:
    """Return the module of each kind: that of its name in the package of its family."""
    return {kind: f"fabricstudy.{package}.{kind.replace('-', '_')}" for kind in kinds}


MODULES: dict[str, dict[str, str]] = {
    "allocation": _modules(
        "workload.allocation",
        "building-blocks", "cluster", "convex-block", "cuboid", "explicit", "one-group", "random", "spread",
        "swapped-cluster", "tree-partition", "whole-groups",
    ),
    "analysis": _modules(
        "analysis",
        "candidates", "caps", "contention", "cost", "deadlock", "design", "express-lines", "isoperimetry",
        "packings", "partition-lists", "partitions", "printed", "resilience", "topologies",
    ),
    "backfill": _modules("schedule.backfill", "conservative", "drain", "easy", "none"),
    "block sizes": dict.fromkeys(["file", "linear", "power-law", "uniform"], "fabricstudy.workload.block_sizes"),
    "engine": _modules("engine", "analysis", "caminos", "codes", "flow", "sst"),
    "family of topologies": dict.fromkeys(
        ["dragonfly", "express-mesh", "fat-tree", "slim-fly"], "fabricstudy.analysis.design"
    ),
    "machine": {"graph": "fabricstudy.machine.from_file"} | _modules(
        "machine",
        "aries", "bluegene-p", "bluegene-q", "dragonfly", "express-mesh", "fat-tree", "gemini", "hypercube",
        "hyperx", "jellyfish", "megafly", "mesh", "percs", "polarfly", "slim-fly", "tofu-d", "torus",
        "twisted-torus", "xgft",
    ),
    "mapping": _modules(
        "workload.mapping",
        "annealing", "best", "curve", "exchange", "file", "greedy", "linear", "orb", "ordered", "random",
        "recursive-bisection", "scotch",
    ),
    "order": _modules("schedule.order", "fcfs", "largest-first", "shortest-first", "wfp"),
    "partition list": _modules("schedule.partition_list", "cuboids", "nodes", "shapes"),
    "pattern": _modules(
        "workload.pattern",
        "all-gather", "all-reduce", "all-to-all", "b-eff", "barrier", "bisection", "broadcast",
        "furthest-pairing", "gather", "hop-pairs", "idle", "incast", "matrix", "messages", "pairs", "patches",
        "pencil-fft", "permutation", "ping-pong", "placed-patches", "reduce-scatter", "refined-blocks", "ring",
        "scatter", "spread", "states-planes", "stencil", "strassen-bfs", "sub-all-to-all", "task-graph",
        "uniform-random", "unstructured-mesh",
    ),
    "price list": {"file": "fabricstudy.structure.prices.from_file"} | _modules("structure.prices", "besta-2014"),
    "routing": _modules("routing", "adaptive", "d-mod-k", "dimension-order", "minimal", "table", "ugal", "valiant"),
    "trace": _modules("schedule.trace", "lublin", "swf", "synthetic"),
    "traffic": _modules(
        "workload.traffic",
        "bit-reverse", "complement", "group-shift", "hot-spot", "matrix", "mix", "neighbours", "permutation",
        "shift", "shuffle", "tornado", "transpose", "uniform",
    ),
}  # fmt: skip
