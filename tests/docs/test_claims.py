"""The page on the claims of the sources has a row for each claim of the bundled studies, with studies and engines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fabricstudy.core.columns import DIFFERS, IN_PART, NOT_RUN, REPRODUCED, UNDECIDED
from fabricstudy.study.claims import Claim
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.workflow.pipeline import bundled_studies, find_study

PAGE = (Path(__file__).resolve().parents[2] / "docs/claims.md").read_text()
SOURCES = ("Oltchik", "Desai", "Kaplan", "Jain", "Bhatele")
EXTENDED = "not run in this form"
HEADER = "| claim | statement | study | verdict | measured |"


@dataclass(frozen=True)
class Row:
    """A row of a table of the page."""

    source: str
    claim: str
    studies: set[str]
    verdict: str
    measured: str

    @property
    def engines(self) -> set[str]:
        return set(re.findall(r"`([a-z]+)`:", self.measured))


@dataclass
class Held:
    """The studies that have a claim, the engines that measure it, and whether studies limit its scope."""

    sources: set[str] = field(default_factory=set)
    studies: set[str] = field(default_factory=set)
    engines: set[str] = field(default_factory=set)
    limited: set[bool] = field(default_factory=set)


def read_rows() -> Iterator[Row]:
    for section in PAGE.split("\n## ")[1:]:
        _, table = section.split(f"\n{HEADER}\n")
        for line in table.split("\n\n")[0].splitlines()[1:]:
            claim, _, studies, verdict, measured = line.removeprefix("| ").removesuffix(" |").split(" | ")
            yield Row(section.split()[0], claim, set(re.findall("`([^`]+)`", studies)), verdict, measured)


ROWS = list(read_rows())


@pytest.fixture(scope="module")
def held() -> dict[str, Held]:
    """Return the claims of the five sources in the bundled studies, by id."""
    found: defaultdict[str, Held] = defaultdict(Held)
    for name in bundled_studies():
        study = load_study(find_study(name))
        claims = [(source, claim) for claim in study.claims for source in SOURCES if claim.source.startswith(source)]
        planned = plan(study) if claims else None
        for source, claim in claims:
            assert planned is not None
            of_claim = found[claim.id]
            of_claim.sources.add(source)
            of_claim.studies.add(name)
            of_claim.engines |= engines_of(claim, planned)
            of_claim.limited.add(bool(claim.scope))
    return found


def engines_of(claim: Claim, planned: Plan) -> set[str]:
    """Return the engines of the experiments that a claim reads; "schedule" and "analysis" of its other numbers."""
    engines = set()
    for measure in (measure for part in claim.parts for measure in part.measures()):
        if measure.schedule is not None:
            engines.add("schedule")
        elif measure.analysis is not None or measure.table == "machines":
            engines.add("analysis")
        else:
            ids = {row.point_id for row in planned.rows if row.experiment == measure.experiment}
            of_experiment = {planned.points[point_id].point.engine.kind for point_id in ids}
            engines |= of_experiment & {measure.where["engine"]} if "engine" in measure.where else of_experiment
    return engines


def test_each_claim_has_a_row_with_its_studies_and_engines(held: dict[str, Held]) -> None:
    found = {row.claim: (row.source, row.studies, row.engines) for row in ROWS if row.studies}
    assert found == {claim: (*of.sources, of.studies, of.engines) for claim, of in held.items()}


def test_each_claim_has_one_row() -> None:
    claims = [row.claim for row in ROWS]
    assert sorted(set(claims)) == sorted(claims)


def test_verdicts_are_those_that_the_claims_can_have(held: dict[str, Held]) -> None:
    for row in ROWS:
        assert row.verdict in {REPRODUCED, IN_PART, DIFFERS, UNDECIDED, NOT_RUN, EXTENDED}, row
        assert (row.verdict == NOT_RUN) == (not row.engines), row
        if row.verdict in (REPRODUCED, IN_PART):
            assert (row.verdict == IN_PART) in held[row.claim].limited, row


def test_rows_without_a_number_have_a_reason() -> None:
    without = [row for row in ROWS if not row.engines]
    assert without and all(len(row.measured.split()) > 3 for row in without)
