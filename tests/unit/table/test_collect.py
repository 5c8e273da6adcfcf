"""Records -> tables: what every row says, and that files repeat byte by byte."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from fabricstudy.core.columns import PARQUET_ONLY, SCHEDULE_TABLES, TABLES
from fabricstudy.core.errors import ConfigError
from fabricstudy.core.store import checksummed_line
from fabricstudy.engine.validity import fingerprint
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.study.plan_file import write_plan
from fabricstudy.table.agreement import engine_names
from fabricstudy.table.collect import collect
from fabricstudy.table.files import TableError, read_shard, read_tables, write_csv, write_tables
from fabricstudy.table.point_records import PointRecords
from fabricstudy.table.schemas import axes_of, validated_table
from fabricstudy.workflow.stages import main

STUDY: dict[str, Any] = {
    "study": "two",
    "machine": {
        "kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "cores_per_node": 2,
        "bandwidth": "1 GB/s",
    },
    "routing": {"kind": "minimal"},
    "jobs": [
        {"name": "a", "share": 0.5, "pattern": {"kind": "all-to-all", "message": "100 kB"}},
        {"name": "b", "share": 0.5, "pattern": {"kind": "ring", "message": "100 kB"}},
    ],
    "engine": "caminos",
    "sweep": {
        "arrangement": {"of": "machine.arrangement", "values": ["absolute", "circulant"]},
        "routing": {"of": "routing.kind", "values": ["minimal", "valiant"]},
    },
    "seeds": 2,
    "slowdown": True,
    "claims": [
        {"id": "1", "statement": "Valiant is slower.", "source": "us", "parts": [
            {"statement": "Valiant over minimal", "source_range": [1, None], "measure": {
                "kind": "contrast", "metric": "runtime_ns", "of": {"routing": "valiant"},
                "against": {"routing": "minimal"}, "reduce": "min"}}]},
    ],
}  # fmt: skip


WRITTEN = [name for name in TABLES if name not in (*SCHEDULE_TABLES, *PARQUET_ONLY)]
"""Tables of a study without schedules."""


def planned(folder: Path, **changes: Any) -> Plan:
    """Plan the study with some keys replaced."""
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump({**STUDY, **changes}, sort_keys=False))
    return plan(load_study(file))


def record(point_id: str, point: Any, status: str = "done", runtime_ns: float = 1e6, **more: Any) -> dict[str, Any]:
    """What a batch says of a point; a job among several takes 1.5 times as long, under Valiant twice."""
    busy = [job.pattern.kind != "idle" for job in point.jobs]
    factor = (1.5 if sum(busy) > 1 else 1.0) * (2 if point.routing.kind == "valiant" else 1)
    jobs = [
        {"job": index, "ranks": 72, "nodes": 36, "messages": 72 * talks, "bytes": 7_200_000 * talks,
         "runtime_ns": runtime_ns * factor * talks, "bound_ns": 0.8 * runtime_ns * talks, "bound_method": "paths",
         "hop_bytes": 14_400_000.0 * talks}
        for index, talks in enumerate(busy)
    ]  # fmt: skip
    links = [
        {"class": "local", "links": 108, "used": 90, "load_mean_bytes": 5e5, "load_max_bytes": 1e6, "busy_max_ns": 1e6}
    ]
    head = {"point_id": point_id, "engine": "caminos", "version": "1", "status": status, "reason": None, "cpu_s": 2.0,
            "wall_s": 2.5, "memory_bytes": 1000, "overhead_cpu_s": 0.1, "host": "h", "started": "2026-01-01T00:00:00",
            "fingerprint": "f", "seed": point.seed}  # fmt: skip
    done = status == "done"
    return {**head, "jobs": jobs if done else [], "links": links if done else [], **more}


def records(of: Plan) -> dict[str, dict[str, Any]]:
    """Records of all points of a plan."""
    return {name: record(name, one.point) for name, one in of.points.items()}


def structures(of: Plan, exact: bool = True) -> list[dict[str, Any]]:
    """Structures of all machines of a plan."""
    bisection = {"lower_Bps": 1e10, "upper_Bps": 1.2e10, "exact": exact, "method": "by hand"}
    facts = {"kind": "dragonfly", "nodes": 72, "routers": 36, "cables": 90, "radix": 7, "diameter": 3, "mean_hops": 2.4}
    return [{"machine_id": name, **facts, "bisection": bisection, "classes": []} for name in of.machines]


def test_every_planned_row_is_a_row_in_the_order_of_the_plan(tmp_path: Path) -> None:
    of = planned(tmp_path)
    tables = collect(of, records(of).values(), structures(of))
    rows = tables.points[tables.points["experiment"] == "main"]
    assert list(rows["point_id"]) == [row.point_id for row in of.rows]
    assert axes_of(rows) == ["arrangement", "routing"]
    assert set(tables.points["point_id"]) == set(of.points)
    assert (rows["status"] == "done").all()
    assert len(tables.jobs) == 2 * len(of.rows)
    assert len(tables.links) == len(of.rows)


def test_numbers_of_a_job(tmp_path: Path) -> None:
    of = planned(tmp_path)
    job = collect(of, records(of).values(), structures(of)).jobs.query("routing == 'valiant'").iloc[0]
    assert (job["job"], job["job_name"]) == (0, "a")
    assert job["runtime_ns"] == 3e6
    assert job["baseline_ns"] == 2e6
    assert job["slowdown"] == 1.5
    assert job["over_bound"] == pytest.approx(3e6 / 0.8e6)
    assert job["rate_Bps"] == pytest.approx(7.2e6 / 3e-3)
    assert job["hops_mean"] == 2.0 and pd.isna(job["hops_routed"])  # links do not tell which of two jobs used them


def test_hops_are_those_of_the_links_where_a_job_is_alone(tmp_path: Path) -> None:
    of = planned(tmp_path, jobs=STUDY["jobs"][:1])
    jobs = collect(of, records(of).values(), structures(of)).jobs
    assert (jobs["hops_mean"] == 2.0).all()
    assert (jobs["hops_routed"] == 108 * 5e5 / 7.2e6).all()
    repeated = [*STUDY["jobs"][:1], {**STUDY["jobs"][1], "background": True}]
    of = planned(tmp_path, jobs=repeated)
    assert collect(of, records(of).values(), structures(of)).jobs["hops_routed"].isna().all()


def test_what_a_job_computes_is_told_apart_from_the_rest_of_its_time(tmp_path: Path) -> None:
    of = planned(tmp_path)
    found = records(of)
    for row in of.rows:
        found[row.point_id]["jobs"][1] |= {"compute_ns": 0.4 * found[row.point_id]["jobs"][1]["runtime_ns"]}
    jobs = collect(of, found.values(), structures(of)).jobs
    share = (jobs["compute_ns"] / jobs["runtime_ns"]).tolist()
    assert share == pytest.approx([0.0, 0.4] * len(of.rows))
    assert np.allclose(jobs["compute_ns"] + jobs["communication_ns"], jobs["runtime_ns"], rtol=1e-12)


def test_numbers_of_a_link_class(tmp_path: Path) -> None:
    of = planned(tmp_path)
    links = collect(of, records(of).values(), structures(of)).links.iloc[0]
    # 90 of 108 links carry all; the fullest one carries twice the mean.
    assert links["load_used_bytes"] == pytest.approx(5e5 * 108 / 90)
    assert links["imbalance"] == 2.0


def test_a_job_in_the_background_has_no_time_and_no_row_of_interference(tmp_path: Path) -> None:
    first, second = STUDY["jobs"]
    of = planned(tmp_path, jobs=[first, second | {"background": True}])
    found = records(of)
    for row in of.rows:
        job = found[row.point_id]["jobs"][1]
        job |= {"runtime_ns": None, "bound_ns": None, "bound_method": None}
    tables = collect(of, found.values(), structures(of))
    assert list(tables.jobs["background"]) == [False, True] * len(of.rows)
    own = tables.jobs[tables.jobs["background"]]
    missing = [
        "runtime_ns",
        "compute_ns",
        "communication_ns",
        "bound_ns",
        "over_bound",
        "baseline_ns",
        "slowdown",
        "rate_Bps",
    ]
    assert own[missing].isna().all(axis=None)
    assert tables.interference["job_name"].unique().tolist() == ["a"]
    assert len(tables.interference) == len(of.rows) and tables.interference["slowdown"].notna().all()


def test_slowdown_needs_the_time_alone(tmp_path: Path) -> None:
    of = planned(tmp_path)
    found = records(of)
    lost = of.rows[0].baseline_ids[1]
    assert lost is not None
    found[lost] = {**found[lost], "status": "failed", "reason": "crashed"}
    tables = collect(of, found.values(), structures(of))
    assert tables.jobs["slowdown"].isna().sum() == 1
    assert tables.interference["slowdown"].isna().sum() == 1
    assert tables.points.set_index("point_id").loc[lost, "experiment"] == "(baseline)"
    assert tables.points.set_index("point_id").loc[lost, "reason"] == "crashed"


def test_a_simulated_job_without_a_time_is_an_error(tmp_path: Path) -> None:
    of = planned(tmp_path)
    found = records(of)
    found[of.rows[0].point_id]["jobs"][0]["runtime_ns"] = None
    with pytest.raises(ConfigError, match=of.rows[0].point_id) as caught:
        collect(of, found.values(), structures(of))
    assert caught.value.path == "jobs.runtime_ns"


def test_what_is_only_analysed_has_no_time_and_agrees_with_nobody(tmp_path: Path) -> None:
    sweep = {"engine": {"of": "engine", "values": ["caminos", "analysis"]}}
    of = planned(tmp_path, slowdown=False, claims=[], sweep=sweep)
    found = records(of)
    for name, one in of.points.items():
        if one.point.engine.kind == "analysis":
            jobs = [job | {"runtime_ns": None} for job in found[name]["jobs"]]
            found[name] |= {"engine": "analysis", "jobs": jobs}
    tables = collect(of, found.values(), structures(of))
    analysed = tables.jobs["engine"] == "analysis"
    assert analysed.sum() == 4
    assert (tables.jobs["runtime_ns"].isna() == analysed).all() and (tables.jobs["rate_Bps"].isna() == analysed).all()
    assert (tables.jobs["bound_ns"] > 0).all()
    assert tables.agreement.empty


def test_without_slowdown_jobs_are_together_all_the_same(tmp_path: Path) -> None:
    of = planned(tmp_path, slowdown=False)
    tables = collect(of, records(of).values(), structures(of))
    assert len(tables.interference) == len(tables.jobs)
    assert tables.interference["slowdown"].isna().all()
    assert tables.interference["variation"].isna().all()
    assert tables.jobs["slowdown"].isna().all()


def test_sharing_as_simulated_and_by_the_routes(tmp_path: Path) -> None:
    of = planned(tmp_path)
    found = records(of)
    shares = {
        "routes": {"mls": 0.5, "tls": 0.25, "used": [4, 8], "shared": [2, 2]},
        "simulated": {"mls": 0.2, "tls": 0.1, "used": [5, 0], "shared": [1, 0]},
    }
    with_both, by_routes = of.rows[0].point_id, of.rows[1].point_id
    found[with_both]["sharing"] = shares
    found[by_routes]["sharing"] = {"routes": shares["routes"]}
    rows: Any = collect(of, found.values(), structures(of)).interference.set_index(["point_id", "job"])
    assert list(rows.loc[with_both, "links_shared_routes"]) == [0.5, 0.25]
    assert list(rows.loc[with_both, "links_shared"]) == [0.2, 0.0]
    assert rows.loc[(with_both, 1), ["mls", "tls", "mls_routes", "tls_routes"]].to_list() == [0.2, 0.1, 0.5, 0.25]
    assert rows.loc[by_routes, "mls"].isna().all()
    assert list(rows.loc[by_routes, "tls_routes"]) == [0.25, 0.25]


def test_variation_of_a_job_among_different_others(tmp_path: Path) -> None:
    """The same first job beside two different second ones: 2 and 3 ms around a median of 2.5 ms."""
    of = planned(tmp_path)
    first, other = of.rows[0], of.rows[1]
    of.rows[1] = replace(other, baseline_ids=(first.baseline_ids[0], other.baseline_ids[1]))
    found = records(of)
    for name, runtime_ns in ((first.point_id, 2e6), (other.point_id, 3e6)):
        found[name]["jobs"][0]["runtime_ns"] = runtime_ns
    rows: Any = collect(of, found.values(), structures(of)).interference.set_index(["point_id", "job"])
    assert rows.loc[(first.point_id, 0), "variation"] == rows.loc[(other.point_id, 0), "variation"] == 0.4
    assert rows["variation"].notna().sum() == 2


def test_points_without_a_result_keep_their_row(tmp_path: Path) -> None:
    of = planned(tmp_path)
    found = records(of)
    timed_out, lost = of.rows[0].point_id, of.rows[1].point_id
    found[timed_out] = record(timed_out, of.points[timed_out].point, status="timeout", reason="too long")
    del found[lost]
    tables = collect(of, found.values(), structures(of))
    points: Any = tables.points.set_index("point_id")
    assert points.loc[timed_out, ["status", "reason"]].to_list() == ["timeout", "too long"]
    assert points.loc[lost, ["status", "reason"]].to_list() == ["missing", "no record"]
    assert {timed_out, lost}.isdisjoint(tables.jobs["point_id"])
    claim = tables.claims.iloc[0]
    assert (claim["verdict"], claim["reason"]) == ("not run", "2 of 8 points missing (1 missing, 1 timeout)")


def test_the_claim_is_measured(tmp_path: Path) -> None:
    of = planned(tmp_path)
    claim = collect(of, records(of).values(), structures(of)).claims.iloc[0]
    assert (claim["measured"], claim["verdict"], claim["points"], claim["seeds"]) == (2.0, "reproduced", 8, 2)


def test_a_done_record_counts_before_a_failed_one_and_strangers_do_not_count(tmp_path: Path) -> None:
    of = planned(tmp_path)
    first = of.rows[0].point_id
    failed = record(first, of.points[first].point, status="failed", reason="crashed")
    stranger = {**failed, "point_id": "p000000000000"}
    for shards in ([failed, *records(of).values(), stranger], [stranger, *records(of).values(), failed]):
        points = collect(of, shards, structures(of)).points
        assert (points["status"] == "done").all()
        assert "p000000000000" not in set(points["point_id"])


def test_machines_are_labelled_by_the_axes_that_make_them(tmp_path: Path) -> None:
    of = planned(tmp_path)
    machines = collect(of, [], structures(of)).machines
    assert list(machines["arrangement"]) == ["absolute", "circulant"]
    assert "routing" not in machines
    assert list(machines["bisection_Bps"]) == [1.2e10, 1.2e10]
    assert collect(of, [], structures(of, exact=False)).machines["bisection_Bps"].isna().all()


def test_labels_keep_their_kind(tmp_path: Path) -> None:
    sweep = {
        "alpha": {"of": "machine.bandwidth.global", "values": {0.5: "0.5 GB/s", 1: "1 GB/s"}},
        "size": {"of": "jobs.0.pattern.message", "values": {10: "10 kB", 100: "100 kB"}},
        "wrap": {
            "of": "jobs.1.pattern",
            "values": {"yes it is": {"kind": "stencil", "periodic": True, "message": "1 kB"}},
        },
    }
    of = planned(tmp_path, sweep=sweep, claims=[])
    points = collect(of, [], []).points
    assert [str(points[axis].dtype) for axis in ("alpha", "size")] == ["float64", "Int64"]
    assert set(points["wrap"].dropna()) == {"yes it is"}


@pytest.mark.parametrize(
    ("slowdowns", "below"),
    [
        ([0.63, 0.7, 0.78], True),
        ([0.955, 0.96, 0.967], True),
        ([0.97, 0.99, 1.02], False),
        ([0.8, 0.9, 1.0], False),
        ([0.9999, 0.9999, 0.9999], False),
        ([0.9], True),
    ],
)
def test_a_slowdown_below_one_beyond_run_to_run_variation_is_marked(
    tmp_path: Path, slowdowns: list[float], below: bool
) -> None:
    """Of one job of one point; the seeds of the others keep their slowdowns, which are above 1."""
    of = planned(tmp_path, seeds=len(slowdowns))
    found = records(of)
    labels = of.rows[0].labels
    for row, slowdown in zip([one for one in of.rows if one.labels == labels], slowdowns, strict=True):
        alone = found[str(row.baseline_ids[0])]["jobs"][0]["runtime_ns"]
        found[row.point_id]["jobs"][0]["runtime_ns"] = slowdown * alone
    rows = collect(of, found.values(), structures(of)).interference
    changed = (rows[list(labels)] == pd.Series(labels)).all(axis=1) & (rows["job"] == 0)
    assert changed.sum() == len(slowdowns)
    assert rows.loc[changed, "slowdown_low"].unique() == pytest.approx([min(slowdowns)])
    assert rows.loc[changed, "slowdown_high"].unique() == pytest.approx([max(slowdowns)])
    assert set(rows.loc[changed, "below_one"]) == {below} and not rows.loc[~changed, "below_one"].any()


ENGINES = {"engine": {"of": "engine", "values": ["caminos", "sst"]}, "routing": STUDY["sweep"]["routing"]}


def on_two_engines(of: Plan, valiant: float = 2.0) -> list[dict[str, Any]]:
    """Records of a plan in which SST takes twice as long, and `valiant` times as long under Valiant."""
    found = []
    for name, one in of.points.items():
        slower = valiant if one.point.routing.kind == "valiant" else 2.0
        factor = slower if one.point.engine.kind == "sst" else 1.0
        found.append(record(name, one.point, runtime_ns=factor * 1e6, engine=one.point.engine.kind))
    return found


def test_engines_are_compared_on_the_same_points(tmp_path: Path) -> None:
    of = planned(tmp_path, slowdown=False, sweep=ENGINES)
    found = collect(of, on_two_engines(of), structures(of)).agreement
    assert len(found) == len(of.rows) // 2 * 2  # each row of one engine, two jobs
    assert set(found["pair"]) == {"sst / caminos"} and (found["ratio"] == 2.0).all()
    engines = {name: one.point.engine.kind for name, one in of.points.items()}
    assert set(found["point_a_id"].map(engines)) == {"caminos"} and set(found["point_b_id"].map(engines)) == {"sst"}
    assert axes_of(found) == ["routing"]
    once = planned(tmp_path, slowdown=False)
    assert collect(once, records(once).values(), structures(once)).agreement.empty


def test_engines_are_not_compared_on_a_job_that_takes_no_time(tmp_path: Path) -> None:
    of = planned(tmp_path, slowdown=False, sweep=ENGINES)
    found = on_two_engines(of)
    for one in found:
        one["jobs"][1]["runtime_ns"] = 0.0
    assert set(collect(of, found, structures(of)).agreement["job"]) == {0}


def test_engines_are_compared_by_their_slowdowns(tmp_path: Path) -> None:
    """SST takes twice as long with others and alone, but three times as long with others under Valiant."""
    of = planned(tmp_path, sweep=ENGINES)
    found = on_two_engines(of)
    for one in found:
        point = of.points[one["point_id"]].point
        together = sum(job.pattern.kind != "idle" for job in point.jobs) > 1
        if point.engine.kind == "sst" and point.routing.kind == "valiant" and together:
            for job in one["jobs"]:
                job["runtime_ns"] *= 1.5
    rows = collect(of, found, structures(of)).agreement
    assert rows.loc[rows["routing"] == "minimal", "slowdown_ratio"].unique() == pytest.approx([1.0])
    assert rows.loc[rows["routing"] == "valiant", "slowdown_ratio"].unique() == pytest.approx([1.5])
    assert (rows["slowdown_ratio"] == rows["slowdown_b"] / rows["slowdown_a"]).all()


def test_what_one_engine_lacks_says_nothing_about_the_verdict_of_another(tmp_path: Path) -> None:
    of = planned(tmp_path, slowdown=False, sweep=ENGINES)
    found = on_two_engines(of)
    for record_of in found:
        if record_of["engine"] == "sst":
            record_of |= {"status": "unsupported", "reason": "no", "jobs": [], "links": []}
    verdicts = collect(of, found, structures(of)).verdicts
    assert verdicts.set_index("engine")["verdict"].to_dict() == {"caminos": "reproduced", "sst": "not run"}


def test_points_that_run_alone_have_an_engine_too(tmp_path: Path) -> None:
    of = planned(tmp_path, sweep=ENGINES)
    tables = collect(of, on_two_engines(of), structures(of))
    engines = {name: one.point.engine.kind for name, one in of.points.items()}
    assert set(engines) == set(tables.points["point_id"]) and "(baseline)" in set(tables.points["experiment"])
    assert (tables.points["engine"] == tables.points["point_id"].map(engines)).all()
    assert tables.verdicts["engine"].tolist() == ["caminos", "sst"]


def test_settings_of_an_engine_are_compared_like_another_engine(tmp_path: Path) -> None:
    values = {"C": "caminos", "S": "sst", "slow": {"kind": "sst", "mpi": "default", "crossbar": 2}}
    of = planned(tmp_path, slowdown=False, sweep={"settings": {"of": "engine", "values": values}}, claims=[])
    found = collect(of, on_two_engines(of), structures(of)).agreement
    slow = "sst (slow)"
    assert list(dict.fromkeys(found["pair"])) == ["sst / caminos", f"{slow} / caminos", f"{slow} / sst"]
    assert found.groupby("pair", sort=False)["ratio"].first().tolist() == [2.0, 2.0, 1.0]


def test_an_engine_with_two_labels_has_the_name_of_its_settings(tmp_path: Path) -> None:
    slow = {"kind": "sst", "mpi": "default", "crossbar": 2}
    sets = {f"slow {routing}": {"engine": slow, "routing": routing} for routing in ("minimal", "valiant")}
    of = planned(tmp_path, slowdown=False, sweep={"way": {"set": {"C": {"engine": "caminos"}, **sets}}}, claims=[])
    assert sorted(engine_names(of).values()) == ["caminos", "sst (mpi default, crossbar 2)"]


def test_claims_are_judged_by_each_engine_alone(tmp_path: Path) -> None:
    of = planned(tmp_path, slowdown=False, sweep=ENGINES)
    # On SST Valiant is faster here, so the claim holds on CAMINOS only.
    tables = collect(of, on_two_engines(of, valiant=0.5), structures(of))
    verdicts = tables.verdicts.set_index("engine")
    assert verdicts["verdict"].to_dict() == {"caminos": "reproduced", "sst": "differs"}
    assert verdicts["measured"].to_dict() == pytest.approx({"caminos": 2.0, "sst": 0.5})
    assert tables.claims["verdict"].tolist() == ["differs"]
    alone = planned(tmp_path, slowdown=False)
    assert collect(alone, records(alone).values(), structures(alone)).verdicts.empty


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ("points.cpu_s", "soon", "wrong-type"),
        ("points.memory_bytes", 0.5, "wrong-type"),
        ("points.status", "lost", "unknown-value"),
        ("jobs.runtime_ns", -1.0, "out-of-range"),
        ("jobs.bytes", None, "missing-key"),
    ],
)
def test_a_record_that_is_no_result_is_refused(column: str, value: object, code: str, tmp_path: Path) -> None:
    of = planned(tmp_path)
    found = records(of)
    table, name = column.split(".")
    record = found[of.rows[0].point_id]
    (record if table == "points" else record["jobs"][0])[name] = value
    with pytest.raises(ConfigError) as caught:
        collect(of, found.values(), structures(of))
    assert (caught.value.path, caught.value.code) == (column, code)


def test_a_table_without_a_column_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        validated_table("messages", pd.DataFrame({"experiment": ["main"]}))
    assert caught.value.code == "missing-key"


def test_no_text_of_a_csv_is_a_formula(tmp_path: Path) -> None:
    texts = ["=1+1", "@SUM(1)", "+cmd", "-2+3", "-5", "+0.5", "plain", None, "\tx"]
    write_csv(pd.DataFrame({"label": texts, "number": range(len(texts))}), tmp_path / "t.csv")
    safe = pd.read_csv(tmp_path / "t.csv", dtype={"label": str})
    assert safe["label"].fillna("").tolist() == [
        "'=1+1",
        "'@SUM(1)",
        "'+cmd",
        "'-2+3",
        "-5",
        "+0.5",
        "plain",
        "",
        "'\tx",
    ]
    assert safe["number"].tolist() == list(range(len(texts)))


def test_records_are_not_kept_as_objects(tmp_path: Path) -> None:
    """A record is some 4 kB as objects, most of which are numbers that 8 bytes hold."""
    of = planned(tmp_path, slowdown=False)
    one = json.dumps(next(iter(records(of).values())))
    ids = [f"p{number:012x}" for number in range(1000)]
    wanted = {name: [column.name for column in TABLES[name]] for name in ("points", "jobs", "links")}
    tracemalloc.start()
    found = PointRecords(({**json.loads(one), "point_id": name} for name in ids), ids, wanted)
    kept_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(found.rows_of("jobs", ids[-1])) == 2
    assert kept_bytes < 1500 * len(ids)


NOT_AS_TEXT = {(name, "csv") for name in PARQUET_ONLY}


def test_files_say_what_the_tables_say(tmp_path: Path) -> None:
    of = planned(tmp_path)
    tables = collect(of, records(of).values(), structures(of))
    write_tables(tables, tmp_path / "tables")
    again = read_tables(tmp_path / "tables")
    for name in WRITTEN:
        pd.testing.assert_frame_equal(getattr(again, name), getattr(tables, name))
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == sorted(
        f"{name}.{suffix}" for name in TABLES for suffix in ("csv", "parquet") if (name, suffix) not in NOT_AS_TEXT
    )


def study_and_plan(of: Plan, folder: Path) -> list[str]:
    """Write the plan as its rule does, and give the arguments that name it."""
    write_plan(of, folder, lambda one: {})
    return ["table", "--study", str(folder / "study.yaml"), "--plan", str(folder)]


def shard(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as a batch does."""
    path.write_text("".join(checksummed_line(row) + "\n" for row in rows))
    return path


def test_the_command_repeats_byte_by_byte_however_the_points_were_batched(tmp_path: Path) -> None:
    of = planned(tmp_path)
    rows = [row | {"fingerprint": str(fingerprint(of.points[name].point))} for name, row in records(of).items()]
    machines = shard(tmp_path / "machines.jsonl", structures(of))
    shards = [shard(tmp_path / "b.jsonl", rows[:5]), shard(tmp_path / "a.jsonl", rows[5:])]
    whole = shard(tmp_path / "whole.jsonl", rows[::-1])
    for name, given in (("one", shards), ("two", shards[::-1]), ("three", [whole])):
        arguments = [
            *study_and_plan(of, tmp_path),
            "--out",
            str(tmp_path / name),
            "--points",
            *map(str, given),
        ]
        main([*arguments, "--structures", str(machines)])
    for name in WRITTEN:
        contents = {(tmp_path / run / f"{name}.csv").read_bytes() for run in ("one", "two", "three")}
        assert len(contents) == 1, name


def test_a_damaged_record_is_a_row_that_says_so_and_leaves_the_others(tmp_path: Path) -> None:
    of = planned(tmp_path)
    rows = [row | {"fingerprint": str(fingerprint(of.points[name].point))} for name, row in records(of).items()]
    file = shard(tmp_path / "a.jsonl", rows)
    lines = file.read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace('"jobs"', '"jobz"')
    file.write_text("".join(lines))
    arguments = [*study_and_plan(of, tmp_path), "--out", str(tmp_path / "out"), "--points", str(file)]
    main([*arguments, "--structures", str(shard(tmp_path / "machines.jsonl", structures(of)))])
    points = read_tables(tmp_path / "out").points.set_index("point_id")
    assert points.loc[rows[3]["point_id"], "status"] == "damaged"
    assert "a.jsonl, line 4" in points.loc[rows[3]["point_id"], "reason"]
    assert (points.drop(rows[3]["point_id"])["status"] != "damaged").all()


@pytest.mark.parametrize(("part", "is_refused"), [(0, True), (1, True), (2, False)])
def test_records_of_other_code_are_refused_and_of_another_program_are_not(
    tmp_path: Path, part: int, is_refused: bool
) -> None:
    of = planned(tmp_path)
    rows = []
    for name, row in records(of).items():
        marks = str(fingerprint(of.points[name].point)).split("-", 2)
        marks[part] = "other"
        rows.append(row | {"fingerprint": "-".join(marks)})
    file = shard(tmp_path / "a.jsonl", rows)
    arguments = [*study_and_plan(of, tmp_path), "--out", str(tmp_path / "out"), "--points", str(file)]
    with pytest.raises(TableError, match=r"a\.jsonl: p\w+ was .* --forcerun") if is_refused else nullcontext():
        main(arguments)
    assert (tmp_path / "out").exists() != is_refused


def test_what_differs_from_run_to_run_stands_in_points_only(tmp_path: Path) -> None:
    of = planned(tmp_path)
    slow = [
        {**one, "cpu_s": 9.0, "wall_s": 9.0, "memory_bytes": 9, "overhead_cpu_s": 9.0, "host": "x", "started": "later"}
        for one in records(of).values()
    ]
    write_tables(collect(of, records(of).values(), structures(of)), tmp_path / "one")
    write_tables(collect(of, slow, structures(of)), tmp_path / "two")
    differ = {
        name
        for name in WRITTEN
        if (tmp_path / f"one/{name}.csv").read_bytes() != (tmp_path / f"two/{name}.csv").read_bytes()
    }
    assert differ == {"points"}


@pytest.mark.parametrize("line", ["{", "[1]", "", "{}{}"])
def test_a_broken_shard_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"point_id": "p"}}\n{line}\n')
    with pytest.raises(TableError, match=r"a\.jsonl: line 2: not a JSON object"):
        list(read_shard(path))


def test_tables_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"points\.parquet"):
        read_tables(tmp_path)


def test_nothing_at_all_still_gives_all_tables(tmp_path: Path) -> None:
    tables = collect(planned(tmp_path), [], [])
    assert (tables.points["status"] == "missing").all()
    for name in ("jobs", "links", "interference", "machines", "agreement"):
        assert getattr(tables, name).empty
    assert list(tables.claims["verdict"]) == ["not run"]
