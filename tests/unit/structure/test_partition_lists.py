"""Lists of partitions for a mix: every list of a small machine by brute force, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.errors import ConfigError, FabricstudyError
from fabricstudy.study.file import validate_study

MIDPLANES = (4, 3)
SHARES = {1024: 3.0, 2048: 1.0, 3072: 0.5, 4096: 2.0}
ASKED: dict[str, Any] = {
    "kind": "partition-lists", "machine": {"kind": "bluegene-q", "midplanes": [4, 3, 1, 1], "bandwidth": "2 GB/s"},
    "sizes": SHARES, "communication": 0.3, "named": {"mine": [[1], [2], [4], [3, 2], [4, 2]]},
}  # fmt: skip


def rows(**changes: Any) -> list[dict[str, Any]]:
    study = {"study": "x", "extensions": ["extensions/partition_lists.py"], "analyses": {"a": ASKED | changes}}
    return validate_study(study, CONFIGS / "x.yaml").analyses["a"].rows()


def taken(corner: tuple[int, ...], sides: tuple[int, ...]) -> set[tuple[Any, ...]]:
    """Midplanes of a partition, and the lines of which a ring of more than one midplane takes all cables."""
    x, y = (range(first, first + side) for first, side in zip(corner, sides, strict=True))
    lines = {("x", one) for one in y if sides[0] > 1} | {("y", one) for one in x if sides[1] > 1}
    return set(itertools.product(x, y)) | lines


def most_at_once(shape: tuple[int, int]) -> int:
    """Try all sets of partitions that stand at multiples of their sides."""
    placed = [
        taken(corner, sides)
        for sides in {shape, shape[::-1]}
        if all(side <= length for side, length in zip(sides, MIDPLANES, strict=True))
        for corner in itertools.product(
            *(range(0, length - side + 1, side) for side, length in zip(sides, MIDPLANES, strict=True))
        )
    ]

    def most(left: list[set[tuple[Any, ...]]]) -> int:
        if not left:
            return 0
        first, *others = left
        return max(most(others), 1 + most([other for other in others if not other & first]))

    return most(placed)


def by_hand() -> dict[str, dict[str, tuple[float, float, float]]]:
    """Stretch, idle share and useful utilisation of each geometry and list; a bisection has 2 N / L links."""
    shapes = {1024: [(2, 1)], 2048: [(4, 1), (2, 2)], 3072: [(3, 2)], 4096: [(4, 2)]}
    facts = {}
    for nodes, own in shapes.items():
        links = {shape: 2 * nodes / (4 * max(shape)) for shape in own}
        facts[nodes] = [
            (shape, max(links.values()) / links[shape], most_at_once(shape) * nodes / (12 * 512)) for shape in own
        ]

    def judged(chosen: tuple[Any, ...], shares: list[float]) -> tuple[float, float, float]:
        parts = list(zip((share / sum(shares) for share in shares), chosen, strict=True))
        alone_time = sum(share / used for share, (_, _, used) in parts)
        time = sum(share * (0.7 + 0.3 * stretch) / used for share, (_, stretch, used) in parts)
        return sum(share * stretch for share, (_, stretch, _) in parts), 1 - 1 / alone_time, 1 / time

    def written(chosen: tuple[Any, ...]) -> str:
        return " ".join("x".join(str(side) for side in shape if side > 1) for shape, _, _ in chosen)

    found = {str(nodes): {written((one,)): judged((one,), [1.0]) for one in own} for nodes, own in facts.items()}
    lists = itertools.product(*facts.values())
    return found | {"all": {written(one): judged(one, list(SHARES.values())) for one in lists}}


def test_every_list_of_a_small_machine_is_as_brute_force_finds_it() -> None:
    found, expected = rows(), by_hand()
    assert {(row["part"], row["geometries"]) for row in found} == {
        (part, label) for part, own in expected.items() for label in own
    }
    assert len(expected["all"]) == 2
    for row in found:
        own = expected[row["part"]]
        stretch, idle, useful = own[row["geometries"]]
        assert (row["stretch"], row["idle_share"], row["useful_utilisation"]) == pytest.approx((stretch, idle, useful))
        assert row["rank"] == 1 + sum(other[2] > useful + 1e-6 for other in own.values())
        beaten = any(
            other[0] <= stretch + 1e-6
            and other[1] <= idle + 1e-6
            and (other[0] < stretch - 1e-6 or other[1] < idle - 1e-6)
            for other in own.values()
        )
        assert row["front"] == int(not beaten)
    assert [row["named"] for row in found if row["geometries"] == "2 4 3x2 4x2"] == ["mine"]


def test_on_mira_the_proposed_list_has_the_best_bisections_and_leaves_most_idle() -> None:
    """Sources: bisections in Table 6 of Oltchik and Schwartz; 24 partitions of 2,048 and 2 of 8,192 nodes at once."""
    asked = ASKED | {"machine": "mira", "sizes": {2048: 1, 8192: 1}, "named": {"old": "mira", "new": "mira-proposed"}}
    found = {(row["part"], row["named"]): row for row in rows(**asked) if row["named"] != "other"}
    assert [found["2048", name]["bisection_links"] for name in ("old", "new")] == [256, 512]
    assert [found["8192", name]["concurrent_max"] for name in ("old", "new")] == [6, 2]
    assert [(found["all", name]["stretch"], found["all", name]["idle_share"]) for name in ("old", "new")] == [
        (2.0, 0.0), (1.0, pytest.approx(0.5)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "path", "code"),
    [
        ({"sizes": {1000: 1}}, "sizes.1000", "does-not-fit"),
        ({"named": {"mine": [[2], [4]]}}, "named.mine", "out-of-range"),
        ({"named": {"mine": [[2], [4], [2, 2], [3, 2], [4, 2]]}}, "named.mine", "out-of-range"),
        ({"named": {"mine": [[7]]}}, "named.mine.0", "unsupported"),
        ({"loops": {"b": [[0, 7]]}}, "loops.b.0", "invalid-value"),
        ({"machine": {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}}, "machine", "unsupported"),
    ],
)
def test_what_cannot_be_asked_is_refused(change: dict[str, Any], path: str, code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rows(**change)
    assert (caught.value.path, caught.value.code) == (f"analyses.a.{path}", code)


def test_too_many_lists_are_refused() -> None:
    cube = {"kind": "torus", "shape": [60, 60, 60], "bandwidth": "1 GB/s"}
    sizes = {720: 1, 1440: 1, 2160: 1, 2880: 1, 3600: 1}
    with pytest.raises(FabricstudyError, match="lists are too many"):
        rows(machine=cube, sizes=sizes, named={})
    with pytest.raises(FabricstudyError, match="partitions are too many"):
        rows(machine=cube | {"shape": [200, 200]}, sizes={97: 1}, named={}, at="any")
