"""Latency and throughput of one run of offered traffic: what an engine counted, and the statistics of it.

Latencies of one run depend on each other, so intervals are those of batch means: the mean of each batch is one
observation (Law and Kelton: Simulation Modeling and Analysis, 2000, section 9.5.3). Batches whose means are correlated
are joined two by two. Whether a load is sustained is judged by the interval of the growth of the backlog, see `growth`.
"""

from dataclasses import dataclass
from math import inf, sqrt
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from fabricstudy.core.arrays import Floats, Ints, Numbers

State = Literal["steady", "unsteady", "undecided", "saturated"]
"""From best to worst."""

MAX_GROWTH = 0.01
"""Growth of the backlog, over the messages created, above which a load is not sustained."""

CLEAR_GROWTH = 0.1
"""Growth above which a single run suffices to decide that the backlog keeps growing."""

HALVES_OF_DOUBLINGS = 24
"""Halves of a window until three doublings later."""

MAX_CORRELATION = 0.3
"""Lag-1 correlation of batch means up to which batches count as independent."""

MIN_BATCHES = 8

MIN_TREND_VALUES, MAX_TREND_CORRELATION = 20, 0.3
"""Values of a least-squares trend, and the lag-1 correlation of its residuals up to which it is used."""

BEYOND = 100
"""Messages above a percentile that it needs."""

CONFIDENCE = 0.95

TREND_CONFIDENCE, MIN_TREND = 0.999, 0.01
"""Confidence and relative size of a difference between early and late latencies that makes a run unsteady."""

PERCENTILES = {"latency_p50_ns": 0.5, "latency_p90_ns": 0.9, "latency_p99_ns": 0.99, "latency_p999_ns": 0.999}


@dataclass(frozen=True, eq=False)
class SteadyRun:
    """What an engine counted in one run of offered traffic.

    Times are in ns, and counts are of messages; those of loads count messages of different sizes by their bytes, over
    the mean size. *Measured* messages are those created in the window. Optional parts are
    None where an engine cannot provide them.
    """

    window_ns: float
    message_ns: float
    """Transmission time of a message on the link of a node."""
    node_created: Numbers
    node_arrived: Numbers
    """Load of each node that was created, and that arrived, in the window; [nodes]."""
    created: Ints
    """Messages created in each batch; int64 [batches]."""
    measured: Ints
    latency_sum_ns: Floats
    """Measured messages of each batch that arrived, and the sum of their latencies; [batches]."""
    network_sum_ns: Floats | None = None
    """The same sum without the time in the source queue."""
    max_ns: float | None = None
    created_load: Floats | None = None
    """Load created in each batch, if messages differ in size; float64 [batches]."""
    arrived: Numbers | None = None
    """Load that arrived in each batch; [batches]."""
    backlog: tuple[int, int, int] | None = None
    """Messages created and not arrived, at the begin, in the middle (between batches) and at the end of the window."""
    outer_backlog: tuple[int, int] | None = None
    """The same at the begin and at the end of the window, where an engine counts it only there."""
    mean_backlog: Floats | None = None
    """The same, mean over the time of each batch; float64 [batches]."""
    lost: int = 0
    """Measured messages that had not arrived when the run ended."""
    histogram: tuple[Floats, Ints] | None = None
    """Latencies in ns, ascending, and their counts."""
    hops: Ints | None = None
    """Packets by number of hops."""
    routed: Ints | None = None
    """Packets that took minimal paths and detours, under UGAL; int64 [2]."""
    link_bytes: Floats | None = None
    """Bytes that crossed each directed link in the window; float64 [links]."""
    may_settle: bool = False
    """Whether a growing backlog may be that of a network that still fills; see `may_settle`."""


def save_run(run: SteadyRun, path: Path) -> None:
    """Write a run to an npz file."""
    arrays = {name: value for name, value in vars(run).items() if value is not None and name != "histogram"}
    if run.histogram is not None:
        arrays["histogram_ns"], arrays["histogram_messages"] = run.histogram
    np.savez_compressed(path, **arrays)


def load_run(path: Path) -> SteadyRun:
    """Return the run of a file written by `save_run`."""
    with np.load(path) as stored:
        values: dict[str, Any] = {name: stored[name] if stored[name].ndim else stored[name].item() for name in stored}
    if "histogram_ns" in values:
        values["histogram"] = (values.pop("histogram_ns"), values.pop("histogram_messages"))
    for name in {"backlog", "outer_backlog"} & values.keys():
        values[name] = tuple(values[name].tolist())
    return SteadyRun(**values)


class Growth(NamedTuple):
    """Growth of the backlog over the messages created, with its 95 % interval; infinite where batches are too few."""

    mean: float
    low: float
    high: float


def state_of(run: SteadyRun) -> State:
    """Return whether the run sustained its load and had settled.

    *saturated*: the backlog grew by more than 1 % of the messages created: the whole interval of `growth` is above. Or
    it did not, but measured messages did not arrive.
    *undecided*: this interval contains 1 %, or a network that still fills may sustain the load later.
    *unsteady*: the mean latencies of the first quarter and of the rest differ by more than 1 % and than their 99.9 %
    interval, or joined batches are too few.
    """
    grown = growth(run)
    if grown.low > MAX_GROWTH:
        return "undecided" if run.may_settle else "saturated"
    if grown.high > MAX_GROWTH:
        return "undecided"
    if run.lost:
        return "saturated"
    means = run.latency_sum_ns / np.maximum(run.measured, 1)
    joined = joined_batches(run.latency_sum_ns, run.measured)
    if len(joined) < MIN_BATCHES:
        return "unsteady"
    quarter = max(1, len(means) // 4)
    early = run.latency_sum_ns[:quarter].sum() / max(1, run.measured[:quarter].sum())
    rest = joined[max(1, len(joined) // 4) :]
    # The early mean has its own error: that of so many batches.
    error = half_width(rest, TREND_CONFIDENCE) * sqrt(1 + len(rest) / max(1, len(joined) // 4))
    return "unsteady" if abs(early - rest.mean()) > max(error, MIN_TREND * rest.mean()) else "steady"


def may_settle(run: SteadyRun, shorter: SteadyRun | None, doublings: int) -> bool:
    """Return whether the backlog may stop growing within this number of doublings of warm-up and window.

    A large network under UGAL fills for thousands of message times, at loads that it sustains. The ratio of its growth
    to that in the run of half the length is extrapolated. Without a `shorter` run only a growth of a tenth or more that
    hardly falls from half to half of the window is taken to last.
    """
    grown = growth(run).mean
    if shorter is not None:
        ratio = grown / max(growth(shorter).mean, 1e-9)
        return grown * min(1.0, ratio) ** max(1, doublings) < MAX_GROWTH
    if run.mean_backlog is None or grown < CLEAR_GROWTH:
        return True
    half = len(run.mean_backlog) // 2
    before, _ = trend(run.mean_backlog[:half])
    after, _ = trend(run.mean_backlog[half:])
    return grown * min(1.0, after / max(before, 1e-9)) ** HALVES_OF_DOUBLINGS < MAX_GROWTH


def growth(run: SteadyRun) -> Growth:
    """Return the growth of the backlog in the second half of the window, over the messages created in it.

    It is the trend of the batch means of the backlog. In the first half a network may still fill: adaptive routing
    spreads its packets only once queues have built up. If an engine counts the backlog only at both ends of the window,
    each count is modelled as a sum of geometrically distributed queues of the nodes. If it does not count it, its
    growth is the share of the messages that did not arrive, with the interval of batch means over the whole window.
    """
    if run.mean_backlog is not None:
        half = len(run.created) // 2
        slope, width = trend(run.mean_backlog[half:])
        created, batches = max(1, int(run.created[half:].sum())), len(run.created) - half
        mean, width = slope * batches / created, width * batches / created
    elif run.outer_backlog is not None:
        begin, end = run.outer_backlog
        created, nodes = max(1, int(run.created.sum())), len(run.node_created)
        deviation = sqrt(sum(messages * (1 + messages / nodes) for messages in run.outer_backlog))
        mean, width = (end - begin) / created, _t_quantile(nodes - 1, CONFIDENCE) * deviation / created
    else:
        mean = 1.0 - float(run.measured.sum() / max(1, run.created.sum()))
        width = half_width(run.measured / np.maximum(1, run.created))
    return Growth(mean, mean - width, mean + width)


def trend(values: Floats) -> tuple[float, float]:
    """Return the mean change of values per step, and half the width of its 95 % t interval.

    If the values scatter about a line, the result is its least-squares slope. The lag-1 correlation r of the n
    residuals, whose bias in short series is -(2 + 4 r) / n (Shaman and Stine: The bias of autoregressive coefficient
    estimators. JASA 83, 1988), leaves n (1 - r) / (1 + r) independent ones (Santer et al.: Statistical significance of
    trends and trend differences in layer-average atmospheric temperature time series. Journal of Geophysical Research
    105, 2000). For short series, and for those that resemble a random walk, such as the backlog of a saturated queue,
    the result is the mean of the first differences, whose variance is 2/3 of that of the random walk whose averages
    they are (Working: Note on the correlation of first differences of averages in a random chain. Econometrica 28,
    1960).

    Examples
    --------
    >>> trend(np.array([1.0, 3.0, 5.0, 7.0]))
    (2.0, 0.0)
    """
    steps = np.arange(len(values)) - (len(values) - 1) / 2
    squares = float(steps @ steps)
    slope = float(steps @ values) / squares
    residuals = values - values.mean() - slope * steps
    correlation = _lag_correlation(residuals)
    correlation = max(0.0, correlation + (2 + 4 * correlation) / len(values))
    if len(values) < MIN_TREND_VALUES or correlation > MAX_TREND_CORRELATION:
        changes = np.diff(values)
        return float(changes.mean()), half_width(changes) * sqrt(1.5)
    freedom = len(values) * (1 - correlation) / (1 + correlation) - 2
    return slope, _t_quantile(freedom, CONFIDENCE) * sqrt(float(residuals @ residuals) / freedom / squares)


def joined_batches(sums: Floats, counts: Ints) -> Floats:
    """Return the means of batches, joined two by two until they are hardly correlated or fewer than 8.

    Examples
    --------
    >>> joined_batches(np.array([1.0, 3.0] * 8), np.ones(16, dtype=np.int64)).tolist()[:3]
    [1.0, 3.0, 1.0]
    """
    while True:
        means = sums[counts > 0] / counts[counts > 0]
        # Of independent means, one in 40 has a correlation above 2 / sqrt(n).
        if len(means) < MIN_BATCHES or _lag_correlation(means) <= max(MAX_CORRELATION, 2 / sqrt(len(means))):
            return means
        even = len(sums) - len(sums) % 2
        sums, counts = (part[:even].reshape(-1, 2).sum(axis=1) for part in (sums, counts))


def _lag_correlation(means: Floats) -> float:
    deviation = means - means.mean()
    variance = float(deviation @ deviation)
    return float(deviation[1:] @ deviation[:-1]) / variance if variance > 0 else 0.0


def half_width(means: Floats, confidence: float = CONFIDENCE) -> float:
    """Return half the width of the t interval of the mean of independent observations; infinite for one."""
    if len(means) < 2:
        return inf
    return _t_quantile(len(means) - 1, confidence) * float(means.std(ddof=1)) / sqrt(len(means))


def _t_quantile(freedom: float, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))


def counting_error(counts: Numbers) -> float:
    """Return half the width of the 95 % interval of the mean of counts in batches, over the mean; 0 without any."""
    mean = float(counts.mean())
    if mean == 0:
        return 0.0
    return half_width(joined_batches(counts.astype(np.float64), np.ones(len(counts), dtype=np.int64))) / mean


def percentile(histogram: tuple[Floats, Ints], share: float) -> float | None:
    """Return the latency in ns that a share of the messages does not exceed; None with fewer than 100 above it.

    Examples
    --------
    >>> percentile((np.array([1.0, 2.0]), np.array([150, 150])), 0.5)
    1.0
    """
    values_ns, counts = histogram
    total = int(counts.sum())
    if round((1 - share) * total) < BEYOND:
        return None
    return float(values_ns[np.searchsorted(np.cumsum(counts), share * total)])


def jain_index(rates: Floats) -> float:
    """Return the fairness of rates: 1 if all are equal, 1/n if one has everything (Jain, Chiu and Hawe 1984).

    Examples
    --------
    >>> jain_index(np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    squares = len(rates) * float(rates @ rates)
    return float(rates.sum() ** 2 / squares) if squares > 0 else 0.0


def statistics(run: SteadyRun, share: Floats) -> dict[str, Any]:
    """Return the columns of the table `latency` that follow from a run.

    Parameters
    ----------
    share : float64 array [nodes]
        Share of the offered load that each node sends, 1 for most; loads are means over the nodes that send.
    """
    sends = share > 0
    messages = run.window_ns / run.message_ns
    accepted = (run.node_arrived[sends] / messages).astype(np.float64)
    means = joined_batches(run.latency_sum_ns, run.measured)
    arrived = int(run.measured.sum())
    mean_ns = float(run.latency_sum_ns.sum()) / arrived if arrived else None
    width_ns = half_width(means)
    grown = growth(run)
    row: dict[str, Any] = {
        "state": state_of(run),
        "messages": arrived,
        "offered_load": float(run.node_created[sends].mean() / messages),
        "accepted_load": float(accepted.mean()),
        "accepted_min": float((accepted / share[sends]).min()),
        "jain": jain_index(accepted / share[sends]),
        "backlog_growth": grown.mean,
        "growth_low": grown.low if grown.low > -inf else None,
        "growth_high": grown.high if grown.high < inf else None,
        "latency_mean_ns": mean_ns,
        "latency_low_ns": None if mean_ns is None or width_ns == inf else max(0.0, mean_ns - width_ns),
        "latency_high_ns": None if mean_ns is None or width_ns == inf else mean_ns + width_ns,
        "latency_max_ns": run.max_ns,
    }
    if run.arrived is not None:
        load, width = row["accepted_load"], row["accepted_load"] * counting_error(run.arrived)
        if width < inf:
            row |= {"accepted_low": max(0.0, load - width), "accepted_high": load + width}
    if run.network_sum_ns is not None and arrived:
        row["network_latency_mean_ns"] = float(run.network_sum_ns.sum()) / arrived
    if run.histogram is not None:
        row |= {name: percentile(run.histogram, share) for name, share in PERCENTILES.items()}
    if run.hops is not None and run.hops.sum():
        row["hops_mean"] = float(run.hops @ np.arange(len(run.hops)) / run.hops.sum())
    if run.routed is not None and run.routed.sum():
        row["minimal_share"] = float(run.routed[0] / run.routed.sum())
    return row
