"""The command ``fabricstudy machine whatif``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy import cli
from fabricstudy.commands.whatif import _intervals

DRAGONFLY = "{kind: dragonfly, groups: 9, routers_per_group: 4, nodes_per_router: 2, bandwidth: 1 GB/s}"
FABRIC = "from,to,class\na,b,x\nb,c,x\nc,d,x\nd,a,x\nn1,a,host\nn2,b,host\nn3,c,host\nn4,d,host\n"


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert cli.main(["machine", "whatif", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_failed_cable_and_a_failed_router(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "picture.svg"
    found = answer(capsys, DRAGONFLY, "--fail", "0,1", "--fail", "5", "--out", str(out))
    before, after = found["before"], found["after"]
    assert (before["nodes"], before["cables"], after["nodes"], after["cables"]) == (72, 90, 70, 84)
    assert (found["lost_routers"], found["lost_nodes"]) == ([5], [10, 11])
    assert after["uniform_load"] < before["uniform_load"] and "adversary_load" not in after
    assert found["worst_pair"]["hops_after"] > found["worst_pair"]["hops_before"]
    assert out.read_text().startswith("<?xml") and "lines" in found["shows"]


def test_a_ring_of_a_file_becomes_a_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ring.csv").write_text(FABRIC.replace("class", "class,bandwidth").replace(",x", ",x,1 GB/s"))
    (tmp_path / "ring.csv").write_text((tmp_path / "ring.csv").read_text().replace(",host", ",host,1 GB/s"))
    monkeypatch.chdir(tmp_path)
    found = answer(capsys, "ring.csv", "--fail", "a,d")
    assert found["before"]["bisection_upper_Bps"] == 2 * found["after"]["bisection_upper_Bps"] == 2e9
    assert found["worst_pair"] == {"routers": ["a", "d"], "hops_before": 1, "hops_after": 3}
    found = answer(capsys, "ring.csv", "--fail", "b")
    assert found["lost_nodes"] == ["n2"] and found["after"]["routers"] == 3


def test_of_parallel_cables_the_named_one_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["from,to,class,count,bandwidth", "a,b,fast,2,4 GB/s", "a,b,slow,1,1 GB/s", "b,c,slow,1,1 GB/s"]
    lines += [f"n{router},{router},host,,1 GB/s" for router in "abc"]
    (tmp_path / "f.csv").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    (error,) = answer(capsys, "f.csv", "--fail", "a,b", code=1)["errors"]
    assert error["code"] == "conflicting-keys" and "fast and slow" in error["message"]
    assert answer(capsys, "f.csv", "--fail", "a,b,optical", code=1)["errors"][0]["code"] == "unknown-name"
    found = answer(capsys, "f.csv", "--fail", "b,a,slow", "--fail", "a,b,fast")
    assert found["failed_cables"] == [
        {"routers": ["a", "b"], "class": name, "cables": 1, "of": 3} for name in ("fast", "slow")
    ]
    assert answer(capsys, "f.csv", "--fail", "a,b", "--of", "slow")["failed_cables"][0]["class"] == "slow"
    assert cli.main(["machine", "whatif", "f.csv", "--fail", "a,b,fast"]) == 0
    assert "1 of 3 cables from a to b, class fast" in capsys.readouterr().out


def test_a_share_is_the_draw_of_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    found = [answer(capsys, DRAGONFLY, "--fail", "5%", "--seed", seed)["after"] for seed in ("1", "1", "2")]
    assert found[0] == found[1] != found[2] and found[0]["cables"] == 85
    assert cli.main(["machine", "whatif", DRAGONFLY, "--fail", "5 %", "--of", "global"]) == 0
    assert "88" in capsys.readouterr().out


def test_a_number_of_cables_is_the_draw_of_a_study(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 90 cables; 5 alone is router 5."""
    five = answer(capsys, DRAGONFLY, "--fail", "5 cables", "--seed", "3")
    assert (five["after"]["cables"], five["after"]["routers"]) == (85, 36)
    assert answer(capsys, DRAGONFLY, "--fail", "5.6 %", "--seed", "3")["failed_cables"] == five["failed_cables"]
    assert answer(capsys, DRAGONFLY, "--fail", "1 cable")["after"]["cables"] == 89
    assert answer(capsys, DRAGONFLY, "--fail", "5")["after"]["routers"] == 35


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--fail", "5 cables", "--fail", "0,1"], "conflicting-keys"),
        (["--fail", "500 cables"], "out-of-range"),
        (["--fail", "120 %"], "out-of-range"),
        (["--fail", "99"], "unknown-name"),
        (["--fail", "0,7"], "unknown-name"),
        (["--fail", "0,1,2"], "unknown-name"),
        (["--fail", "0,1,local,2"], "invalid-value"),
        (["--fail", "2 %", "--fail", "0,1"], "conflicting-keys"),
        (["--fail", "5 %", "--of", "optical"], "unknown-value"),
        (["--fail", "100 %"], "invalid-machine"),
        (["--fail", "5 %", "--out", "picture.gif"], "unsupported-format"),
    ],
)
def test_wrong_faults_are_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], code: str) -> None:
    assert answer(capsys, DRAGONFLY, *arguments, code=1)["errors"][0]["code"] == code


COMMAS = """\
from,to,class,bandwidth
"box, nodes [1-2]","box, nodes [3-4]",up,1 GB/s
"box, nodes [3-4]",box,up,1 GB/s
box,"box, nodes [1-2]",up,1 GB/s
n1,"box, nodes [1-2]",host,1 GB/s
n2,"box, nodes [1-2]",host,1 GB/s
n3,"box, nodes [3-4]",host,1 GB/s
n4,box,host,1 GB/s
"""


@pytest.mark.parametrize(
    ("fail", "cables", "lost"),
    [
        ("box, nodes [1-2],box, nodes [3-4]", [["box, nodes [1-2]", "box, nodes [3-4]"]], []),
        ("box,box, nodes [3-4],up", [["box, nodes [3-4]", "box"]], []),
        ("box, nodes [1-2],2", [["box, nodes [1-2]", "box"]], []),
        ("n[1-2]", [], ["n1", "n2"]),
        ("n[2,4]", [], ["n2", "n4"]),
        ("n3", [], ["n3"]),
    ],
)
def test_names_with_commas_and_lists_of_hosts_fail(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, fail: str, cables: list[list[str]], lost: list[str]
) -> None:
    (tmp_path / "f.csv").write_text(COMMAS)
    found = answer(capsys, str(tmp_path / "f.csv"), "--fail", fail)
    assert [set(cable["routers"]) for cable in found["failed_cables"]] == [set(pair) for pair in cables]
    assert found["lost_nodes"] == lost
    assert answer(capsys, str(tmp_path / "f.csv"), "--fail", "n[1-9]", code=1)["errors"][0]["code"] == "unknown-name"


def test_the_change_of_a_bisection_is_an_interval_with_the_change_of_any_value_in_both() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        before, after = (sorted(map(float, rng.integers(1, 1000, 2))) for _ in range(2))
        change = _intervals(before, after)[2].replace(" %", "").split(" to ")
        inside = [100 * (b / a - 1) for a in before for b in after]
        assert float(change[0]) == pytest.approx(min(inside), abs=0.06)
        assert float(change[-1]) == pytest.approx(max(inside), abs=0.06)


def test_the_bisection_is_that_of_the_command_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 24 hubs with 2 nodes each; the quick interval of analyses with many draws may be wider."""
    machine = "{kind: hyperx, shape: [4, 6], nodes_per_router: 2, bandwidth: 1 GB/s}"
    before = answer(capsys, machine, "--fail", "0,1")["before"]
    assert cli.main(["machine", machine, "--json"]) == 0
    bisection = json.loads(capsys.readouterr().out)["bisection"]
    assert bisection["exact"] and before["bisection_lower_Bps"] == bisection["lower_Bps"] == bisection["upper_Bps"]
    assert before["bisection_upper_Bps"] == bisection["upper_Bps"]
