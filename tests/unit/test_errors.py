"""What is told of an error, to people and to programs, and the exit code."""

from __future__ import annotations

import ast
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricstudy.core.errors import SHOWN, ConfigError, FabricstudyError, combine_errors, exit_code_of, suggestion
from fabricstudy.core.source import PACKAGE


def raising(error: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


def test_the_exit_code_is_that_of_the_work_or_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(lambda: None) == 0 and exit_code_of(lambda: 130) == 130
    assert exit_code_of(raising(KeyboardInterrupt())) == 130
    assert exit_code_of(raising(FabricstudyError("a; b")), "program") == 1
    assert capsys.readouterr().err == "program: a; b\n"


def test_what_nobody_can_mend_is_a_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_code_of(raising(ZeroDivisionError()))


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "disk-full", "writing: "),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a.txt"), "disk-full", "a.txt: "),
        (OSError(errno.EIO, os.strerror(errno.EIO)), "system", os.strerror(errno.EIO)),
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "b.txt"), "system", "b.txt: "),
        (FileNotFoundError("words of ours"), "system", "words of ours"),
        (TimeoutError(), "system", "TimeoutError"),
    ],
)
def test_errors_of_the_system(error: OSError, code: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(raising(error), as_json=True) == 1
    (told,) = json.loads(capsys.readouterr().out)["errors"]
    assert told["code"] == code and told["message"].startswith(words)


def test_our_own_errors_say_what_sort_of_mistake_they_are() -> None:
    position = {"ConfigError": 4}
    without = [
        f"{file.name}:{node.lineno}"
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in position
        if len(node.args) <= position[node.func.id]
        and not any(key.arg in ("code", None) for key in node.keywords)  # None is **
    ]
    assert not without


def test_a_real_full_disk(capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")

    def work() -> None:
        with Path("/dev/full").open("w") as file:
            file.write("a" * 100_000)

    assert exit_code_of(work, as_json=True) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "disk-full"


def test_many_mistakes_are_cut_for_people_and_whole_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    error = combine_errors([ConfigError("a", "b", (str(number),)) for number in range(SHOWN + 5)])
    assert exit_code_of(raising(error)) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == SHOWN + 1 and "5" in lines[-1]
    assert exit_code_of(raising(error.below(file="x.yaml")), as_json=True) == 1
    told = json.loads(capsys.readouterr().out)["errors"]
    assert [one["path"] for one in told] == [str(number) for number in range(SHOWN + 5)]
    assert {one["file"] for one in told} == {"x.yaml"}


def test_a_name_of_the_literature_suggests_ours() -> None:
    kinds = ("dragonfly", "megafly", "torus")
    assert "'megafly'" in suggestion("Dragonfly+", kinds) and "'torus'" in suggestion("torsu", kinds)
    assert "'" not in suggestion("clos", kinds)
