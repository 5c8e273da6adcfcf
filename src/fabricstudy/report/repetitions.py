"""How many seeds the combinations of a study needed, and what remains undecided."""

from __future__ import annotations

import io
from collections.abc import Iterator

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure as Canvas

from fabricstudy.core.columns import UNDECIDED
from fabricstudy.core.phrasing import count_noun, cpu_time
from fabricstudy.study.model import Study
from fabricstudy.study.seeds import DECIDED, Seeds
from fabricstudy.table.files import Tables
from fabricstudy.table.schemas import axes_of

from .figure_style import STYLE
from .text import TextTable, frame_table, number


def repetition_sentences(study: Study, tables: Tables) -> Iterator[str]:
    """Yield a sentence for each experiment whose seeds depend on results."""
    for name, rows in tables.repetitions.groupby("experiment", sort=False):
        rule = study.all_experiments[str(name)].seeds
        few, many = rows["seeds"].min(), rows["seeds"].max()
        used = f"{few} to {many}" if few < many else f"{few}"
        total, most = rows["seeds"].sum(), len(rows) * rule.most
        where = f" of {name}" if study.experiments else ""
        equal = int((rows["outcome"] == "no variation").sum())
        same = f" With equal runtimes for all seeds: {count_noun(equal, 'combination')}; one seed is enough there."
        yield (
            f"Seeds{where}: {count_noun(len(rows), 'combination')} with {used} of at most {rule.most} seeds; "
            f"{total:,} of {most:,} points were simulated. {_outcome(rule, rows, tables.orders, str(name))}"
            f"{same * bool(equal)}"
        )


def _outcome(rule: Seeds, rows: pd.DataFrame, orders: pd.DataFrame, experiment: str) -> str:
    if rule.until == DECIDED:
        pairs = orders[orders["experiment"] == experiment]
        undecided = int((pairs["outcome"] == UNDECIDED).sum())
        if not undecided:
            return f"All {count_noun(len(pairs), 'order')} of two values are decided." if len(pairs) else ""
        text = f"Undecided: {undecided} of {count_noun(len(pairs), 'order')} of two values"
        return f"{text}, which would need {_cost(rows[rows['seeds_needed'].notna()], rule.most_estimated)}."
    wide = rows[rows["outcome"] == "not precise"]
    precise = f"The runtime of {len(rows) - len(wide)} is known to {100 * float(rule.until):.3g} % or better"
    if wide.empty:
        return f"{precise}, by the 95 % interval of its geometric mean."
    return (
        f"{precise}, that of {len(wide)} to {100 * wide['half_width'].max():.3g} % at worst, which would need "
        f"{_cost(wide, rule.most_estimated)}."
    )


def _cost(rows: pd.DataFrame, limit: int) -> str:
    """Return the seeds and the processor time that these combinations would need more; `limit` ends the count."""
    more = int((rows["seeds_needed"] - rows["seeds"]).clip(lower=0).sum())
    about = "more than" if (rows["seeds_needed"] >= limit).any() else "about"
    return f"{about} {count_noun(more, 'more seed')} and {cpu_time(rows['more_cpu_s'].sum())}"


def screening_sentences(tables: Tables) -> Iterator[str]:
    """Yield a sentence for each screened experiment: what was simulated, and how probably the best was missed."""
    for name, rows in tables.screening.groupby("experiment", sort=False):
        dropped = rows[rows["outcome"] == "not simulated"]
        ratios = rows["ratio"].dropna()
        low, middle, high = (number(value, 3) for value in (ratios.min(), ratios.median(), ratios.max()))
        missed = min(1.0, dropped["miss_probability"].sum())
        priced = rows["price_per_node"].notna().any()
        better = "one on the front of price per node and runtime" if priced else "a faster one"
        yield (
            f"Screening of {name}: {len(rows) - len(dropped)} of {count_noun(len(rows), 'combination')} were "
            f"simulated, chosen by their runtimes on {rows['engine'].iloc[0]}. Simulated runtimes are {middle} "
            f"({low} to {high}) times those. The probability that {better} was not simulated is "
            f"{100 * missed:.2g} % at most."
        )


def repetition_tables(tables: Tables) -> tuple[TextTable, TextTable]:
    """Return the combinations with their intervals, and the pairs of values with the ratio of their runtimes."""
    of_both = []
    for frame, names in (
        (tables.repetitions, ("seeds", "outcome", "mean_ns", "low_ns", "high_ns", "half_width", "seeds_needed")),
        (tables.orders, ("compared_axis", "left", "right", "seeds", "ratio", "low", "high", "outcome")),
    ):
        axes = [axis for axis in axes_of(frame) if frame[axis].notna().any()] if len(frame) else []
        of_both.append(frame_table(frame, axes, names))
    return of_both[0], of_both[1]


def seeds_picture(tables: Tables) -> bytes:
    """Return a histogram of the seeds of the combinations, as SVG."""
    content = io.BytesIO()
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(5, 2.4), layout="constrained")
        axes = canvas.subplots()
        sns.histplot(tables.repetitions, x="seeds", hue="outcome", multiple="stack", discrete=True, ax=axes)
        axes.set(xlabel="seeds", ylabel="combinations")
        axes.locator_params(integer=True)
        canvas.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()
