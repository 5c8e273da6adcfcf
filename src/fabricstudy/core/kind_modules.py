"""The module of each bundled kind, by the noun of its family and its name.

A kind is imported when a study names it. Which modules a result depends on follows from its kinds, not from this list.
"""

_KINDS = {
    "allocation": (
        "workload.allocation",
        "building-blocks cluster convex-block cuboid explicit one-group random spread swapped-cluster tree-partition "
        "whole-groups",
    ),
    "analysis": (
        "analysis",
        "candidates caps contention cost deadlock design express-lines isoperimetry packings partition-lists "
        "partitions printed topologies",
    ),
    "backfill": ("schedule.backfill", "conservative drain easy none"),
    "engine": ("engine", "analysis caminos codes flow sst"),
    "machine": (
        "machine",
        "bluegene-p bluegene-q dragonfly express-mesh fat-tree hypercube hyperx jellyfish megafly mesh polarfly "
        "slim-fly tofu-d torus twisted-torus xgft",
    ),
    "mapping": (
        "workload.mapping",
        "annealing best curve exchange file greedy linear orb ordered random recursive-bisection scotch",
    ),
    "order": ("schedule.order", "fcfs largest-first shortest-first wfp"),
    "partition list": ("schedule.partition_list", "cuboids nodes shapes"),
    "pattern": (
        "workload.pattern",
        "all-gather all-reduce all-to-all b-eff barrier bisection broadcast furthest-pairing gather hop-pairs idle "
        "incast matrix messages pairs patches pencil-fft permutation ping-pong placed-patches reduce-scatter ring "
        "scatter spread states-planes stencil strassen-bfs sub-all-to-all task-graph uniform-random unstructured-mesh",
    ),
    "price list": ("structure.prices", "besta-2014"),
    "routing": ("routing", "adaptive d-mod-k dimension-order minimal table ugal valiant"),
    "trace": ("schedule.trace", "lublin swf synthetic"),
}
"""Package and kinds of each family; the module of a kind has its name, with "_" for "-"."""

MODULES: dict[str, dict[str, str]] = {
    noun: {kind: f"fabricstudy.{package}.{kind.replace('-', '_')}" for kind in kinds.split()}
    for noun, (package, kinds) in _KINDS.items()
}
MODULES["machine"]["graph"] = "fabricstudy.machine.from_file"
MODULES["price list"]["file"] = "fabricstudy.structure.prices.from_file"
MODULES["family of topologies"] = dict.fromkeys(
    ("dragonfly", "express-mesh", "fat-tree", "slim-fly"), "fabricstudy.analysis.families"
)
