"""Each path and file name in the pages exists: in the clone, or among what the rules make."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from itertools import product
from pathlib import Path

import pytest

from fabricstudy.core.columns import TABLES
from fabricstudy.engine.registry import engines
from fabricstudy.machine.definitions import MACHINE_FILES
from fabricstudy.study.plan_file import PLAN_FILES
from fabricstudy.workflow.jobs import FILE as JOBS_FILE

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
MADE_IN = {"results", "reports", "logs", "benchmarks", "artifact"}
ENDINGS = {
    "py",
    "smk",
    "md",
    "yaml",
    "toml",
    "json",
    "jsonl",
    "parquet",
    "csv",
    "txt",
    "rs",
    "sh",
    "html",
    "svg",
    "npy",
}
ELSEWHERE = {
    # of other projects
    "CODES-compile-instructions.sh", "dump_lfts.sh", "ember/test/exaParams.py", "ember/tests/dragon_128_allreduce.py",
    "partlist-R00-R47.txt", "tools/local_sim/simulator.xml",
    # of an artifact, or written by a command
    "APPENDIX.md", "code/", "ro-crate-metadata.json", "rerun/", "run.sh", "error.txt", "demo/", "demo/index.html",
    "site/", "dist/", ".snakemake/",
    # of a reader
    "fabric.txt", "frontier.svg", "loads.svg", "mine.yaml", "page.py", "settings.yaml", "slowest.csv", "trace-0.txt",
}  # fmt: skip
"""Names of files that neither the clone nor a rule has."""


def made_by_rules() -> set[str]:
    """Patterns of all that the rules make."""
    texts = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    found = set(re.findall(r'"((?:results|reports|logs|benchmarks|artifact)/[^" ]+)"', texts))
    files = {"{{file}}": [], "{file}": [*MACHINE_FILES, *PLAN_FILES, JOBS_FILE], "{table}": [*TABLES]}
    named = {one.replace(key, name) for one, key in product(found, files) for name in files[key] if key in one}
    tables = {f"{one}.{end}" for one in found if one.endswith("analysis-{analysis}") for end in ("parquet", "csv")}
    caches = {"results/points", "results/structures"}
    whole = {one for one in found if not any(key in one for key in files)}
    return {re.sub(r"\{+\w+\}+", "*", one) for one in whole | named | tables} | caches


def names_in(text: str) -> set[str]:
    """Words between backticks that look like paths; whole blocks of code are run by other tests."""
    words = {word.strip(",;:()'\"") for span in re.findall(r"`([^`\n]+)`", text) for word in span.split()}
    paths = {word for word in words if re.fullmatch(r"[\w.*/-]+", word) and not word.startswith("/")}
    return {
        word
        for word in paths
        if word.endswith("/") or word.rpartition(".")[2] in ENDINGS or word.partition("/")[0] in FOLDERS | MADE_IN
        if "/" in word or "." in word.lstrip(".")
    }


def is_made(name: str, patterns: set[str]) -> bool:
    """Return whether a rule makes a file of this name, or something in a folder of this name."""
    names = [re.sub(words, "x", name.rstrip("/")) for words in ("[A-Z]+", r"[A-Z]+|\b(small|first|quick|seen)\b")]
    starts = [
        start.split("/")
        for pattern in patterns
        for whole in (pattern, pattern.removeprefix("results/*/"), Path(pattern).name)
        for start in (whole, *map(str, Path(whole).parents[:-1]), f"{whole}/*")
        if start.strip("*/")
    ]
    return any(
        len(start) == len(parts)
        and all(fnmatch(one, other) or fnmatch(other, one) for one, other in zip(parts, start, strict=True))
        for start in starts
        for parts in (written.split("/") for written in names)
    )


def is_in_clone(name: str, page: Path) -> bool:
    folders = [ROOT, ROOT / "configs/extensions", page.parent, ROOT / "src/fabricstudy", *(ROOT / "engines").iterdir()]
    return any(next(folder.glob(name), None) is not None for folder in folders)


def unknown(text: str, page: Path) -> set[str]:
    """Names in a page that nothing has."""
    written = set(re.findall(r"file=(\S+)", "".join(one.read_text() for one in PAGES)))
    patterns = made_by_rules()
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return {
        name
        for name in names_in(outside) - written - ELSEWHERE
        if not is_in_clone(re.sub("[A-Z]{4,}", "*", name), page) and not is_made(name, patterns)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_path_in_a_page_exists(page: Path) -> None:
    assert unknown(page.read_text(), page) == set()


def test_what_is_gone_is_seen() -> None:
    gone = "see `machine/gone/*.txt`, `src/fabricstudy/columns.py`, `workflow/rules/gone.smk` and `results/STUDY/gone/`"
    assert len(unknown(gone, PAGES[0])) == 4


def test_no_name_is_excused_in_vain() -> None:
    assert set().union(*(names_in(page.read_text()) for page in PAGES)) >= ELSEWHERE


def test_the_glossary_has_each_word_once_and_each_engine() -> None:
    glossary = (ROOT / "docs/glossary.md").read_text()
    words = [word for row in re.findall(r"^\| ([^|]+) \|", glossary, re.M) for word in row.split(", ")]
    assert [word for word in set(words) - {"word", "---"} if words.count(word) > 1] == []
    (entry,) = re.findall(r"^\| engine \| (.*)$", glossary, re.M)
    assert [name for name in engines() if name not in entry.lower()] == []
