"""The page: complete, self-contained, small, and safe whatever a study is called."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.columns import METRICS
from fabricstudy.engine.settings import Network
from fabricstudy.report import page, study_setup
from fabricstudy.report.figures import RenderedFigure
from fabricstudy.report.page import MAX_ROUTERS_DRAWN, render, write_report
from fabricstudy.report.summaries import below_bounds, bounds
from fabricstudy.report.text import NO_NUMBER
from fabricstudy.study.figures import Figure
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import plan
from fabricstudy.study.plan_file import write_plan
from fabricstudy.table.files import write_tables
from fabricstudy.table.select import label_text
from fabricstudy.workflow.stages import main

from .conftest import FIGURES, HOSTILE, STUDY, Case

Make = Callable[..., Case]
SECTIONS = ("findings", "claims", "setup", "parameters", "explore", "machines", "bounds", "provenance", "again")


class Reader(HTMLParser):
    """Collects tags with attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.scripts = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts += 1
        if tag not in ("meta", "img", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.words.append(data)

    @property
    def text(self) -> str:
        """All text between tags with single blanks."""
        return " ".join(" ".join(self.words).split())


def written(case: Case, folder: Path) -> tuple[str, Reader]:
    """Write a case's report and read its page."""
    write_report(case.plan, case.tables, case.file.read_bytes(), str(case.file), folder)
    text = (folder / "index.html").read_text()
    return text, Reader(text)


def test_the_page_has_all_sections_and_every_tag_is_closed(make: Make, tmp_path: Path) -> None:
    _, page = written(make(figures=[]), tmp_path / "out")
    assert not page.open
    assert [attributes.get("id") for tag, attributes in page.tags if tag == "section"] == list(SECTIONS)
    links = [a["href"] for tag, a in page.tags if tag == "a" and re.match("#(?!claim-)", a["href"] or "")]
    assert links == [f"#{section}" for section in SECTIONS]
    claims = [a["href"] for tag, a in page.tags if tag == "a" and (a["href"] or "").startswith("#claim-")]
    assert sorted(claims, key=str) == ["#claim-2.1", "#claim-2.2"]


def test_sections_without_content_are_left_out(make: Make, tmp_path: Path) -> None:
    case = make(lost=2, figures=FIGURES[:2], claims=[])
    _, page = written(case, tmp_path / "out")
    sections = {attributes.get("id") for tag, attributes in page.tags if tag == "section"}
    assert {"figures", "failures"} <= sections and sections.isdisjoint({"claims", "agreement", "interference"})
    links = {(a["href"] or "")[1:] for tag, a in page.tags if tag == "a" and (a["href"] or "").startswith("#")}
    assert links == sections


def test_backticks_are_code_and_nothing_else_is_markup(make: Make, tmp_path: Path) -> None:
    text, _ = written(make(description="Of `a<b>` and *c*, one ` alone", figures=[]), tmp_path / "out")
    assert "<p>Of <code>a&lt;b&gt;</code> and *c*, one ` alone</p>" in text


def test_machines_workloads_and_source_stand_at_the_top(make: Make, tmp_path: Path) -> None:
    _, page = written(make(figures=[]), tmp_path / "out")
    top = page.text[: page.text.index("Key findings")]
    assert "alpha: 0.5 and 2; routing: minimal and valiant; message: " in top
    assert "dragonfly (2 variants): 72 nodes, 36 routers, local 1 GB/s, global 500 MB/s to 2 GB/s, host 1 GB/s" in top
    assert "app: ring, message 1 kB to 1 MB, 72 nodes" in top
    assert f"Source {HOSTILE} and somebody" in top
    claims = make(figures=[]).tables.claims.assign(claim_verdict="differs")
    case = make(figures=[])
    _, page = written(replace(case, tables=replace(case.tables, claims=claims)), tmp_path / "differ")
    found = page.text[page.text.index("Key findings") :]
    assert found.index(f"S {HOSTILE}") < found.index("routing changes the runtime")


def test_every_parameter_stands_with_its_origin(make: Make) -> None:
    """All keys of the models, the aliases as in the file."""
    network = {"buffer": "32 kB", "packet": "2 kB"}
    case = make(figures=[], network=network)
    grids = study_setup.parameters(case.study, case.plan)
    found = {row[0]: tuple(row[1:]) for grid in grids for row in grid.rows}
    assert {name.split(".")[1] for name in found if name.startswith("network.")} == {
        field.alias or name for name, field in Network.model_fields.items()
    }
    assert found["network.buffer"] == ("32 kB", "set") and found["network.packet"] == ("2 kB", "default")
    assert found["network.router_latency"] == ("100 ns", "default")
    assert found["machine.bandwidth.global"] == ("500 MB/s; 2 GB/s", "varied: alpha")
    assert found["machine.bandwidth.local"] == ("1 GB/s", "set")
    assert found["machine.latency.local"] == ("40 ns", "default")
    assert found["routing"] == ("minimal; valiant", "varied: routing")
    assert found["routing (valiant).via"] == ("router", "default")
    assert found["engine"] == ("caminos", "set") and found["engine.phit"] == ("not set", "default")
    assert found["jobs.0.pattern"] == ("ring", "set") and found["jobs.0.pattern.iterations"] == ("1", "default")
    assert found["jobs.0.pattern.message"] == ("1 kB; 1 MB", "varied: message")
    assert found["jobs.0.allocation"] == ("cluster", "default") and found["jobs.0.mapping"] == ("linear", "default")


def test_equal_jobs_are_counted() -> None:
    ring = {"kind": "ring", "message": "1 kB"}
    jobs = [{"name": "halo", "nodes": 8, "count": 6, "pattern": ring}, {"name": "app", "nodes": 9, "pattern": ring}]
    sections = {key: STUDY[key] for key in ("study", "machine", "routing", "engine")}
    study = validate_study({**sections, "jobs": jobs})
    planned = plan(study)
    text = study_setup._workloads([one.point for one in planned.points.values()])
    assert "halo (6 jobs): ring" in text and "app: ring" in text
    assert not any(row[0].endswith(".count") for row in study_setup.parameters(study, planned)[1].rows)


def test_values_that_are_left_out_are_counted(make: Make) -> None:
    sizes = [f"{number} kB" for number in range(1, 8)]
    case = make(figures=[], claims=[], sweep={"message": {"of": "jobs.0.pattern.message", "values": sizes}}, seeds=1)
    found = {row[0]: row[1] for grid in study_setup.parameters(case.study, case.plan) for row in grid.rows}
    assert found["jobs.0.pattern.message"] == "1 kB; 2 kB; 3 kB; 4 kB; 5 kB; 2 more"


def test_shapes_of_patterns_are_resolved(make: Make) -> None:
    jobs = [{"nodes": 24, "pattern": {"kind": "stencil", "message": "1 kB"}}]
    case = make(
        figures=[], claims=[], jobs=jobs, sweep={"routing": {"of": "routing", "values": ["minimal", "valiant"]}}
    )
    found = {row[0]: tuple(row[1:]) for grid in study_setup.parameters(case.study, case.plan) for row in grid.rows}
    assert found["jobs.0.pattern.shape"] == ("4, 3, 2", "default") and found["jobs.0.nodes"] == ("24", "set")


def test_the_labels_of_machines_are_those_of_the_study(make: Make) -> None:
    """Two labels of one machine, which differ in the routing, both name it."""
    one, two = ({"kind": "torus", "shape": [side, 4], "bandwidth": "1 GB/s"} for side in (4, 8))
    both = {"a": {"machine": one}, "a, valiant": {"machine": one, "routing": "valiant"}, "b": {"machine": two}}
    case = make(
        figures=[],
        claims=[],
        sweep={"machine": {"set": both}, "routing": {"of": "jobs.0.pattern.message", "values": ["1 kB"]}},
    )
    labels = study_setup.machine_labels(case.tables.points)
    assert [labels[name] for name in case.plan.machines] == [["a / a, valiant"], ["b"]]


def test_machines_have_their_share_of_full_bisection(make: Make) -> None:
    """72 nodes at 1 GB/s can send 36 GB/s to the other half; the cuts are of at most 20 and of 10 GB/s."""
    case = make(figures=[])
    machines = page._machines(case.plan, case.tables)
    column = list(machines.head).index("of full (%)")
    assert [row[column] for row in machines.rows] == ["55.6", "27.8"] and column in machines.numeric


def test_links_of_nodes_that_limit_nothing_give_no_share_of_full_bisection(make: Make) -> None:
    rails = {"kind": "rails", "domains": 2, "accelerators": 4, "bandwidth": {"scale_up": "9 GB/s", "rail": "1 GB/s"}}
    case = make(figures=[], claims=[], machine=rails, sweep={})
    machines = page._machines(case.plan, case.tables)
    assert [row[list(machines.head).index("of full (%)")] for row in machines.rows] == [NO_NUMBER]


def test_machines_have_the_prices_of_the_analysis_of_costs(make: Make) -> None:
    case = make(figures=[])
    tables = case.tables
    labels = [label_text(label) for label in tables.machines["alpha"]]
    bill = pd.DataFrame({
        "kind": "cost", "machine": [*labels, labels[0]], "part": [*["all"] * len(labels), "cables-host"],
        "currency": "USD", "year": 2025, "price_per_node": [*np.arange(len(labels)) + 900.0, 1.0],
    })  # fmt: skip
    without, priced = (
        page._machines(case.plan, replace(tables, analyses=analyses)) for analyses in ({}, {"bill": bill})
    )
    assert priced.head == [*without.head, "price per node (USD of 2025)"]
    assert [row[-1] for row in priced.rows] == [str(900 + number) for number in range(len(labels))]
    assert [row[:-1] for row in priced.rows] == without.rows and max(priced.numeric) == len(priced.head) - 1


def test_jobs_faster_with_neighbours_than_alone_are_named_at_the_top(make: Make, tmp_path: Path) -> None:
    case = make(figures=[])
    rows = pd.DataFrame(
        {
            "experiment": "main", "alpha": [2.0, 2.0, 0.5], "seed": [1, 2, 1], "engine": "caminos",
            "point_id": ["p1", "p2", "p3"], "job_name": ["cfd", "cfd", "ai"], "slowdown": [0.7, 0.72, 1.2],
            "slowdown_low": [0.7, 0.7, 1.2], "slowdown_high": [0.72, 0.72, 1.2], "below_one": [True, True, False],
        }
    )  # fmt: skip
    rows = rows.reindex(columns=list(dict.fromkeys([*rows, *METRICS["interference"], "job"])))
    _, page = written(replace(case, tables=replace(case.tables, interference=rows)), tmp_path / "out")
    assert ("div", {"class": "warning", "role": "note"}) in page.tags
    found = page.text[page.text.index("Key findings") : page.text.index("Of 2 claims")]
    assert "2 points" in found and "main 2 caminos cfd 0.71 0.7 to 0.72 2" in found and "ai" not in found.split()
    _, page = written(case, tmp_path / "none")
    assert "Faster with other jobs" not in page.text


def test_a_hostile_study_stays_text(make: Make, tmp_path: Path) -> None:
    text, page = written(make(lost=2, figures=FIGURES[1:2]), tmp_path / "out")
    assert {tag for tag, _ in page.tags}.isdisjoint({"b>", "i", "u"})
    assert text.count("<script") == text.count("</script") == page.scripts == 4  # data, libraries, explorer, marks
    for place in ("Title", "Asked", "Source", "Note", "Part", "crashed"):
        assert f"{place} {HOSTILE}" in page.text
    assert "1 <b>" in page.text and "h <i>" in page.text and "by <u>hand</u>" in page.text
    assert not list(tmp_path.glob("**/x"))


def test_labels_with_commas_can_be_told_apart(make: Make, tmp_path: Path) -> None:
    sweep = {"pattern": {"of": "jobs.0.pattern.message", "values": {"stencil": "1 kB", "stencil, <b>": "2 kB"}}}
    text, page = written(make(sweep=sweep, figures=[], claims=[]), tmp_path / "out")
    labels = [a for tag, a in page.tags if tag == "code" and a.get("class") == "label"]
    assert len(labels) == 2 and '<code class="label">stencil, &lt;b&gt;</code>' in text


def test_fingerprints_stand_apart_and_are_counted(make: Make, tmp_path: Path) -> None:
    case = make(figures=[])
    points = case.tables.points.assign(fingerprint=["a-b-c, d"] * 8 + ["e-f-g"] * 16)
    write_report(case.plan, replace(case.tables, points=points), b"", "x", tmp_path)
    text = (tmp_path / "index.html").read_text()
    folded = text[text.index("<summary>Fingerprints") : text.index("</section>", text.index("<summary>Fingerprints"))]
    assert "<dd>a-b-c, d (8 points)</dd><dd>e-f-g (16 points)</dd>" in folded


def test_the_command_is_quoted_for_a_shell_and_names_our_own_studies_by_name(make: Make, tmp_path: Path) -> None:
    case = make(figures=[])
    _, page = written(case, tmp_path / "out")
    command = next(words for words in page.words if words.startswith("fabricstudy run "))
    assert shlex.split(command) == ["fabricstudy", "run", str(case.file), "--cores", "all"]
    bundled = render(case.plan, case.tables, (), b"", str(CONFIGS / "quick.yaml"))
    assert "fabricstudy run quick --cores all" in bundled


def test_the_page_needs_nothing_else_and_every_picture_has_words_and_files(make: Make, tmp_path: Path) -> None:
    text, page = written(make(), tmp_path / "out")
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(images) == len(FIGURES)  # one has nothing to draw, and the machine is drawn at the top
    assert all((image["src"] or "").startswith("data:image/svg+xml;base64,") for image in images)
    assert all(len(image["alt"] or "") > 50 for image in images)
    assert not re.search(r"https?://|@import|url\(", re.sub(r"<script>.*?</script>", "", text, flags=re.S))
    assert all((attributes["href"] or "").startswith("data:") for tag, attributes in page.tags if tag == "link")
    for name in (one["id"] for one in FIGURES if one["id"] != "nothing"):
        for suffix in ("svg", "pdf"):
            assert (tmp_path / f"out/figures/{name}.{suffix}").stat().st_size > 1000
            assert ("a", {"href": f"figures/{name}.{suffix}"}) in page.tags
    assert "Nothing to draw: table agreement" in page.text
    assert "n = 24 points" not in page.text  # it stands in the picture


def test_it_opens_with_the_figure_that_shows_the_largest_effect(make: Make, tmp_path: Path) -> None:
    _, page = written(make(figures=[FIGURES[3], FIGURES[2], FIGURES[0]]), tmp_path / "out")
    order = [attributes["id"] for tag, attributes in page.tags if tag in ("section", "figure")]
    # Of those, only the lines show times against the routing, which doubles them.
    assert order[:6] == ["findings", "figure-of-machine", "figure-lines", "figures", "figure-cuts", "figure-boxes"]
    numbers = [page.text.index(f"Figure {number}. {title}") for number, title in enumerate(("Time", "Bis", "Spr"), 1)]
    assert numbers == sorted(numbers)


def test_a_machine_too_large_to_be_drawn_leaves_the_page_without_its_picture(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = make(figures=[])
    assert len([tag for tag, _ in written(case, tmp_path / "small")[1].tags if tag == "img"]) == 1
    monkeypatch.setattr("fabricstudy.report.page.MAX_ROUTERS_DRAWN", 35)
    assert MAX_ROUTERS_DRAWN > 36
    assert not [tag for tag, _ in written(case, tmp_path / "large")[1].tags if tag == "img"]


def test_a_large_report_leaves_pictures_beside_the_page_to_stay_small(make: Make) -> None:
    case = make(figures=[])
    figures = [Figure.model_validate({**FIGURES[0], "id": f"f{number}"}) for number in range(20)]
    drawn = [RenderedFigure(figure, b"<svg/>" + b" " * 500_000, b"", "a", "b", 1) for figure in figures]
    text = render(case.plan, case.tables, drawn, b"", "study")
    sources = [attributes["src"] or "" for tag, attributes in Reader(text).tags if tag == "img"][1:]
    assert len(text) < 5_000_000
    assert sources[0].startswith("data:") and sources[-1] == "figures/f19.svg"
    assert len(sources) == 20


def test_verdicts_and_numbers(make: Make, tmp_path: Path) -> None:
    _, page = written(make(figures=[]), tmp_path / "out")
    assert "Of 2 claims, 1 is reproduced and 1 could not be tested." in page.text
    assert "24 simulations of 2 machines by caminos" in page.text
    assert "needs a real machine" in page.text
    assert "1.5 to 2.5" in page.text and "24 points, 3 seeds" in page.text
    assert "10 to 20" in page.text  # the bisection that is not proven


def test_what_the_source_says_what_is_accepted_and_what_was_measured_are_columns(make: Make, tmp_path: Path) -> None:
    part = STUDY["claims"][0]["parts"][0]
    wider = {**part, "accept": [1, 2.5], "reason": f"Reason {HOSTILE}"}
    claim = {**STUDY["claims"][0], "scope": f"Scope {HOSTILE}", "parts": [wider]}
    text, page = written(make(figures=[], claims=[claim]), tmp_path / "out")
    assert "source accepted measured" in page.text
    assert f"1.5 to 2.5 1 to 2.5 Reason {HOSTILE} 2.119 2.118 to 2.12 " in page.text
    assert f"here: Scope {HOSTILE}" in page.text
    assert "2.1 reproduced in part" in page.text and "Of 1 claim, 1 is reproduced in part." in page.text
    assert 'class="badge reproduced-in-part"' in text
    _, page = written(make(figures=[], seeds=1), tmp_path / "one")
    assert "1 seed, no interval" in page.text


def test_verdicts_of_each_engine_stand_beside_those_of_all(make: Make, tmp_path: Path) -> None:
    _, page = written(make(figures=[]), tmp_path / "one")
    assert "2.1 reproduced" in page.text and "alone:" not in page.text
    sweep = {"engine": ["caminos", "sst"], "routing": STUDY["sweep"]["routing"]}
    _, page = written(make(figures=[], sweep=sweep), tmp_path / "two")
    for claim, verdict in (("2.1", "reproduced"), ("2.2", "not run")):  # 2.2 needs a real machine
        assert f"{claim} {verdict} caminos alone: {verdict} sst alone: {verdict}" in page.text


def test_failures_are_counted_with_their_reasons(make: Make, tmp_path: Path) -> None:
    case = make(lost=2, figures=[])
    _, page = written(case, tmp_path / "out")
    assert "22 of 24 simulations of 2 machines" in page.text
    first = case.plan.rows[0]
    assert f"{first.point_id} (alpha 0.5, routing minimal, message " in page.text
    assert "failed caminos crashed" in page.text


def test_a_missing_engine_is_named(make: Make, tmp_path: Path) -> None:
    case = make(figures=[])
    points = case.tables.points.assign(status="skipped", reason="caminos was not found; run make")
    case = replace(case, tables=replace(case.tables, points=points))
    assert "caminos: caminos was not found; run make" in written(case, tmp_path / "out")[1].text


def test_nothing_done_still_gives_a_page(make: Make, tmp_path: Path) -> None:
    _, page = written(make(lost=24, claims=[], figures=[]), tmp_path / "out")
    assert "0 of 24 simulations of 2 machines by no engine" in page.text


def test_figures_of_an_earlier_run_go(make: Make, tmp_path: Path) -> None:
    (tmp_path / "out/figures").mkdir(parents=True)
    for suffix in ("svg", "pdf"):
        (tmp_path / f"out/figures/old.{suffix}").touch()
    written(make(figures=[]), tmp_path / "out")
    assert not list((tmp_path / "out/figures").iterdir())


def test_the_command_line_writes_the_same_page_each_time(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = make(lost=2, figures=FIGURES[2:3])
    write_tables(case.tables, tmp_path / "tables")
    write_plan(case.plan, tmp_path, lambda one: {})
    for name in ("one", "two"):
        main(
            [
                "report",
                "--study",
                str(case.file),
                "--plan",
                str(tmp_path),
                "--tables",
                str(tmp_path / "tables"),
                "--out",
                str(tmp_path / name),
            ]
        )
        assert capsys.readouterr().out == (
            f"hostile: 22 of 24 points done (2 failed: see Failures); {tmp_path / name}/index.html\n"
        )
    assert (tmp_path / "one/index.html").read_bytes() == (tmp_path / "two/index.html").read_bytes()


def test_the_digest_of_the_study_file_is_that_of_its_bytes(make: Make, tmp_path: Path) -> None:
    case = make(figures=[])
    case.file.write_bytes(case.file.read_bytes().replace(b"\n", b"\r\n"))
    _, page = written(case, tmp_path / "out")
    assert hashlib.sha256(case.file.read_bytes()).hexdigest() in page.text


def test_extensions_are_told_with_their_digests(make: Make, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    own = tmp_path / "more/line.py"
    own.write_text(
        "from fabricstudy.machine.grids import TorusConfig\n\n\nclass Line(TorusConfig, kind='line'):\n    pass\n"
    )
    _, page = written(make(figures=[], claims=[], extensions=["more/line.py"]), tmp_path / "out")
    assert "more/line.py" in page.text and hashlib.sha256(own.read_bytes()).hexdigest() in page.text


def test_the_jobs_are_listed(make: Make, tmp_path: Path) -> None:
    _, page = written(make(figures=[]), tmp_path / "out")
    assert "main app ring 1 72 72 144 144,000 24" in page.text


def test_a_time_below_its_bound_is_a_red_line_at_the_top(make: Make, tmp_path: Path) -> None:
    case = make(figures=[])
    jobs = case.tables.jobs
    low = jobs.index[3]
    # What rounding makes of the bound itself is no time below it.
    jobs.loc[jobs.index[0], "over_bound"] = 1 - 1e-12
    html, page = written(case, tmp_path / "right")
    assert below_bounds(jobs) == "" and 'class="error"' not in html
    jobs.loc[low, "over_bound"] = 0.9
    html, page = written(case, tmp_path / "wrong")
    line = below_bounds(jobs)
    assert jobs.loc[low, "point_id"] in line and "1 of" in line
    assert line in page.text and html.index('class="error"') < html.index("<main>")


def test_the_higher_bound_is_told_and_the_job_furthest_above_it_is_named(make: Make) -> None:
    """Times are 1 to 2 ms; the link bound is 0.9 ms, the phase bound 0.8 ms, and of two points 1.2 ms."""
    case = make(figures=[])
    jobs = case.tables.jobs
    lifted = jobs.index[:2]
    jobs.loc[lifted, "phase_bound_ns"] = 1.2e6
    jobs["over_phase_bound"] = jobs["runtime_ns"] / jobs["phase_bound_ns"]
    (row,) = bounds(jobs).rows
    over = jobs["runtime_ns"] / jobs[["bound_ns", "phase_bound_ns"]].max(axis="columns")
    assert row[:4] == ["main", "paths", "24", "2"]
    assert [float(text) for text in row[4:7]] == pytest.approx([over.min(), over.median(), over.max()], rel=1e-3)
    assert int(row[7]) == (over < 1).sum() == 2
    assert jobs["point_id"].iloc[int(over.argmax())] in row[8]
