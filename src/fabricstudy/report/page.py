"""The report page of a study, in one file."""

import base64
import hashlib
import inspect
import platform
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import pandas as pd
from markupsafe import Markup, escape

import fabricstudy
from fabricstudy.analysis.base import Analysis
from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.columns import DONE, MIN_DIFFERENCE, SIZES_OF_MACHINE, STATUSES
from fabricstudy.core.extensions import LOADED
from fabricstudy.core.files import atomic_text
from fabricstudy.core.model import ConfigError
from fabricstudy.core.phrasing import count_noun
from fabricstudy.engine.steady_state import MAX_GROWTH
from fabricstudy.machine.definitions import read_machine
from fabricstudy.structure.cost import ALL
from fabricstudy.study.model import Study
from fabricstudy.study.plan import Plan
from fabricstudy.table.claims import COMPUTED, TOO_FEW_SEEDS
from fabricstudy.table.files import Tables
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text

from . import study_setup, summaries
from .effects import effects, metric_of, size_axes
from .explorer import as_choices, explorer
from .figure_style import NO_FILES, InputFiles
from .figures import RenderedFigure, draw, draw_small_machine
from .findings import leading, sentences
from .repetitions import repetition_sentences, repetition_tables, screening_sentences, seeds_picture
from .scatter import fronts
from .text import NO_NUMBER, TextTable, claim_numbers, comparison_count_text, format_number, number

LEAST_PX, PANEL_PX = 660, 250
"""Smallest readable width of a figure and of a panel; a narrower window scrolls sideways."""

EMBEDDED_BYTES = 1_800_000
"""Figures up to this total are embedded in the page; the others are linked files."""

_LIBRARIES = (
    *("numpy", "scipy", "pandas", "pyarrow", "pydantic"),
    *("seaborn", "matplotlib", "vl-convert-python", "snakemake"),
)
MAX_ROUTERS_DRAWN = 5_000
"""A larger machine has no picture at the top of the page."""

_MOST_REASONS = 50
_EXAMPLE = "(example)"
_MOST_ANALYSIS_ROWS = 120


def render(
    plan: Plan, tables: Tables, drawn: Sequence[RenderedFigure], source: bytes, name: str, inputs: InputFiles = NO_FILES
) -> str:
    """Return the page's HTML; `source` is the content of the study file, `name` its path as on the command line."""
    study = plan.study
    metric = metric_of(study.report_figures)
    changes = effects(tables, study.design_axes, size_axes(study), metric, study.algorithm_axes)
    skipped = tables.points[tables.points["status"] == "skipped"].drop_duplicates(["engine", "reason"])
    lead = leading([picture.figure if picture.svg else None for picture in drawn], changes)
    order = sorted(range(len(drawn)), key=lambda index: index != lead)
    pictures = _pictures([drawn[i] for i in order])
    bundled = Path(name).resolve().parent == CONFIGS.resolve()
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fabricstudy.report"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    # Text between backticks is code, as in Markdown.
    environment.filters["code"] = lambda text: Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))
    return environment.get_template("page.html.j2").render(
        study=study,
        source=source.decode("utf-8", "replace"),
        head=study_setup.study_overview(study, plan, tables.points),
        experiments=study_setup.experiments(study, tables.points),
        parameters=study_setup.parameters(study, plan),
        claims=_claims(tables.claims),
        judged_unchecked=summaries.judged_unchecked(study, tables),
        verdicts_of={
            str(engine): dict(zip(rows["claim"], rows["claim_verdict"], strict=True))
            for engine, rows in tables.verdicts.groupby("engine")
        },
        changes=changes,
        min_difference=MIN_DIFFERENCE,
        machines=_machines(plan, tables),
        analyses=_analyses(tables),
        schedules=summaries.schedule_summaries(study, tables),
        sentences=[
            *sentences(
                tables,
                changes,
                study.meanings | study_setup.axis_titles(study),
                fronts(study.figures, tables, study.analyses),
            ),
            *repetition_sentences(study, tables),
            *screening_sentences(tables),
            *summaries.spot_check_summary(tables),
            *summaries.buffer_limits(tables),
            *summaries.size_remarks(plan, tables),
        ],
        machine=_machine_picture(plan, tables.points, inputs),
        lead=None if lead is None else pictures[0],
        figures=pictures if lead is None else pictures[1:],
        explorer=explorer(tables),
        explorer_start={} if lead is None else as_choices(drawn[lead].figure),
        repetitions=repetition_tables(tables),
        seeds_picture=_embedded(seeds_picture(tables), "svg+xml") if len(tables.repetitions) else "",
        jobs=study_setup.jobs(plan, tables.jobs),
        interference=summaries.interference(tables.interference),
        below_one=summaries.below_one(tables.interference),
        below_bounds=summaries.below_bounds(tables.jobs),
        bounds=summaries.bounds(tables.jobs),
        searches=summaries.searches(plan, tables),
        max_growth=MAX_GROWTH,
        predictors=summaries.predictor_summary(tables),
        agreement=summaries.ratios(tables),
        slowdown_ratios=summaries.slowdown_ratios(tables),
        slowdowns=summaries.slowdowns(tables),
        agreement_verdicts=summaries.verdict_rows(tables),
        differences=summaries.differences(plan, tables),
        statuses=_statuses(tables.points),
        reasons=_reasons(tables.points),
        missing_engines=[f"{row['engine']}: {row['reason']}" for row in skipped.to_dict("records")],
        provenance=_provenance(study, tables),
        fingerprints=_fingerprints(study, tables, source),
        command=f"fabricstudy run {shlex.quote(Path(name).stem if bundled else name)} --cores all",
    )


def _claims(claims: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the claims with their parts as text."""
    texts = ["statement", "source", "note", "scope", "part_statement", "accept_reason", "reason"]
    claims = claims.assign(**{name: claims[name].astype(object).where(claims[name].notna(), "") for name in texts})
    claim_texts = []
    for claim, part in claims.groupby("claim", sort=False):
        rows = part.to_dict("records")
        facts = {name: rows[0][name] for name in texts[:4]} | {"verdict": rows[0]["claim_verdict"]}
        claim_texts.append({"id": claim, "parts": [_part(row) for row in rows], **facts})
    return claim_texts


def _part(row: Mapping[Any, Any]) -> dict[str, str]:
    seeds = f", {row['seeds']} seeds" if row["seeds"] > 1 else ""
    pairs = "" if pd.isna(row["pairs"]) else f", {comparison_count_text(row['pairs'], row['pairs_planned'])}"
    noun = {"no seeds involved": "machine", COMPUTED: "row"}.get(row["interval"], "point")
    low, high = (format_number(row[end], row["show"]) for end in ("low", "high"))
    interval = f"{low} to {high} ({row['interval']})" if row["seeds"] else ""
    if row["interval"] == TOO_FEW_SEEDS:
        interval = f"{count_noun(row['seeds'], 'seed')}, no interval"
    return {
        "statement": row["part_statement"],
        **claim_numbers(row),
        "why": row["accept_reason"],
        "at": "" if pd.isna(row["at_labels"]) else f"at {row['at_labels']}",
        "interval": interval,
        "n": NO_NUMBER if pd.isna(row["low"]) else f"{row['points']} {noun}{'s' * (row['points'] > 1)}{seeds}{pairs}",
        "verdict": row["verdict"],
        "reason": row["reason"],
    }


def _machines(plan: Plan, tables: Tables) -> TextTable:
    """Return the machines with their labels on all axes, and the share of full bisection that they have."""
    frame = tables.machines
    axes = list(frame.columns[1 : list(frame.columns).index("kind")])
    others = study_setup.machine_labels(tables.points.drop(columns=axes))
    first = [*axes, *["label"] * bool(others)]
    head = [
        *first,
        "kind",
        *(name.replace("_", " ") for name in SIZES_OF_MACHINE),
        "bisection (GB/s)",
        "of full (%)",
        "method",
    ]
    prices = _prices(tables)
    head += [prices.head] * bool(prices.of_label)
    rows = []
    for row in frame.to_dict("records"):
        low, high = row["bisection_lower_Bps"] / 1e9, row["bisection_upper_Bps"] / 1e9
        bisection = number(high) if row["bisection_exact"] else f"{number(low)} to {number(high)}"
        facts = [number(row[name]) for name in SIZES_OF_MACHINE]
        bandwidth = getattr(plan.machines.get(row["machine_id"]), "bandwidth", None)
        full_Bps = row["nodes"] // 2 * (getattr(bandwidth, "host_Bps", None) or 0.0)
        share = number(100 * row["bisection_upper_Bps"] / full_Bps, 3) if full_Bps else NO_NUMBER
        labels = [label_text(row[axis]) for axis in axes]
        known = [*labels, *others.get(row["machine_id"], ())]
        labels += [", ".join(known[len(axes) :])] * bool(others)
        rows.append([*labels, row["kind"], *facts, bisection, share, row["bisection_method"]])
        if prices.of_label:
            priced = [prices.of_label[label] for label in known if label in prices.of_label]
            rows[-1].append(number(priced[0]) if priced else NO_NUMBER)
    numbers = set(range(len(first) + 1, len(head))) - {len(first) + len(SIZES_OF_MACHINE) + 3}
    return TextTable(head, rows, frozenset(numbers))


class _Prices(NamedTuple):
    """Prices per node by the label of the machine, and the head of their column."""

    of_label: dict[str, float]
    head: str


def _prices(tables: Tables) -> _Prices:
    """Return the prices of the first analysis `cost` of a study; none without one."""
    for frame in tables.analyses.values():
        if len(frame) and frame["kind"].iloc[0] == "cost":
            whole = frame[frame["part"] == ALL]
            of_label = dict(zip(whole["machine"].map(label_text), whole["price_per_node"], strict=True))
            return _Prices(of_label, f"price per node ({whole['currency'].iloc[0]} of {whole['year'].iloc[0]:.0f})")
    return _Prices({}, "")


def _analyses(tables: Tables) -> list[dict[str, Any]]:
    """Return every analysis, with its rows if they are few, without empty columns."""
    analyses = []
    for name, frame in tables.analyses.items():
        kind = frame["kind"].iloc[0] if len(frame) else None
        about = inspect.getdoc(Analysis.FAMILY.members[kind]) if kind else ""
        shown = frame.drop(columns="kind").dropna(axis="columns", how="all")
        rows = shown.itertuples(index=False) if len(shown) <= _MOST_ANALYSIS_ROWS else ()
        grid = TextTable(
            [str(column).replace("_", " ") for column in shown],
            [[value if isinstance(value, str) else number(value) for value in row] for row in rows],
            frozenset(i for i, dtype in enumerate(shown.dtypes) if pd.api.types.is_numeric_dtype(dtype)),
        )
        failure = tables.failure_of(name)
        kind = "failed" if failure else kind or "no rows"
        analyses.append({"name": name, "rows": len(frame), "kind": kind, "about": failure or about, "grid": grid})
    return analyses


def _pictures(drawn: Sequence[RenderedFigure]) -> list[dict[str, Any]]:
    """Return the figures with their sources: embedded up to `EMBEDDED_BYTES` in all, then files."""
    pictures, embedded = [], 0
    for position, picture in enumerate(drawn, start=1):
        figure, svg = picture.figure, f"figures/{picture.figure.id}.svg"
        embedded += len(picture.svg)
        pictures.append({
            "number": position, "id": figure.id, "title": figure.title.rstrip("."), "caption": figure.caption,
            # A picture has its sample size and what is missing as a footnote.
            "missing": "" if picture.svg else picture.basis, "alt": f"{picture.alt} {picture.basis}",
            "drawn": bool(picture.svg), "width": max(LEAST_PX, PANEL_PX * picture.panels), "spans": picture.panels > 2,
            "src": _embedded(picture.svg, "svg+xml") if embedded <= EMBEDDED_BYTES else svg,
            "svg": svg, "pdf": f"figures/{figure.id}.pdf",
        })  # fmt: skip
    return pictures


def _embedded(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _machine_picture(plan: Plan, points: pd.DataFrame, inputs: InputFiles) -> dict[str, str] | None:
    """Return a small picture of the first machine of the study; None if it is too large to be drawn."""
    machine_id, config = next(iter(plan.machines.items()), ("", None))
    if config is None or config.routers > MAX_ROUTERS_DRAWN:
        return None
    try:
        machine = read_machine(inputs.machines, machine_id) if inputs.machines else config.build()
        content, words = draw_small_machine(machine)
    except ConfigError:
        return None
    label = " / ".join(study_setup.machine_labels(points).get(machine_id, ())) or config.kind
    caption = f"{label}: {words}"
    caption += f"; the first of {len(plan.machines)} machines." if len(plan.machines) > 1 else "."
    kind = "png" if content.startswith(b"\x89PNG") else "svg+xml"
    return {"src": _embedded(content, kind), "alt": f"Picture of the machine. {caption}", "caption": caption}


def _statuses(points: pd.DataFrame) -> TextTable:
    counts = pd.crosstab(points["experiment"], points["status"])
    names = [name for name in STATUSES if name in counts]
    order = points["experiment"].unique()
    rows = [[str(experiment), *(str(counts.loc[experiment, name]) for name in names)] for experiment in order]
    return TextTable(("experiment", *names), rows, frozenset(range(1, len(names) + 1)))


def _reasons(points: pd.DataFrame) -> TextTable:
    """Return why points are not done, the most frequent reasons first, with one point as an example."""
    lost = points[points["status"] != DONE].drop_duplicates("point_id").fillna({"reason": "no reason given"})
    lost = lost.assign(**{_EXAMPLE: lost.index})
    keys = ["status", "engine", "reason"]
    groups = lost.groupby(keys, sort=False)[_EXAMPLE].agg(["size", "first"]).reset_index()
    count = len(groups)
    groups = groups.sort_values(["size", *keys], ascending=[False, True, True, True]).head(_MOST_REASONS)
    axes = [axis for axis in axes_of(points) if axis != "engine" and points[axis].nunique(dropna=False) > 1]
    rows = []
    for group in groups.to_dict("records"):
        example = points.loc[group["first"]]
        labels = ", ".join(f"{axis} {label_text(example[axis])}" for axis in axes if not pd.isna(example[axis]))
        example_text = f"{example['point_id']}{f' ({labels})' if labels else ''}"
        rows.append([*(group[key] for key in keys), str(group["size"]), example_text])
    if count > _MOST_REASONS:
        rows.append([f"{count - _MOST_REASONS} further reasons", *[""] * 4])
    return TextTable((*keys, "points", "for example"), rows, frozenset((3,)))


def _provenance(study: Study, tables: Tables) -> list[tuple[str, str]]:
    points = tables.points.drop_duplicates("point_id")
    started, memory = points["started"].dropna(), points["memory_bytes"].max()
    named = points["engine"].astype("string") + " " + points["version"].astype("string")
    engines, hosts = (", ".join(sorted(of.dropna().unique())) or "none" for of in (named, points["host"]))
    cpu_s, overhead_s = (number(points[name].sum()) for name in ("cpu_s", "overhead_cpu_s"))
    of_points = [
        ("engines", engines),
        ("hosts of the simulations", hosts),
        ("simulations started", f"{started.min()} to {started.max()}" if len(started) else "none"),
        ("CPU seconds", f"{cpu_s} in simulators, {overhead_s} overhead"),
        ("peak memory of a simulation", NO_NUMBER if pd.isna(memory) else f"{memory / 1e6:.0f} MB"),
    ]
    return [
        ("fabricstudy", fabricstudy.__version__),
        *(of_points if study.simulates else ()),
        ("Python", platform.python_version()),
        ("libraries", ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)),
    ]


def _fingerprints(study: Study, tables: Tables, source: bytes) -> list[tuple[str, list[str]]]:
    """Return digests of inputs, programs and code, the latter with the number of their points."""
    points = tables.points.drop_duplicates("point_id")
    ids = hashlib.sha256("\n".join(sorted(points["point_id"])).encode()).hexdigest()
    counts = points["fingerprint"].value_counts().sort_index()
    programs = [f"{digest} ({count_noun(count, 'point')})" for digest, count in counts.items()]
    of_points = [
        ("input writer - output reader - engine, one line per triple", programs),
        ("SHA-256 of the sorted point ids", [ids]),
    ]
    return [
        *(of_points if study.simulates else ()),
        ("SHA-256 of the study file", [hashlib.sha256(source).hexdigest()]),
        *((f"SHA-256 of {name}", [LOADED[study.extension_package][Path(name).stem]]) for name in study.extensions),
        *([("in no digest", ["what extensions read besides files that keys name"])] if study.extensions else ()),
    ]


def write_report(
    plan: Plan, tables: Tables, source: bytes, name: str, folder: Path, inputs: InputFiles = NO_FILES
) -> None:
    """Draw the figures of a study and write them and then the page into `folder`."""
    pictures = folder / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    for old in pictures.glob("*.*"):
        old.unlink()
    drawn = [draw(figure, tables, plan, inputs) for figure in plan.study.report_figures]
    for picture in drawn:
        for suffix, content in (("svg", picture.svg), ("pdf", picture.pdf)):
            if content:
                (pictures / f"{picture.figure.id}.{suffix}").write_bytes(content)
    with atomic_text(folder / "index.html") as page:
        page.write(render(plan, tables, drawn, source, name, inputs))
