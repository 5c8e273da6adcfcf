"""Distributions of message sizes: means in closed form, shapes against scipy's, and what reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fabricstudy.core.errors import ConfigError, FabricstudyError
from fabricstudy.engine.point import Point, point_from_json, point_id
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import plan
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.sizes import MessageSizes

from ...machines import place_jobs, point_on

EXTENSIONS = ["b_eff", "namd", "openatom"]
WEB_SEARCH = {
    "10 kB": 0.15, "20 kB": 0.2, "30 kB": 0.3, "50 kB": 0.4, "80 kB": 0.53, "200 kB": 0.6, "1 MB": 0.7, "2 MB": 0.8,
    "5 MB": 0.9, "10 MB": 0.97, "30 MB": 1,
}  # fmt: skip
"""The flows of a web search (Alizadeh et al., SIGCOMM 2010), as simulators of data centers list them."""

IN_FILE = (
    "0 0\n10000 15\n20000 20\n30000 30\n50000 40\n80000 53\n200000 60\n1000000 70\n2000000 80\n5000000 90\n"
    "10000000 97\n30000000 100\n"
)
BYTES, SHARES = np.array([line.split() for line in IN_FILE.splitlines()], dtype=float).T
MACHINE = {"kind": "mesh", "shape": [4, 4], "bandwidth": "1 GB/s"}


def sizes_of(**keys: Any) -> MessageSizes:
    return MessageSizes.model_validate(keys, by_alias=True, by_name=False)


def point(message: Any, kind: str = "uniform-random", seed: int = 0, **more: Any) -> Point:
    jobs = [{"share": 1.0, "pattern": {"kind": kind, "message": message, **more}}]
    return point_on(MACHINE, engine="packet", jobs=jobs, seed=seed)


@pytest.mark.parametrize(
    "keys",
    [
        {"kind": "lognormal", "mean": "64 kB", "sigma": 1.5},
        {"kind": "uniform", "least": "1 B", "most": "9 kB"},
        {"kind": "table", "cdf": WEB_SEARCH},
        {"kind": "table", "cdf": {"1 kB": 0.75, "1 MB": 1}, "steps": True},
        {"kind": "table", "cdf": {"1 kB": 0.5, "2 kB": 0.5, "3 kB": 1}},
    ],
)
def test_rows_of_the_inverse_are_the_distribution(keys: dict[str, Any]) -> None:
    sizes = sizes_of(**keys)
    end, low, high = sizes.inverse().T
    begin = np.append(0.0, end[:-1])
    assert end[-1] == 1 and np.all(begin < end) and np.all(low <= high)
    assert (end - begin) @ (low + high) / 2 == pytest.approx(sizes.mean_bytes(), rel=1e-3)
    share = np.random.default_rng(1).random(1000)
    row = np.searchsorted(end, share, side="right")
    drawn = low[row] + (high - low)[row] * (share - begin[row]) / (end - begin)[row]
    assert drawn == pytest.approx(sizes.quantiles(share), rel=1e-3, abs=0.51)


class TestShapes:
    """Kolmogorov's test of 20,000 draws: a wrong distribution fails it, a right one does by these seeds not."""

    def check(self, sizes: MessageSizes, cdf: Any) -> None:
        for seed in range(3):
            drawn = sizes.draw(20_000, np.random.default_rng(seed))
            # Rounding to whole bytes moves a draw by half a byte.
            assert stats.kstest(drawn + np.random.default_rng(seed).uniform(-0.5, 0.5, len(drawn)), cdf).pvalue > 0.01

    def test_lognormal(self) -> None:
        sizes = sizes_of(kind="lognormal", mean="64 kB", sigma=1.5)
        law = stats.lognorm(s=1.5, scale=64_000 * np.exp(-(1.5**2) / 2))
        assert law.mean() == pytest.approx(sizes.mean_bytes()) and int(sizes) == 64_000
        self.check(sizes, law.cdf)

    def test_uniform(self) -> None:
        sizes = sizes_of(kind="uniform", least="1 kB", most="9 kB")
        assert sizes.mean_bytes() == stats.randint(1_000, 9_001).mean() == 5_000
        self.check(sizes, stats.uniform(999.5, 8_001).cdf)
        few = sizes_of(kind="uniform", least="1 B", most="3 B").draw(30_000, np.random.default_rng(1))
        assert stats.chisquare(np.bincount(few)[1:]).pvalue > 0.01

    def test_table(self) -> None:
        sizes = sizes_of(kind="table", cdf=WEB_SEARCH)
        # The mean is the integral of the share of larger messages, which the trapezoidal rule has exactly.
        assert sizes.mean_bytes() == pytest.approx(np.trapezoid(1 - SHARES / 100, BYTES))
        self.check(sizes, lambda size: np.interp(size, BYTES, SHARES / 100))

    def test_a_table_of_steps_has_its_sizes_only(self) -> None:
        sizes = sizes_of(kind="table", cdf={"1 kB": 0.75, "1 MB": 1}, steps=True)
        assert sizes.mean_bytes() == 0.75 * 1_000 + 0.25 * 1_000_000
        values, counts = np.unique(sizes.draw(10_000, np.random.default_rng(2)), return_counts=True)
        assert values.tolist() == [1_000, 1_000_000]
        assert stats.binomtest(int(counts[0]), 10_000, 0.75).pvalue > 0.01


def test_a_file_in_per_cent_and_one_of_shares_are_the_same_table(tmp_path: Path) -> None:
    (tmp_path / "web.txt").write_text(IN_FILE)
    rows = (f"{int(size)},{share / 100:g}" for size, share in zip(BYTES, SHARES, strict=True))
    (tmp_path / "web.csv").write_text("# bytes, share\n" + "\n".join(rows))
    read = [
        MessageSizes.model_validate({"kind": "table", **keys}, context={"folder": tmp_path}, by_alias=True)
        for keys in ({"file": "web.txt"}, {"file": "web.csv"}, {"cdf": WEB_SEARCH})
    ]
    assert read[0].physics() == read[1].physics() == read[2].physics()


@pytest.mark.parametrize(
    ("message", "code", "key"),
    [
        ({"kind": "uniform", "least": "9 kB", "most": "1 kB"}, "out-of-range", "least"),
        ({"kind": "table", "cdf": {"1 kB": 0.5}}, "out-of-range", "cdf"),
        ({"kind": "table", "cdf": {"2 kB": 0.5, "1 kB": 1}}, "out-of-range", "cdf"),
        ({"kind": "table"}, "out-of-range", "cdf"),
        ({"kind": "table", "file": "absent.txt"}, "invalid-data-file", "file"),
        ({"kind": "lognormal", "mean": "1 kB"}, "missing-key", "sigma"),
        ({"kind": "pareto"}, "unknown-value", "kind"),
        ({"mean": "1 kB"}, "missing-key", "kind"),
    ],
)
def test_mistakes_are_found_at_their_keys(tmp_path: Path, message: Any, code: str, key: str) -> None:
    jobs = [{"share": 1.0, "pattern": {"kind": "uniform-random", "message": message}}]
    study = {"study": "s", "machine": MACHINE, "routing": "minimal", "jobs": jobs, "engine": "packet"}
    with pytest.raises(FabricstudyError) as refused:
        plan(validate_study(study, tmp_path / "s.yaml"))
    (mistake,) = refused.value.each()
    assert isinstance(mistake, ConfigError)
    assert mistake.code == code
    assert mistake.keys == ("jobs", "0", "pattern", "message", key)


def test_sizes_of_a_job_follow_the_seed_and_bounds_the_sizes() -> None:
    message = {"kind": "table", "cdf": WEB_SEARCH}
    first, again, other = (point(message, messages_per_rank=40, seed=seed) for seed in (1, 1, 2))
    jobs = [place_jobs(one, one.machine.build())[0] for one in (first, again, other)]
    drawn = [job.messages.size_bytes for job in jobs]
    assert np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0], drawn[2])
    # Sizes are apart from all other choices: partners are those of messages of one size.
    one_size = point("1 kB", messages_per_rank=40, seed=1)
    (alike,) = place_jobs(one_size, one_size.machine.build())
    assert np.array_equal(alike.messages.destination, jobs[0].messages.destination)
    assert point_id(point_from_json(first.model_dump(mode="json"))) == point_id(first) != point_id(one_size)


@pytest.mark.parametrize("kind", ["all-reduce", "all-gather", "broadcast", "states-planes", "patches"])
def test_patterns_that_set_sizes_themselves_refuse_a_distribution(kind: str) -> None:
    more = (
        {"states": 4, "planes": 4} if kind == "states-planes" else {"patches": [4, 4, 4]} if kind == "patches" else {}
    )
    message = {"kind": "uniform", "least": "1 kB", "most": "2 kB"}
    with pytest.raises(ValueError, match="message"):
        Pattern.model_validate({"kind": kind, "message": message, **more})


@pytest.mark.parametrize(
    "kind", ["all-to-all", "ring", "stencil", "pairs", "permutation", "uniform-random", "bisection", "b-eff"]
)
def test_other_patterns_draw_all_sizes(kind: str) -> None:
    of_kind = point({"kind": "uniform", "least": "1 kB", "most": "2 kB"}, kind)
    (job,) = place_jobs(of_kind, of_kind.machine.build())
    sizes = job.messages.size_bytes
    assert sizes.min() >= 1_000 and sizes.max() <= 2_000 and len(np.unique(sizes)) > min(4, len(sizes) - 1)
