"""A headless Chromium and the reports it looks at; without a browser these tests are skipped with the reason."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricstudy.engine.point import Point
from fabricstudy.report.page import write_report
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan
from fabricstudy.table.collect import collect

selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

# Labels of a study may hold anything; these would be seen if they were taken for markup or formulas.
HOSTILE = '<b onmouseover=alert(1)>&amp; "x" </script>'

STUDY = f"""\
study: explored
title: A study to explore
machine: {{kind: dragonfly, groups: 9, routers_per_group: 4, nodes_per_router: 2, bandwidth: 1 GB/s}}
routing: {{kind: minimal}}
jobs: [{{share: 1.0, pattern: {{kind: all-to-all, message: 1 kB}}}}]
engine: caminos
experiments:
  first:
    sweep:
      alpha: {{of: machine.bandwidth.global, values: {{0.5: 0.5 GB/s, 1: 1 GB/s, 4: 4 GB/s}}}}
      pattern:
        set:
          all-to-all: {{jobs.0.pattern: {{kind: all-to-all, message: 24 kB}}}}
          {json.dumps(HOSTILE)}: {{jobs.0.pattern: {{kind: stencil, message: 480 kB}}}}
      routing: {{of: routing.kind, values: [minimal, valiant]}}
    seeds: 3
  second:
    sweep:
      arrangement: {{of: machine.arrangement, values: [absolute, relative, circulant]}}
      routing: {{of: routing.kind, values: [minimal, valiant]}}
    seeds: 2
figures:
  - {{id: time, kind: line, title: Time, caption: Time falls., experiment: first, x: alpha, y: runtime_ns, unit: us,
     hue: routing, where: {{pattern: all-to-all}}}}
claims:
  - {{id: "1.1", statement: Real machines do so as well., source: nobody, note: needs a real machine}}
"""


def record(name: str, point: Point, number: int) -> dict[str, Any]:
    """A made-up result: Valiant takes twice as long, and no two times are equal."""
    time_ns = (1e6 + 1e3 * number) * (2 if point.routing.kind == "valiant" else 1)
    job = {"job": 0, "ranks": 72, "nodes": 72, "messages": 144, "bytes": 144_000, "runtime_ns": time_ns,
           "bound_ns": 9e5, "bound_method": "paths", "hop_bytes": 3e5}  # fmt: skip
    links = [{"class": kind, "links": 72, "load_mean_bytes": 1e6, "load_max_bytes": 2e6 + number, "used": 72}
             for kind in ("local", "global")]  # fmt: skip
    return {"point_id": name, "engine": "caminos", "version": "1", "status": "done", "reason": None, "cpu_s": 1.0,
            "wall_s": 1.0, "memory_bytes": 10, "overhead_cpu_s": 0.1, "host": "h", "started": "2026-01-01T00:00:00",
            "fingerprint": "f", "seed": point.seed, "jobs": [job], "links": links}  # fmt: skip


def structure(machine_id: str, number: int) -> dict[str, Any]:
    """A made-up structure."""
    bisection = {"lower_Bps": 1e10, "upper_Bps": (1 + number) * 1e10, "exact": number == 0, "method": "made up"}
    facts = {"kind": "dragonfly", "nodes": 72, "routers": 36, "cables": 90, "radix": 7, "diameter": 3, "mean_hops": 2.4}
    return {"machine_id": machine_id, **facts, "bisection": bisection}


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a small study."""
    folder = tmp_path_factory.mktemp("report")
    file = folder / "explored.yaml"
    file.write_text(STUDY)
    assert yaml.safe_load(STUDY)
    study = load_study(file)
    planned = plan(study)
    count = itertools.count()
    records = [record(name, one.point, next(count)) for name, one in planned.points.items()]
    machines = [structure(name, number) for number, name in enumerate(planned.machines)]
    write_report(planned, collect(planned, records, machines), STUDY.encode(), "explored.yaml", folder / "out")
    return folder / "out/index.html"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A running Chromium that keeps its log and every request."""
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not found; on Debian: apt install chromium chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = programs["chromium"]
    # Without a sandbox it also runs as root in a container; what it shows is our own page.
    for switch in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run"):
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = selenium.ChromeService(programs["chromedriver"])
    driver = selenium.Chrome(options=options, service=service)
    yield driver
    driver.quit()
