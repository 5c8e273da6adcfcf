"""The columns of all tables, with their descriptions: plain data that imports nothing.

The grammar of studies, the tables, the report and the comparison of runs read it. The last part of a column's name is
its unit. The axes of a study are columns, too; they follow the first one.
"""

from dataclasses import dataclass, replace
from typing import Literal

DONE = "done"
NOT_NEEDED = "not-needed"
STATUSES = (DONE, "failed", "timeout", "out-of-memory", "unsupported", "skipped", "missing", "damaged", NOT_NEEDED)
"""Outcomes of a point: ``skipped`` without its engine, ``missing`` without a record, ``damaged`` with a broken one,
``not-needed`` if results are precise or decided without it, or its combination is screened out."""

FAILURES = ("failed", "timeout", "out-of-memory", "unsupported")
"""Statuses of points that ended but are not done."""

NOT_RUN = "not run"
REPRODUCED, UNDECIDED, DIFFERS = "reproduced", "undecided", "differs"
IN_PART = "reproduced in part"
PART_VERDICTS = (REPRODUCED, UNDECIDED, DIFFERS, NOT_RUN)
VERDICTS = (REPRODUCED, IN_PART, UNDECIDED, DIFFERS, NOT_RUN)
"""Verdicts on a claim. Those on its parts are `PART_VERDICTS`."""

REPETITIONS = ("precise", "not precise", "first seeds", "all seeds", "no variation", "failed")
"""Outcomes of a combination whose number of seeds depends on results."""

SCREENED = (
    "among the fastest", "nearest to the front", "possibly the fastest", "possibly on the front", "sampled",
    "not simulated",
)  # fmt: skip
"""Outcomes of a combination that is screened."""

FACTOR_SOURCES = ("none", "given", "bisection", "simulated", "expected load")
"""Sources of the factor by which a job runs longer on its partition."""

BASELINE_EXPERIMENT = "(baseline)"
"""Experiment of baseline runs."""

SPOT_CHECK = "(spot check)"
"""Experiment of points that are simulated on two engines to validate one of them."""

SCREENING = "(screening)"
"""Experiment of points on the engine that decides which combinations are simulated."""

ADDED_EXPERIMENTS = (BASELINE_EXPERIMENT, SPOT_CHECK, SCREENING)
"""Experiments of points that are in no study."""

FAILURE = "(failure)"
"""Column of the table of an analysis that failed, with the reason in its only row."""

MIN_DIFFERENCE = 1e-3
"""Relative difference below which two times are equal: less than any simulator resolves."""

UNIT_OF_SUFFIX = {"ns": "nanosecond", "s": "second", "bytes": "byte", "Bps": "byte/second"}
"""Unit of a column by the last part of its name."""
UNIT_SYMBOL = {"nanosecond": "ns", "second": "s", "byte": "B", "byte/second": "B/s"}


def column_unit(name: str) -> str | None:
    """Return the unit that a column's name ends in, or None for a plain number.

    Examples
    --------
    >>> column_unit("runtime_ns"), column_unit("slowdown")
    ('nanosecond', None)
    """
    return UNIT_OF_SUFFIX.get(name.rsplit("_", 1)[-1]) if "_" in name or name == "bytes" else None


@dataclass(frozen=True)
class Column:
    """One column of a table, `about` which the documentation has a phrase. Counts and numbers are not negative."""

    name: str
    about: str
    type: Literal["text", "count", "number", "any number", "flag"] = "text"
    missing: bool = False
    """A row may be without it."""
    metric: bool = False
    """Figures may draw it, and claims may judge it."""
    key: bool = False
    """It identifies rows, besides the study's axes and the seed; figures and claims may name it."""
    names: str | None = None
    """The key that it is the name of, and replaces where a study uses it."""
    identity: bool = False
    """It identifies rows when two runs are compared."""
    compared: bool = True
    """Two runs have to agree in it."""
    one_of: tuple[str, ...] = ()
    """All possible values; empty for any."""

    @property
    def unit(self) -> str | None:
        return None if self.type == "text" else column_unit(self.name)


def _text(name: str, about: str, missing: bool = False, one_of: tuple[str, ...] = ()) -> Column:
    return Column(name, about, missing=missing, one_of=one_of)


def _id(name: str, about: str) -> Column:
    return Column(name, about, identity=True)


def _count(name: str, about: str, missing: bool = False, metric: bool = False) -> Column:
    return Column(name, about, "count", missing, metric)


def _metric(name: str, about: str, missing: bool = True) -> Column:
    return Column(name, about, "number", missing, metric=True)


def _signed(name: str, about: str) -> Column:
    return Column(name, about, "any number", missing=True, metric=True)


def _of_run(name: str, about: str, type: Literal["text", "count", "number"] = "text", metric: bool = False) -> Column:
    """A column on where, when and how fast something ran, which differs from run to run."""
    return Column(name, about, type, missing=True, metric=metric, compared=False)


_EXPERIMENT = _text("experiment", "experiment of the study")
_SEED = Column("seed", "seed of the point's random choices", "count", missing=True, identity=True)
_ENGINE = Column("engine", "simulator", key=True, identity=True)
_MACHINE_ID = _id("machine_id", "digest of the machine's description")
_POINT_ID = _id("point_id", "digest of the point's physics")
_OF_POINT = (_EXPERIMENT, _SEED, _ENGINE, _POINT_ID, replace(_MACHINE_ID, identity=False))
_OF_SEVERAL_POINTS = (_EXPERIMENT, replace(_SEED, missing=False), _MACHINE_ID)
_JOB_NUMBER = Column("job", "number of the job in its point, from 0", "count", key=True, identity=True)
_JOB = (_JOB_NUMBER, Column("job_name", "name of the job", names="job"))
_RUNTIME = _metric("runtime_ns", "time from the start to the last arrival")
_BASELINE = _metric("baseline_ns", "runtime of the baseline run: the job alone on the same nodes")
_SLOWDOWN = _metric("slowdown", "runtime over that of the baseline run")
_MESSAGE_SLOWDOWNS = (
    _metric("message_mean_slowdown", "mean time of a message over that in the baseline run"),
    _metric("message_p99_slowdown", "99th percentile of the message times over that in the baseline run"),
)
_CLASS = Column("class", "class of links", key=True, identity=True)
_CLASS_NODES = Column("class_nodes", "nodes of the size class", "count", key=True, identity=True)
_PART = (_id("claim", "name of the claim"), Column("part", "number of the part, from 0", "count", identity=True))
_POINTS_BEHIND = _count("points", "points, machines or rows it is based on")
_MEASURED = (
    Column("measured", "the number, from medians over seeds", "any number", missing=True),
    Column("low", "lower end of its interval; the last label if a level is not reached", "any number", missing=True),
    Column("high", "upper end of its interval; missing where it has none", "any number", missing=True),
)
_BUFFER_LIMIT = (
    _metric(
        "buffer_limit",
        "share of a link's bandwidth that the buffers allow to one stream of packets, at most 1; least over the link "
        "classes. Below 1 packets wait for credits also where nothing contends",
    ),
    _count("buffer_needed_bytes", "buffer from which on it is 1", missing=True, metric=True),
)
_PAIRS = (
    _count("pairs", "comparisons it is based on", missing=True),
    _count("pairs_planned", "comparisons asked for; more than `pairs` where points have no partner", missing=True),
)
_OF_RUN = (_text("schedule", "schedule of the study"), _SEED, _id("run_id", "digest of all that can change the run"))
_TIMES = (
    _metric("wait_mean_s", "mean wait, from submission to start"),
    _metric("wait_p95_s", "wait that 95 % of the jobs do not exceed"),
    _metric("wait_max_s", "longest wait"),
    _metric("response_mean_s", "mean response, from submission to end"),
    _metric("slowdown_mean", "mean bounded slowdown: response over run time without slowdown, 10 s at least"),
)
_JUDGED = (
    _text("verdict", "verdict on this part", one_of=PART_VERDICTS),
    Column("reason", "why it is not run, or has no number", missing=True, compared=False),
    _text("claim_verdict", "verdict on the claim", one_of=VERDICTS),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "points": (
        *_OF_POINT,
        _of_run("version", "version of the simulator"),
        _text("status", "how it ended", one_of=STATUSES),
        _of_run("reason", "why it is not done"),
        _of_run("cpu_s", "processor time of the simulator", "number", metric=True),
        _of_run("wall_s", "elapsed time of the simulator", "number", metric=True),
        _of_run("memory_bytes", "largest memory of the simulator", "count", metric=True),
        _of_run("overhead_cpu_s", "processor time around the simulator", "number", metric=True),
        _of_run("host", "computer on which it ran"),
        _of_run("started", "when it ran"),
        _of_run("fingerprint", "digest of the code that made it"),
    ),
    "jobs": (
        *_OF_POINT,
        *_JOB,
        Column("background", "whether it repeats until the others have ended: no time, bound or slowdown", "flag"),
        _count("ranks", "ranks"),
        _count("nodes", "nodes"),
        _count("messages", "messages of all ranks", metric=True),
        _count("bytes", "bytes of all messages", metric=True),
        _RUNTIME,
        _metric("rank_mean_ns", "time from the start to the end of a rank, mean over the ranks that send"),
        _metric(
            "message_mean_ns", "time from posting a message to its arrival at another node, mean over the messages"
        ),
        _metric("message_p99_ns", "least time that 99 % of these messages do not exceed"),
        _metric("compute_ns", "time for which a rank computes, mean over the ranks"),
        _metric(
            "communication_ns",
            "the rest of the runtime: messages, waiting for them and for slower ranks, and the bubble of a pipeline; "
            "where exposed_ns and bubble_ns are known, and one stream of a rank computes, their sum",
        ),
        _metric("waiting_ns", "time in which a rank neither computes nor sends, mean over the ranks; of traces"),
        _metric("delivered_load", "bytes of a background job with a load, over the capacity of its nodes' links"),
        _metric("exposed_ns", "time in which a rank only communicates, mean over the ranks; of traces with marks"),
        _metric("bubble_ns", "the rest of the runtime, in which a rank neither computes nor communicates; mean"),
        _metric("bound_ns", "link bound: a lower bound, since links have a capacity and jobs compute"),
        _text("bound_method", "its origin: host, cut, hop-bytes, paths or computation", missing=True),
        _metric("expected_load_ns", "time at the expected link loads, if known; not a bound: a run may be faster"),
        _metric("phase_bound_ns", "phase bound: least time in which the phases follow each other without contention"),
        _metric(
            "critical_path_ns", "longest path of messages and computation that depend on each other, no contention"
        ),
        *_BUFFER_LIMIT,
        _metric("over_bound", "runtime over the link bound"),
        _metric("over_phase_bound", "runtime over the phase bound"),
        _metric("over_critical_path", "runtime over the critical path"),
        _BASELINE,
        _SLOWDOWN,
        *_MESSAGE_SLOWDOWNS,
        _metric("rate_Bps", "bytes over runtime"),
        _text("mapping_start", "initial mapping of the result, where several are tried", missing=True),
        _metric("hop_bytes", "bytes times hops between routers on shortest paths"),
        _metric("hops_mean", "mean hops of a byte on shortest paths, whatever the routing; see hops_routed"),
        _metric("hops_routed", "mean hops of a byte as simulated, of a job that is alone in its point"),
        _metric("hops_max", "most hops of a message on shortest paths (dilation)"),
        _metric("hop_bytes_bound", "least bytes times hops of any mapping of the ranks to the job's cores"),
        _text("hop_bound_method", "how that was found: partners or spectrum", missing=True),
        _metric("hop_bytes_over_bound", "bytes times hops over the least of any mapping"),
        _metric("link_max_bytes", "bytes on the bottleneck link by the routes; of minimal ones if it is adaptive"),
        _metric("link_rms_bytes", "root of the mean square of the bytes on a link, by the same routes"),
        _metric("bound_any_mapping_ns", "least time in which the links carry the bytes, however ranks are mapped"),
    ),
    "marks": (
        *_OF_POINT,
        *_JOB,
        Column("mark", "part of the program: the mark of its operations", key=True, identity=True),
        _metric("start_ns", "first time at which one of its operations is active", missing=False),
        _metric("end_ns", "end of its last operation", missing=False),
        _count("bytes", "bytes that its operations send", metric=True),
        _metric("compute_ns", "time of its calcs, mean over the ranks", missing=False),
        _metric(
            "exposed_ns",
            "time in which a rank does not compute while a message of the mark is active there, divided equally among "
            "the marks that are; mean over the ranks",
            missing=False,
        ),
    ),
    "operations": (
        *_OF_POINT,
        _JOB_NUMBER,
        Column("rank", "rank in the job, from 0", "count", key=True, identity=True),
        _text("kind", "calc, send or receive", one_of=("calc", "send", "receive")),
        Column("mark", "part of the program", key=True, identity=True),
        Column("start_ns", "its start; of a receive the start of the send, if later", "number", identity=True),
        _metric("end_ns", "its end", missing=False),
    ),
    "messages": (
        *_OF_POINT,
        *_JOB,
        Column("source_rank", "rank that sends", "count", key=True, identity=True),
        Column("destination_rank", "rank that receives", "count", key=True, identity=True),
        _count("bytes", "its bytes", metric=True),
        Column("started_ns", "when it was posted, from the start of its job", "number", identity=True),
        _metric("arrived_ns", "when its last byte arrived", missing=False),
        _metric("time_ns", "from its posting to its arrival: its completion time", missing=False),
        _metric("least_ns", "least time alone: bytes at the slowest link of the path, and latencies", False),
        _metric("over_least", "time over the least time, which is 0 within a node: its slowdown"),
    ),
    "latency": (
        *_OF_POINT,
        _text("traffic_kind", "kind of the offered traffic"),
        _text(
            "state",
            "whether the load was sustained, and the run had settled",
            missing=True,
            one_of=("steady", "unsteady", "undecided", "saturated"),
        ),
        _metric("offered_load", "load of the messages created in the window, over the bandwidth of a node's link"),
        _metric("accepted_load", "load of the messages that arrived in the window"),
        _metric("accepted_low", "lower end of its 95 % interval, by batch means"),
        _metric("accepted_high", "upper end of it"),
        _metric("accepted_min", "accepted load of the worst sending node"),
        _metric("jain", "Jain's fairness index of the accepted loads of the nodes"),
        _metric("latency_mean_ns", "mean latency from creation to arrival, the source queue included"),
        _metric("latency_low_ns", "lower end of its 95 % interval, by batch means"),
        _metric("latency_high_ns", "upper end of it"),
        _metric("latency_p50_ns", "median latency"),
        _metric("latency_p90_ns", "latency that 90 % of the messages do not exceed"),
        _metric("latency_p99_ns", "latency that 99 % do not exceed; missing below 10,000 messages"),
        _metric("latency_p999_ns", "latency that 99.9 % do not exceed; missing below 100,000 messages"),
        _metric("latency_max_ns", "highest latency"),
        _metric("network_latency_mean_ns", "mean latency without the source queue"),
        _metric("zero_load_ns", "mean latency without load, in closed form", missing=False),
        _metric("saturation_bound", "upper bound of the saturation load", missing=False),
        _text("bound_method", "its origin: host, cut, hop-bytes, paths or expected loads"),
        *_BUFFER_LIMIT,
        _metric("saturation_load", "highest load that was sustained, where it was searched"),
        _metric("saturation_low", "lower end of its interval, with the counting error of 95 %"),
        _metric("saturation_high", "upper end: the lowest load that was certainly saturated, at most the bound"),
        _metric("over_bound", "saturation load over its bound"),
        _metric("hops_mean", "mean hops of a packet"),
        _metric("minimal_share", "share of the packets that UGAL routed minimally"),
        _metric("link_max", "load of the bottleneck link, over its capacity"),
        _signed(
            "backlog_growth", "growth of the backlog in the second half of the window, over the messages created in it"
        ),
        _signed("growth_low", "lower end of its 95 % interval, by batch means"),
        _signed("growth_high", "upper end of it"),
        _count("messages", "messages whose latencies were measured", missing=True, metric=True),
    ),
    "links": (
        *_OF_POINT,
        _CLASS,
        _count("links", "directed links", metric=True),
        _count("used", "links that carried something", missing=True, metric=True),
        _metric("load_mean_bytes", "mean load of a link", missing=False),
        _metric("load_max_bytes", "load of the bottleneck link", missing=False),
        _metric("load_used_bytes", "mean load of the links used"),
        _metric("imbalance", "largest over mean load"),
        _metric("busy_max_ns", "time for which the bottleneck link is busy"),
        _count("packets", "packets over all links", missing=True, metric=True),
        _metric("stall_mean_ns", "mean time for which a link was stalled"),
        _metric("stall_max_ns", "longest time for which a link was stalled"),
    ),
    "link_loads": (
        *_OF_POINT,
        _CLASS,
        Column("tail", "router that the link leaves, from 0", "count", key=True, identity=True),
        Column("head", "router that it enters", "count", key=True, identity=True),
        _count("cables", "its parallel cables"),
        _metric("load_bytes", "bytes that crossed it", missing=False),
        _metric("busy_ns", "least time in which its cables carry them", missing=False),
        _count("packets", "packets that crossed it", missing=True, metric=True),
        _metric("stall_ns", "time for which it had something to send and no room at its other end"),
    ),
    "interference": (
        *_OF_POINT,
        *_JOB,
        replace(_RUNTIME, metric=False),
        replace(_BASELINE, metric=False),
        _SLOWDOWN,
        *_MESSAGE_SLOWDOWNS,
        _metric("slowdown_low", "least slowdown of the job over the seeds of its point"),
        _metric("slowdown_high", "largest slowdown of the job over the seeds of its point"),
        Column("below_one", "whether the slowdown is below 1 by more than its run-to-run variation", "flag", True),
        _metric("variation", "(max - min) / median of the job's runtimes among different others"),
        _metric("mls", "maximum link sharing (MLS), simulated: largest share of a job's links that other jobs use"),
        _metric("tls", "total link sharing (TLS), simulated: share of the used links that several jobs use"),
        _metric("links_shared", "share of the job's links that others use, simulated"),
        _metric("mls_routes", "MLS by the routes alone"),
        _metric("tls_routes", "TLS by the routes alone"),
        _metric("links_shared_routes", "share of the job's links that others may use, by the routes alone"),
    ),
    "machines": (
        _MACHINE_ID,
        _text("kind", "kind of the machine"),
        _count("nodes", "nodes", metric=True),
        _count("routers", "routers", metric=True),
        _count("cables", "cables between routers", metric=True),
        _count("radix", "most ports of a router", metric=True),
        _count("diameter", "most hops between routers with nodes", metric=True),
        _metric("bisection_Bps", "bisection, where it is known exactly"),
        _metric("bisection_lower_Bps", "proven lower bound of the bisection", missing=False),
        _metric("bisection_upper_Bps", "bisection of the best cut found", missing=False),
        Column("bisection_exact", "whether it is known exactly", "flag"),
        _text("bisection_method", "how it was found"),
        _metric("mean_hops", "mean hops between routers with nodes", missing=False),
    ),
    "agreement": (
        *_OF_SEVERAL_POINTS,
        _JOB_NUMBER,
        Column("pair", "both engines, b / a, a being the first in the alphabet", key=True, identity=True),
        _text("engine_a", "engine of the denominator"),
        _text("engine_b", "engine of the numerator"),
        _text("point_a_id", "point on engine a"),
        _text("point_b_id", "point on engine b"),
        Column("runtime_a_ns", "runtime on engine a", "number"),
        Column("runtime_b_ns", "runtime on engine b", "number"),
        _metric("ratio", "ratio of the runtimes", missing=False),
        Column("slowdown_a", "slowdown on engine a", "number", missing=True),
        Column("slowdown_b", "slowdown on engine b", "number", missing=True),
        _metric("slowdown_ratio", "ratio of the slowdowns"),
    ),
    "predictors": (
        *_OF_SEVERAL_POINTS,
        _ENGINE,
        _text("routing_kind", "kind of the routing"),
        *_JOB,
        Column("metric", "column of `jobs`, the predictor of the runtime", key=True, identity=True),
        _count("mappings", "points that differ in the mapping alone and have both numbers"),
        _count("mappings_planned", "such points that were planned"),
        _signed("spearman", "rank correlation of metric and runtime (Spearman)"),
        _signed("kendall", "the same by pairs in the same order (Kendall's tau-b)"),
        _metric("regret", "runtime of the mapping with the least metric over the least runtime, minus 1"),
    ),
    "schedules": (
        *_OF_RUN,
        _text("list_id", "digest of machine and list of partitions"),
        _text("status", "whether it was run", one_of=(DONE, NOT_RUN)),
        _text("reason", "why it was not", missing=True),
        *_TIMES,
        _metric("utilisation", "busy node-seconds over those of the machine, from the first to the last submission"),
        _metric("useful_utilisation", "the same of the nodes asked for and the run times without slowdown"),
        _metric("idle_no_cables", "share of the window's node-seconds idle for want of cables"),
        _metric("idle_reserved", "share that is free for a waiting job which may not start"),
        _metric("idle_fragmented", "share that no waiting job's partition can use"),
        _metric("idle_no_jobs", "share idle while nothing waits"),
        _metric("degraded_node_s", "node-seconds on partitions that slow their job down"),
        _metric("makespan_s", "from the first submission to the last end"),
        _count("jobs", "jobs that ran", missing=True, metric=True),
        _count("rejected", "jobs that no partition can hold", missing=True, metric=True),
        _count("rounded_up", "jobs on a partition with more nodes than they asked for", missing=True, metric=True),
        _count("backfilled", "jobs that started while one before them had to wait", missing=True, metric=True),
        _count("queue_max", "most jobs that waited at once", missing=True, metric=True),
        _count("running_at_end", "jobs that run when the last one is submitted", missing=True, metric=True),
        Column("saturated", "whether the queue grows significantly; means then depend on the length", "flag", True),
        _text("trace_repairs", "repairs of the log, each with its count", missing=True),
    ),
    "size_classes": (*_OF_RUN, _CLASS_NODES, *_TIMES, _count("jobs", "jobs of the class", metric=True)),
    "partition_lists": (
        _text("schedule", "schedule of the study"),
        Column("seed", "none: a list has no random choices", "count", missing=True),
        _id("list_id", "digest of machine and list of partitions"),
        _CLASS_NODES,
        _count("concurrent_max", "most partitions of the class in use at once", missing=True, metric=True),
        _metric("concurrent_share", "their share of the machine's nodes"),
        _metric("bisection_links", "largest bisection of the class, in links", missing=False),
        _metric("cables", "mean cables that a partition takes", missing=False),
        _metric("conflicts", "mean partitions with which one cannot be in use", missing=False),
        _count("partitions", "partitions of the class", metric=True),
    ),
    "scheduled_jobs": (
        *_OF_RUN,
        Column("job", "number of the job in the trace", "count", key=True, identity=True),
        _text("application", "its application"),
        Column("class_nodes", "nodes of its size class", "count", key=True),
        _count("nodes", "nodes that it asked for"),
        Column("submit_s", "when it was submitted", "number"),
        Column("start_s", "when it started", "number", missing=True),
        Column("end_s", "when it ended", "number", missing=True),
        _metric("wait_s", "from submission to start"),
        _text("partition", "where it ran", missing=True),
        _metric("factor", "how many times as long it ran there"),
        _text("factor_source", "where the factor is from", one_of=FACTOR_SOURCES),
    ),
    "repetitions": (
        _EXPERIMENT,
        Column("seed", "none: a row stands for all seeds of a combination", "count", missing=True),
        _id("engine", "simulator"),
        _count("seeds_first", "seeds of the first stage"),
        _count("seeds", "seeds simulated"),
        _text("outcome", "whether its result is precise, or why no more seeds were simulated", one_of=REPETITIONS),
        Column("mean_ns", "geometric mean of the runtime", "number", missing=True),
        Column("low_ns", "lower end of its interval", "number", missing=True),
        Column("high_ns", "upper end of it", "number", missing=True),
        Column("half_width", "upper end over the mean, minus 1", "number", missing=True),
        _count("seeds_needed", "seeds that the precision, or the orders still undecided, need", missing=True),
        Column("more_cpu_s", "processor time of those that are not simulated", "number", missing=True, compared=False),
    ),
    "screening": (
        _EXPERIMENT,
        Column("seed", "none: a row stands for a combination", "count", missing=True),
        _id("engine", "engine of the estimate"),
        Column("estimate_ns", "runtime on this engine", "number"),
        Column("ratio", "simulated runtime over the estimate", "number", missing=True),
        Column("price_per_node", "of a screening for the front, by the analysis cost", "number", missing=True),
        Column(
            "over_fastest",
            "estimate over that of the fastest combination for this workload, of a screening for the "
            "front of those that are no dearer",
            "number",
        ),
        Column("miss_probability", "probability that it is faster, by the error of the sample", "number", True),
        _text("outcome", "whether and why it is simulated", one_of=SCREENED),
    ),
    "orders": (
        _EXPERIMENT,
        Column("seed", "none: a row stands for all seeds of two combinations", "count", missing=True),
        _id("engine", "simulator"),
        _id("compared_axis", "axis on which they differ"),
        _id("left", "label of the first one"),
        _id("right", "label of the second one"),
        _count("seeds", "seeds that both have"),
        Column("ratio", "geometric mean of the ratio of their runtimes, first over second", "number"),
        Column("low", "lower end of its interval", "number"),
        Column("high", "upper end of it", "number"),
        _text("outcome", "whether one is faster", one_of=("decided", "equal", UNDECIDED)),
    ),
    "claims": (
        *_PART,
        _text("statement", "what the source says"),
        _text("source", "where it says so"),
        _text("note", "remark", missing=True),
        _text("scope", "what is run, where the source says it of more", missing=True),
        _text("part_statement", "what was measured", missing=True),
        _text("show", "how it is printed", missing=True),
        Column("source_low", "lower end of the range that states what the source says", "any number", missing=True),
        Column("source_high", "upper end of it", "any number", missing=True),
        Column("accept_low", "lower end of the range that is accepted", "any number", missing=True),
        Column("accept_high", "upper end of it", "any number", missing=True),
        _text("accept_reason", "why this range is accepted", missing=True),
        *_MEASURED,
        _text("interval", "how the interval was found", missing=True),
        Column("at_labels", "labels that decided a maximum or minimum", missing=True, compared=False),
        _POINTS_BEHIND,
        _count("seeds", "seeds it is based on"),
        *_PAIRS,
        *_JUDGED,
    ),
    "verdicts": (
        _id("engine", "engine whose points are judged"),
        *_PART,
        *_MEASURED,
        _POINTS_BEHIND,
        *_PAIRS,
        *_JUDGED,
    ),
}
"""The tables in the order in which they are written, each with its columns in order."""

CLAIM_TABLES = frozenset({"claims", "verdicts", "repetitions", "orders", "screening"})
"""Tables of verdicts and decisions, which figures and claims cannot read."""

SCHEDULE_TABLES = ("schedules", "size_classes", "partition_lists", "scheduled_jobs")
"""Tables that have rows only if a study has schedules."""

LINK_LOAD_TABLE = "link_loads"
"""Table that has rows only if a study asks for it."""

PARQUET_ONLY = frozenset({"scheduled_jobs", "operations", "messages", LINK_LOAD_TABLE})
"""Tables that are too large for CSV, in which the others are written, too."""


def names_of(table: str) -> tuple[str, ...]:
    """Return the names of the columns that a table has in every study."""
    return tuple(column.name for column in TABLES[table])


def column(table: str, name: str) -> Column:
    """Return a column of a table. Raises KeyError if there is none of this name."""
    return {column.name: column for column in TABLES[table]}[name]


SIZES_OF_MACHINE = ("nodes", "routers", "cables", "radix", "diameter", "mean_hops")
"""The main columns of machines."""

_DRAWN = {table: columns for table, columns in TABLES.items() if table not in CLAIM_TABLES}

METRICS = {
    table: tuple(column.name for column in sorted(columns, key=lambda column: column.type == "count") if column.metric)
    for table, columns in _DRAWN.items()
}
"""Columns of each table that hold a number to draw or to judge; plain counts come last."""

KEYS = {table: tuple(column.name for column in columns if column.key) for table, columns in _DRAWN.items()}
"""Columns of each table that identify its rows, besides the study's axes and the seed."""

NAMES = {
    table: {column.name: column.names for column in columns if column.names is not None}
    for table, columns in _DRAWN.items()
}
"""Columns that name what a key numbers, each with that key, which they replace where a study uses them."""

_WITH_AXES = (set(_DRAWN) | {"repetitions", "orders", "screening"}) - set(SCHEDULE_TABLES)
RESERVED = frozenset({"study"} | {column.name for table in _WITH_AXES for column in TABLES[table]})
"""Names that no axis of an experiment may have, since a table has such a column."""

RESERVED_BY_SCHEDULES = frozenset({"study"} | {column.name for table in SCHEDULE_TABLES for column in TABLES[table]})
"""Names that no axis of a schedule may have."""
