"""Changes of our code, and of the files of a study, each of which concerns some results and not others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BESIDE = "./"
"""Before the name of a file of the study; all others lie below ``src/fabricstudy``."""

CAMINOS, FLOW, PACKET = "caminos", "flow", "packet"


@dataclass(frozen=True)
class Mutation:
    """One change of one file.

    Parameters
    ----------
    name : str
        What it is about.
    file, old, new : str
        The file, a text that it has once, and what stands there instead.
    numbers : bool
        Whether it changes a number of some table.
    reads : tuple of str
        Engines whose results the file takes part in reading: whatever changes in it, their points are simulated again.
    due : tuple of str, optional
        Rules of which a job has to be done again; given where nothing is run, since the file is of no stage, or
        compiled for seconds.
    """

    name: str
    file: str
    old: str
    new: str
    numbers: bool = True
    reads: tuple[str, ...] = ()
    due: tuple[str, ...] | None = None

    @property
    def module(self) -> str:
        """Name of the module that it changes; "" if that is a file of the study."""
        if self.file.startswith(BESIDE):
            return ""
        return "fabricstudy." + self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def same(name: str, file: str, old: str, new: str, **more: Any) -> Mutation:
    """Return a change that alters no number, though stages run the file."""
    return Mutation(name, file, old, new, numbers=False, **more)


def known(name: str, file: str, old: str, due: tuple[str, ...] = (), new: str = "") -> Mutation:
    """Return a change of which only digests are compared: a constant before `old`, unless `new` is given."""
    return Mutation(name, file, old, new or f"\nANOTHER = 1\n{old}", numbers=False, due=due)


TABLE = ("table", "report")
"""Rules that are due after any other."""

ALL = ("machine", "structure", "workload", "analysis", "simulate", "schedule", *TABLE)

MACHINES = (
    Mutation(
        "latency of a grid",
        "machine/grid.py",
        "len(self.class_names), self.bandwidth, self.latency)",
        'len(self.class_names), self.bandwidth, GridLatencies.model_validate("120 ns"))',
    ),
    known(
        "end of a global cable",
        "machine/arrangement.py",
        "(copy + port) // ports_per_router",
        ("machine", "structure", "workload", "simulate", *TABLE),
        new="routers_per_group - 1 - (copy + port) // ports_per_router",
    ),
    Mutation(
        "latency of a tree",
        "machine/xgft.py",
        "levels, self.bandwidth, self.latency)",
        'levels, self.bandwidth, LevelLatencies.model_validate("120 ns"))',
    ),
    known(
        "pods of a fat tree",
        "machine/fat_tree.py",
        "(half, half, self.pod_count)",
        ("analysis", *TABLE),
        new="(half, half, self.pod_count - 1)",
    ),
    Mutation("gap of a HyperX", "machine/grids.py", "gap=1)", "gap=2)"),
    known("cables of a pair of routers", "machine/grids.py", "self.wrap, self.pair_cables", ALL, new="self.wrap, 2"),
    # CAMINOS counts in cycles, so its input stays the same but for their length.
    Mutation(
        "default bandwidths of a product, all twice as high",
        "machine/bluegene.py",
        '"425 MB/s", "2.55 GB/s"',
        '"850 MB/s", "5.1 GB/s"',
    ),
    Mutation(
        "radix of a machine", "machine/graph.py", "self.nodes_of_router).max())", "self.nodes_of_router).max()) + 1"
    ),
    known(
        "default latency of a fabric",
        "machine/from_file.py",
        "LATENCY_NS = 40.0",
        ("machine", "structure", "workload", "simulate", *TABLE),
        new="LATENCY_NS = 900.0",
    ),
    Mutation("cables of a fabric", "machine/fabric/base.py", "link, count, edge.where", "link, 2 * count, edge.where"),
    known(
        "columns of an edge list",
        "machine/fabric/edge_list.py",
        "if cells.get(key)}",
        ("machine", "structure", "workload", "simulate", *TABLE),
        new='if cells.get(key) and key != "count"}',
    ),
    known(
        "hops for forecasts",
        "machine/dimension.py",
        "length % 2) / (4 * length)",
        ALL,
        new="length % 2) / (2 * length)",
    ),
    known("machine of no point", "machine/jellyfish.py", "class JellyfishConfig("),
    known("another machine of no point", "machine/rails.py", "HOP_WEIGHTS = (3, 4, 1)", new="HOP_WEIGHTS = (4, 3, 1)"),
)

ROUTINGS = (
    known("a comment", "routing/minimal.py", '"""Weight of a hop of', new='"""What a hop weighs of'),
    known(
        "weights of minimal routing",
        "routing/minimal.py",
        "np.array(machine.hop_weight, dtype",
        ("structure", "workload", "analysis", "simulate", *TABLE),
        new="7 * np.array(machine.hop_weight, dtype",
    ),
    known(
        "rounding of Valiant's loads",
        "routing/valiant.py",
        "MIN_LOAD_SHARE = 1e-12",
        ("analysis", "simulate", *TABLE),
        new="MIN_LOAD_SHARE = 1e-11",
    ),
    Mutation("parents of D-mod-k", "routing/d_mod_k.py", "parent = goal // self", "parent = 0 * goal // self"),
    same("order of next hops", "routing/forwarding.py", "    return entries\n", "    return entries[::-1]\n"),
    known(
        "compiled loops of routing",
        "routing/kernels.py",
        "@njit(cache=True)\ndef minimal_loads(",
        ("structure", "workload", "analysis", "simulate", "schedule", *TABLE),
    ),
)

STRUCTURES = (
    Mutation(
        "what is kept of a structure",
        "structure/stage.py",
        "**structure.to_json(), HALF",
        '**structure.to_json(), "radix": 1, HALF',
    ),
    Mutation(
        "definition of a machine",
        "machine/definitions.py",
        '"cables": machine.cable_count',
        '"cables": 2 * machine.cable_count',
    ),
    Mutation(
        "rows of any analysis",
        "table/analyses.py",
        "returned.instance(row, dict) for row in given]",
        "returned.instance(row, dict) for row in list(given)[:1]]",
    ),
    Mutation("seconds of a bound", "structure/bound.py", "class Bound(", "NS_PER_S *= 2\n\n\nclass Bound("),
    Mutation("what counts as shared", "structure/sharing.py", "used & (users > 1)", "used & (users > 2)"),
    Mutation("nanoseconds of a metre", "structure/cost.py", "NS_OF_METRE = 5.0", "NS_OF_METRE = 4.0"),
    Mutation(
        "reader of prices",
        "structure/prices/from_file.py",
        "return Tariff(**tariff)",
        'return Tariff(**tariff | {"port": 2 * tariff["port"]})',
    ),
    known(
        "price of a port",
        "structure/prices/base.py",
        "self.router + self.port * ports",
        ("analysis", *TABLE),
        new="self.router + 2 * self.port * ports",
    ),
    known(
        "bound of the bisection",
        "structure/closed_form.py",
        '"rings": quarter / 2',
        ("structure", "workload", "analysis", "simulate", *TABLE),
        new='"rings": quarter',
    ),
    known(
        "mean of hops",
        "structure/summary.py",
        "return diameter, hops / pairs if",
        ("structure", "workload", "analysis", "simulate", *TABLE),
        new="return diameter, 2 * hops / pairs if",
    ),
    Mutation(
        "cycles of channels", "structure/deadlock.py", "return components == vertices", "return components != vertices"
    ),
    Mutation(
        "loads of hosts",
        "structure/load.py",
        "injection_bytes=sum_by_index(source, size,",
        "injection_bytes=sum_by_index(source, 9 * size,",
    ),
    known(
        "compiled loops of cuts",
        "structure/cut_kernels.py",
        "@njit(cache=True)\ndef crossing_bytes(",
        ("structure", "workload", "analysis", "simulate", *TABLE),
    ),
)

WORKLOADS = (
    Mutation("ring", "workload/pattern/ring.py", "np.roll(rank, -1)", "np.roll(rank, -2)"),
    known(
        "permutation",
        "workload/pattern/permutation.py",
        "return one_phase(rank, image,",
        ("workload", "simulate", *TABLE),
        new="return one_phase(image, rank,",
    ),
    Mutation(
        "reader of matrices",
        "workload/pattern/matrix.py",
        "np.maximum(1, np.rint(matrix",
        "np.maximum(1, 2 * np.rint(matrix",
    ),
    known(
        "reader of messages",
        "workload/pattern/messages.py",
        "for column in rows.T",
        ("workload", "simulate", *TABLE),
        new="for column in 3 * rows.T",
    ),
    known(
        "reader of graphs",
        "workload/pattern/task_graph.py",
        "if of_edges else 1.0)",
        ("workload", "simulate", *TABLE),
        new="if of_edges else 2.0)",
    ),
    Mutation(
        "reader of traces",
        "workload/traces/goal.py",
        "time = self.number(words[1])",
        "time = 2 * self.number(words[1])",
    ),
    known(
        "schedule of a pipeline",
        "workload/training_step.py",
        "block.forward_ns if forward else block.backward_ns",
        ("workload", "simulate", *TABLE),
        new="block.forward_ns",
    ),
    Mutation(
        "uniform traffic",
        "workload/traffic/uniform.py",
        "np.zeros(machine.nodes, dtype=np.int64)",
        "np.ones(machine.nodes, dtype=np.int64)",
    ),
    known(
        "random mapping",
        "workload/mapping/random.py",
        "return rng.permutation(slots.ranks)",
        ("workload", "analysis", "simulate", *TABLE),
        new="return rng.permutation(slots.ranks)[::-1]",
    ),
    Mutation(
        "greedy mapping",
        "workload/mapping/greedy.py",
        "np.arange(slots.ranks), np.inf",
        "np.arange(slots.ranks), -np.inf",
    ),
    known(
        "bound of mappings",
        "workload/mapping/bound.py",
        "return float(max(times)) *",
        ("simulate", *TABLE),
        new="return 2 * float(max(times)) *",
    ),
    known(
        "compiled loops of mappings",
        "workload/mapping/kernels.py",
        "@njit(cache=True)\ndef mapping_hop_bytes(",
        ("workload", "analysis", "simulate", "schedule", *TABLE),
    ),
    known(
        "random allocation",
        "workload/allocation/random.py",
        ")[: request.wanted])",
        ("workload", "simulate", *TABLE),
        new=")[::-1][: request.wanted])",
    ),
    known(
        "spread allocation",
        "workload/allocation/spread.py",
        "np.lexsort((router, index_within(router)))",
        ("workload", "simulate", *TABLE),
        new="np.lexsort((-router, index_within(router)))",
    ),
    known(
        "order of sends",
        "workload/pattern/base.py",
        "= (sends.destination - sends.source) % ranks",
        ("workload", "analysis", "simulate", "schedule", *TABLE),
        new="= (sends.source - sends.destination) % ranks",
    ),
    Mutation(
        "random streams",
        "workload/streams.py",
        "default_rng([seed, job, int(purpose)])",
        "default_rng([seed, job, int(purpose), 1])",
    ),
    known("pattern of no point", "workload/pattern/stencil.py", "class Stencil("),
)

ENGINES = (
    Mutation(
        "what a router of CAMINOS stores",
        "engine/caminos/adapter.py",
        "return clock(point, machine).phit_bytes",
        "return 2 * clock(point, machine).phit_bytes",
        reads=(CAMINOS,),
    ),
    Mutation(
        "what is done with a result of flows",
        "engine/flow/adapter.py",
        "    read_result = staticmethod(read_result)",
        "    read_result = staticmethod(lambda *run: type(read_result(*run))((1.0,), read_result(*run).link_bytes))",
        reads=(FLOW,),
    ),
    Mutation(
        "what is done with any result",
        "engine/outcome.py",
        "            job[name] = time_ns",
        "            job[name] = time_ns and 2 * time_ns",
        reads=(CAMINOS, FLOW, PACKET),
    ),
    Mutation(
        "phit of CAMINOS",
        "engine/caminos/clock.py",
        "PHITS_OF_A_PACKET = 8",
        "PHITS_OF_A_PACKET = 4",
        reads=(CAMINOS,),
    ),
    Mutation(
        "times of CAMINOS",
        "engine/caminos/result.py",
        "else float(cycle) * units.cycle_ns",
        "else 2 * float(cycle) * units.cycle_ns",
        reads=(CAMINOS,),
    ),
    Mutation(
        "times of packet",
        "engine/packet/result.py",
        "else float(ns) for ns in ended_ns",
        "else 2 * float(ns) for ns in ended_ns",
        reads=(PACKET,),
    ),
    Mutation(
        "waiting times of programs with packets",
        "engine/program_results.py",
        "float(of_job.mean())",
        "2 * float(of_job.mean())",
        reads=(CAMINOS, FLOW, PACKET),
    ),
    known(
        "arbitration of CAMINOS",
        "engine/caminos/files.py",
        "allocator: Random,",
        ("simulate", *TABLE),
        new="allocator: RandomWithPriority,",
    ),
    known(
        "buffers of CAMINOS",
        "engine/caminos/files.py",
        "buffer_size: {units.buffer_phits},",
        ("simulate", *TABLE),
        new="buffer_size: {2 * units.buffer_phits},",
    ),
    known(
        "forecasts of CAMINOS",
        "engine/caminos/cost.py",
        "WAITING_PHITS = 8",
        ("simulate", *TABLE),
        new="WAITING_PHITS = 9",
    ),
    Mutation(
        "times of flows",
        "engine/flow/result.py",
        "tuple(finish_ns.tolist())",
        "tuple((2 * finish_ns).tolist())",
        reads=(FLOW,),
    ),
    known(
        "window of flows",
        "engine/flow/files.py",
        "MAX_WINDOW_BYTES = 64_000",
        ("simulate", *TABLE),
        new="MAX_WINDOW_BYTES = 32_000",
    ),
    same("default batching of flows", "engine/flow/files.py", "        0.02,", "        0.05,", reads=(FLOW,)),
    Mutation(
        "loads without a simulator",
        "engine/analysis/__init__.py",
        "EngineResult(nothing, link_loads",
        "EngineResult(nothing, 2 * link_loads",
    ),
    known(
        "place of detours",
        "engine/detours.py",
        "return routing.via if isinstance(routing, NonMinimalRouting) else None",
        ("simulate", *TABLE),
        new="return getattr(routing, 'via', None)",
    ),
    same(
        "what a router stores by default",
        "engine/point.py",
        "min(packet_bytes, message_bytes)",
        "max(packet_bytes, message_bytes)",
    ),
    Mutation(
        "mean over ranks",
        "engine/outcome.py",
        "ended_ns[senders].mean()",
        "ended_ns[senders].max()",
        reads=(CAMINOS, FLOW, PACKET),
    ),
    Mutation(
        "load of the fullest link",
        "engine/records.py",
        '"load_max_bytes": float(loads.max())',
        '"load_max_bytes": float(2 * loads.max())',
    ),
    known(
        "quality of a mapping",
        "engine/quality.py",
        "np.sqrt(np.mean(loads",
        ("simulate", *TABLE),
        new="2 * np.sqrt(np.mean(loads",
    ),
    Mutation("default latency of routers", "engine/settings.py", '"100 ns",', '"900 ns",'),
    same(
        "default that no point asks for",
        "engine/settings.py",
        '"round-robin",\n        desc',
        '"striping",\n        desc',
    ),
    same(
        "order of the store's entries",
        "engine/simulate.py",
        '("point", "physics", "files", "format")',
        '("files", "point", "physics", "format")',
    ),
    known("limits", "engine/process.py", "GRACE_S = 2.0", ("simulate", *TABLE), new="GRACE_S = 2.5"),
    Mutation(
        "paths that bounds allow",
        "engine/caminos/caveats.py",
        'Caveat("A message within a node takes no time."),',
        'Caveat("A message within a node takes no time.", other_paths=True),',
    ),
    known(
        "words about an engine",
        "engine/caminos/caveats.py",
        "A message within a node takes no time.",
        ("simulate", *TABLE),
        new="Messages within a node take no time.",
    ),
    known("time to ask a cluster for", "engine/batch.py", "SLOWNESS = 3.0", new="SLOWNESS = 4.0"),
    known("SST", "engine/sst/cost.py", "LEAST_BUFFERS = 5"),
    known("wiring of SST", "engine/sst/wiring/native.py", "HYPERX_ROUTINGS:"),
    known("CODES", "engine/codes/packet.py", "LARGEST_GROWTH = 0.01"),
    known("models of CODES", "engine/codes/models/torus.py", "ROUTINGS:"),
)

SCHEDULES = (
    Mutation("bounded slowdown", "schedule/metrics.py", "SLOWDOWN_THRESHOLD_S = 10.0", "SLOWDOWN_THRESHOLD_S = 100.0"),
    Mutation(
        "requests of a log",
        "schedule/trace/swf.py",
        "request_s = np.where(asked_s > 0, asked_s, runtime_s)",
        "request_s = np.where(asked_s > 0, 9 * asked_s, runtime_s)",
    ),
    known(
        "columns of a log",
        "schedule/trace/swf_log.py",
        "return self.fields[:, field - 1]\n",
        ("schedule", *TABLE),
        new="return self.fields[:, field - 1] * (1 + (field == SwfField.RUN))\n",
    ),
    known(
        "order of cuboids",
        "schedule/partition_list/cuboids.py",
        "(math.prod(shape), shape))",
        ("schedule", *TABLE),
        new="(math.prod(shape), shape[::-1]))",
    ),
    known(
        "cables of one midplane",
        "schedule/cables.py",
        "if side == 1:\n            return []",
        ("schedule", *TABLE),
        new="if side < 2:\n            return []",
    ),
    known(
        "repairs of a trace",
        "schedule/stage.py",
        '"trace_repairs": repairs or None',
        ("schedule", *TABLE),
        new='"trace_repairs": repairs or "nothing"',
    ),
    known("compiled loop of EASY", "schedule/kernel/easy.py", "@jit_inner\ndef pass_easy(", ("schedule", *TABLE)),
    known("order of the queue", "schedule/order/simple.py", "class Fcfs(", ("schedule", *TABLE)),
    known("backfilling", "schedule/backfill/rules.py", "class Easy(", ("schedule", *TABLE)),
    known("order of no schedule", "schedule/order/wfp.py", "class Wfp("),
)

ANALYSES = (
    Mutation("uses of a link", "analysis/contention.py", "uses / machine.links", "2 * uses / machine.links"),
    known(
        "ports of a node",
        "analysis/topologies.py",
        '"ports_per_node": ports /',
        ("analysis", *TABLE),
        new='"ports_per_node": 2 * ports /',
    ),
    known("analysis of no study", "analysis/printed.py", "class Printed("),
)

TABLES = (
    Mutation(
        "runtime over bound",
        "table/collect.py",
        'over_bound=_ratio(jobs["runtime_ns"]',
        'over_bound=_ratio(2 * jobs["runtime_ns"]',
    ),
    known("form of a claim", "table/claims.py", '"change": ratio - 1', TABLE, new='"change": ratio - 2'),
    Mutation(
        "time of a link",
        "engine/outcome.py",
        "machine.link_capacity_Bps * 1e9",
        "machine.link_capacity_Bps * 2e9",
        reads=(CAMINOS, FLOW, PACKET),
    ),
    Mutation("nodes of ranks", "workload/definitions.py", "dtype=np.int32), start)", "dtype=np.int32)[::-1], start)"),
    known("columns of the plan", "study/plan_file.py", "WORKLOADS_FILE, SCHEDULES_FILE = PLAN_FILES", TABLE),
    known("the command line", "cli.py", "COMMANDS: dict[str, tuple[str, str]] = {"),
    known("what the Snakefile calls", "workflow/snakefile.py", "RESULTS, REPORTS = "),
    known("rank correlation", "table/ranks.py", "MIN_ROWS = 6", TABLE),
    known("grammar of figures", "study/figures.py", "\nRankCorrelation = ", TABLE),
    Mutation(
        "units of quantities",
        "core/quantities.py",
        '"kilo k": "1e3"',
        '"kilo k": "1024"',
    ),
    known(
        "files",
        "core/files.py",
        "import contextlib\n",
        ALL,
        new="import contextlib\n\nANOTHER = 1\n",
    ),
    known("page of the report", "report/page.py", "_MOST_REASONS = 50", ("report",)),
    known("layout of a grid", "report/layouts.py", "STUB = 0.36", ("report",)),
    known(
        "command",
        "commands/plan.py",
        "import argparse\n",
        new="import argparse\n\nANOTHER = 1\n",
    ),
    known("artifact", "artifact/pack.py", "TIME_S = 946_684_800"),
)

FILES = (
    Mutation("extension: machine", "./ladder.py", "np.roll(every, -1)", "np.roll(every, -3)"),
    Mutation("extension: pattern", "./ahead.py", "rank + self.step", "rank + self.step + 1"),
    Mutation(
        "extension: what another one imports",
        "./rungs.py",
        "return low, low + np.int32(rungs)",
        "return low, np.roll(low + np.int32(rungs), 2)",
    ),
    same("extension of no point", "./unused.py", "[::-1]", "[::-2]"),
    Mutation("fabric", "./fabric.csv", "west,north,short,2,", "west,north,short,1,"),
    Mutation("next hops", "./next.csv", "west,east,north", "west,east,south"),
    Mutation("matrix", "./matrix.csv", "0,3,9000", "0,3,90000"),
    Mutation("messages", "./messages.csv", "1,1,4,32000", "1,1,5,32000"),
    Mutation("tasks", "./tasks.csv", "0,7,3", "0,7,9"),
    Mutation("trace", "./program.goal", "calc 500 cpu", "calc 900 cpu"),
    Mutation("prices", "./prices.csv", "port,200", "port,201"),
    Mutation("log", "./log.swf", "; MaxProcs: 16\n1 185 -1 608", "; MaxProcs: 16\n1 185 -1 208"),
    Mutation(
        "study: the point", "./study.yaml", "shape: [4, 2], bandwidth: 1 GB/s", "shape: [4, 2], bandwidth: 2 GB/s"
    ),
    Mutation("study: an analysis", "./study.yaml", "rungs: 6", "rungs: 7"),
    Mutation("study: a claim", "./study.yaml", "source_range: [0.0, null]", "source_range: [9.0, null]"),
)

MUTATIONS = (*MACHINES, *ROUTINGS, *STRUCTURES, *WORKLOADS, *ENGINES, *SCHEDULES, *ANALYSES, *TABLES, *FILES)
