"""The page of a study: everything that its tables say, in one file."""

import base64
import hashlib
import inspect
import platform
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup, escape

import fabricstudy
from fabricstudy.analysis.base import Analysis
from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.columns import DONE, SIZES_OF_MACHINE, STATUSES
from fabricstudy.core.extensions import LOADED
from fabricstudy.core.files import atomic_text
from fabricstudy.core.phrasing import count_noun
from fabricstudy.report import agreement, study_setup, times
from fabricstudy.study.model import Study
from fabricstudy.study.plan import Plan
from fabricstudy.table.claims import COMPUTED, TOO_FEW_SEEDS
from fabricstudy.table.files import Tables
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text

from .explorer import as_choices, explorer
from .figure_style import NOTHING_MADE, Made
from .figures import RenderedFigure, draw
from .findings import design_axes, effects, leading, metric_of, sentences, size_axes
from .scatter import fronts
from .schedules import schedule_summaries
from .spot_check import judged_unchecked, resolution_check_summary, spot_check_summary
from .text import NO_NUMBER, TextTable, claimed, format_number, number, pair_count_text, range_text

LEAST_PX, PANEL_PX = 660, 300
"""Widths at which the labels of a figure can still be read; a narrower window scrolls sideways."""

EMBEDDED_BYTES = 1_800_000
"""Pictures up to this total stand in the page itself; the others stay beside it."""

_LIBRARIES = (
    *("numpy", "scipy", "pandas", "pyarrow", "pandera", "pydantic"),
    *("seaborn", "matplotlib", "vl-convert-python", "snakemake"),
)
_MOST_REASONS = 50
_EXAMPLE = "(example)"
_MOST_ANALYSIS_ROWS = 120


def _again(name: str) -> str:
    """Give the command that makes this page again, in a clone or with an installed wheel."""
    study = Path(name).stem if Path(name).resolve().parent == CONFIGS.resolve() else name
    return f"fabricstudy run {shlex.quote(study)} --cores all"


def render(plan: Plan, tables: Tables, drawn: Sequence[RenderedFigure], source: bytes, name: str) -> str:
    """Return the page's HTML.

    Parameters
    ----------
    drawn : sequence of Drawn
        The figures, as `draw` gave them.
    source : bytes
        The study file.
    name : str
        What stands after ``study=`` on the command line.
    """
    study = plan.study
    changes = effects(tables, design_axes(study), size_axes(study), metric_of(study.report_figures))
    skipped = tables.points[tables.points["status"] == "skipped"].drop_duplicates(["engine", "reason"])
    pictures = _pictures(drawn)
    shown_first = leading([one.figure if one.svg else None for one in drawn], changes)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fabricstudy.report"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    # What stands between backticks, as in Markdown, is code.
    environment.filters["code"] = lambda text: Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))
    return environment.get_template("page.html.j2").render(
        study=study,
        source=source.decode("utf-8", "replace"),
        head=study_setup.head(study, plan, tables.points),
        experiments=study_setup.experiments(study, tables.points),
        parameters=study_setup.parameters(study, plan, tables.points),
        claims=_claims(tables.claims),
        judged_unchecked=judged_unchecked(study, tables),
        verdicts_of={
            str(engine): dict(zip(rows["claim"], rows["claim_verdict"], strict=True))
            for engine, rows in tables.verdicts.groupby("engine")
        },
        changes=changes,
        machines=_machines(tables),
        analyses=_analyses(tables),
        schedules=schedule_summaries(study, tables),
        sentences=[
            *sentences(tables, changes, study.meanings, fronts(study.figures, tables)),
            *spot_check_summary(tables),
            *resolution_check_summary(tables),
        ],
        lead=None if shown_first is None else pictures[shown_first],
        figures=[picture for place, picture in enumerate(pictures) if place != shown_first],
        explorer=explorer(tables),
        explorer_start={} if shown_first is None else as_choices(drawn[shown_first].figure),
        jobs=study_setup.jobs(plan, tables.jobs),
        interference=times.interference(tables.interference),
        below_one=times.below_one(tables.interference),
        below_bounds=times.below_bounds(tables.jobs),
        bounds=times.bounds(tables.jobs),
        predictors=times.predictors(tables),
        agreement=agreement.ratios(tables),
        slowdown_ratios=agreement.slowdown_ratios(tables),
        slowdowns=agreement.slowdowns(tables),
        agreement_verdicts=agreement.verdicts(tables),
        differences=agreement.differences(plan, tables),
        statuses=_statuses(tables.points),
        reasons=_reasons(tables.points),
        missing_engines=[f"{row['engine']}: {row['reason']}" for row in skipped.to_dict("records")],
        provenance=_provenance(study, tables),
        fingerprints=_fingerprints(study, tables, source),
        command=_again(name),
    )


def _claims(claims: pd.DataFrame) -> list[dict[str, Any]]:
    """Claims with their parts, ready to print."""
    found = []
    for _, part in claims.groupby("claim", sort=False):
        rows = part.to_dict("records")
        facts = {name: _text(rows[0][name]) for name in ("statement", "source", "note", "scope")}
        verdict, parts = rows[0]["claim_verdict"], [_part(row) for row in rows]
        found.append({"id": rows[0]["claim"], "verdict": verdict, "parts": parts, **facts})
    return found


def _text(value: Any) -> Any:
    return "" if pd.isna(value) else value


def _part(row: Mapping[Any, Any]) -> dict[str, str]:
    how = row["show"]
    seeds = f", {row['seeds']} seeds" if row["seeds"] > 1 else ""
    pairs = "" if pd.isna(row["pairs"]) else f", {pair_count_text(row['pairs'], row['pairs_planned'])}"
    what = {"no seeds involved": "machine", COMPUTED: "row"}.get(row["interval"], "point")
    interval = (
        f"{format_number(row['low'], how)} to {format_number(row['high'], how)} ({row['interval']})"
        if row["seeds"]
        else ""
    )
    if row["interval"] == TOO_FEW_SEEDS:
        interval = f"{count_noun(row['seeds'], 'seed')}, no interval"
    return {
        "statement": _text(row["part_statement"]),
        "said": range_text(row["source_low"], row["source_high"], how),
        "accepted": range_text(row["accept_low"], row["accept_high"], how),
        "why": _text(row["accept_reason"]),
        "measured": claimed(row),
        "at": "" if pd.isna(row["at_labels"]) else f"at {row['at']}",
        "interval": interval,
        "n": NO_NUMBER if pd.isna(row["low"]) else f"{row['points']} {what}{'s' * (row['points'] > 1)}{seeds}{pairs}",
        "verdict": row["verdict"],
        "reason": _text(row["reason"]),
    }


def _machines(tables: Tables) -> TextTable:
    """The machines with their labels on the axes that have one for each, and on those that have several."""
    frame = tables.machines
    axes = list(frame.columns[1 : list(frame.columns).index("kind")])
    others = study_setup.machine_labels(tables.points.drop(columns=axes))
    first = [*axes, *["label"] * bool(others)]
    head = [*first, "kind", *(name.replace("_", " ") for name in SIZES_OF_MACHINE), "bisection (GB/s)", "found by"]
    rows = []
    for row in frame.to_dict("records"):
        low, high = row["bisection_lower_Bps"] / 1e9, row["bisection_upper_Bps"] / 1e9
        bisection = number(high) if row["bisection_exact"] else f"{number(low)} to {number(high)}"
        facts = [number(row[name]) for name in SIZES_OF_MACHINE]
        labels = [label_text(row[axis]) for axis in axes]
        labels += [", ".join(others.get(row["machine_id"], ()))] * bool(others)
        rows.append([*labels, row["kind"], *facts, bisection, row["bisection_method"]])
    return TextTable(head, rows, frozenset(range(len(first) + 1, len(head) - 1)))


def _analyses(tables: Tables) -> list[dict[str, Any]]:
    """Every analysis; a short one with its rows, without empty columns."""
    found = []
    for name, frame in tables.analyses.items():
        kind = frame["kind"].iloc[0] if len(frame) else None
        about = inspect.getdoc(Analysis.FAMILY.members[kind]) if kind else ""
        grid = _analysis_grid(frame.drop(columns="kind").dropna(axis="columns", how="all"))
        found.append({"name": name, "rows": len(frame), "kind": kind or "no rows", "about": about, "grid": grid})
    return found


def _analysis_grid(frame: pd.DataFrame) -> TextTable:
    rows = frame.itertuples(index=False) if len(frame) <= _MOST_ANALYSIS_ROWS else ()
    return TextTable(
        [str(column).replace("_", " ") for column in frame],
        [[value if isinstance(value, str) else number(value) for value in row] for row in rows],
        frozenset(i for i, kind in enumerate(frame.dtypes) if pd.api.types.is_numeric_dtype(kind)),
    )


def _pictures(drawn: Sequence[RenderedFigure]) -> list[dict[str, Any]]:
    """Pictures and their sources: the page itself, up to `EMBEDDED_BYTES` in all, then files beside it."""
    pictures, embedded = [], 0
    for one in drawn:
        svg, pdf = (f"figures/{one.figure.id}.{suffix}" for suffix in ("svg", "pdf"))
        embedded += len(one.svg)
        inside = "data:image/svg+xml;base64," + base64.b64encode(one.svg).decode()
        # The picture itself says what it rests on; only where there is none do words have to.
        missing = "" if one.svg else one.basis
        pictures.append({
            "id": one.figure.id, "title": one.figure.title, "caption": one.figure.caption, "missing": missing,
            "alt": f"{one.alt} {one.basis}", "drawn": bool(one.svg), "width": max(LEAST_PX, PANEL_PX * one.panels),
            "src": inside if embedded <= EMBEDDED_BYTES else svg, "svg": svg, "pdf": pdf,
        })  # fmt: skip
    return pictures


def _statuses(points: pd.DataFrame) -> TextTable:
    counts = pd.crosstab(points["experiment"], points["status"])
    names = [name for name in STATUSES if name in counts]
    order = points["experiment"].unique()
    rows = [[str(experiment), *(str(counts.loc[experiment, name]) for name in names)] for experiment in order]
    return TextTable(("experiment", *names), rows, frozenset(range(1, len(names) + 1)))


def _reasons(points: pd.DataFrame) -> TextTable:
    """Why points are not done, the most frequent reasons first, with one point as an example."""
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
    seconds = f"{number(points['cpu_s'].sum())} in simulators, {number(points['overhead_cpu_s'].sum())} around them"
    engines, hosts = (", ".join(sorted(points[name].dropna().unique())) or "none" for name in ("version", "host"))
    of_points = [
        ("engines", engines),
        ("hosts of the simulations", hosts),
        ("simulations started", f"{started.min()} to {started.max()}" if len(started) else "none"),
        ("CPU seconds", seconds),
        ("largest memory of a simulation", NO_NUMBER if pd.isna(memory) else f"{memory / 1e6:.0f} MB"),
    ]
    return [
        ("fabricstudy", fabricstudy.__version__),
        *(of_points if study.simulates else ()),
        ("Python", platform.python_version()),
        ("libraries", ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)),
    ]


def _fingerprints(study: Study, tables: Tables, source: bytes) -> list[tuple[str, list[str]]]:
    """Digests of what the page rests on; those of code and programs with the number of their points."""
    points = tables.points.drop_duplicates("point_id")
    ids = hashlib.sha256("\n".join(sorted(points["point_id"])).encode()).hexdigest()
    made_by = [
        f"{one} ({count_noun(n, 'point')})" for one, n in points["fingerprint"].value_counts().sort_index().items()
    ]
    of_points = [("our code, our reader of results, the engine", made_by), ("SHA-256 of the sorted point ids", [ids])]
    return [
        *(of_points if study.simulates else ()),
        ("SHA-256 of the study file", [hashlib.sha256(source).hexdigest()]),
        *((f"SHA-256 of {name}", [LOADED[study.extension_package][Path(name).stem]]) for name in study.extensions),
    ]


def write_report(plan: Plan, tables: Tables, source: bytes, name: str, folder: Path, made: Made = NOTHING_MADE) -> None:
    """Draw all figures of a study and write them and the page into `folder`; the page comes last."""
    pictures = folder / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    for old in pictures.glob("*.*"):
        old.unlink()
    drawn = [draw(figure, tables, plan, made) for figure in plan.study.report_figures]
    for one in drawn:
        for suffix, content in (("svg", one.svg), ("pdf", one.pdf)):
            if content:
                (pictures / f"{one.figure.id}.{suffix}").write_bytes(content)
    with atomic_text(folder / "index.html") as page:
        page.write(render(plan, tables, drawn, source, name))
