"""Whatever a file of a fabric holds, it is read or refused in little time and memory on every version of Python."""

from __future__ import annotations

import io
import re
import time
import tokenize
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import fabricstudy
from fabricstudy.core.input_files import InputFileError
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.fabric import FORMATS, FormatName, read_fabric

from .test_fabric_formats import PAIRS, SLURM, WRITERS, fabric, machine_of

SECONDS, BYTES = 2, 100_000_000
POSSESSIVE = re.compile(r"[*+?}]\+|\(\?>")


def raw_texts(source: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token.string for token in tokens if re.match(r"(?i)(?:rb?|rf|br|fr)['\"]", token.string)]


def test_no_pattern_is_possessive() -> None:
    """Python 3.11.0 to 3.11.4 compile such patterns wrongly (cpython issue 106052)."""
    assert POSSESSIVE.search("(?:a*+b)") and raw_texts('x = rf"a++"') == ['rf"a++"']
    sources = (path.read_text(encoding="utf-8") for path in Path(fabricstudy.__file__).parent.rglob("*.py"))
    found = {
        text
        for source in filter(POSSESSIVE.search, sources)
        for text in raw_texts(source)
        # Escapes and sets of characters hold these signs as such.
        if POSSESSIVE.search(re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "x", text[2:]))
    }
    assert found == set()


PIECES = st.sampled_from([
    " ", "\t", "\n", "\r\n", "#\r\n", "# x\n", "% x\r\n", "---\r\n", "//\n", "/*", "*/", "/**/", "<!--", "-->",
    "<!---->", "<?a?>", "<platform>", "graph", "digraph", "strict ", "{", "}", '"', "a", "a b\n", "a-b,c\t", "1",
    "1 2\n", "0 1 2.e", "1.5", "Nodes 4\n", "from", "to,", "a,", "topology:", "- ", "[", "]",
    'Switch 8 "s"', 'Ca 1 "h"\n', '[1] "s"[2]',
    " w=4", "a=b", "# lid 1 lmc 0 ", '"n" lid 3 4xEDR', " slot 1", "[ 1] ==( 4X 25.78125 Gbps Active/ LinkUp)==>",
    "Switch: 0x1 s:", "0x1 ", "( )", "SwitchName=a ", "Nodes=n[1-2]", "router 0 node 1 ", "4 2 3\n2 3\n", "100Gbps 1us",
    "Tier 0\n", '{"nodes":[', '"links":', '{"outports":{', "graph [ node [ id 1 ] ]", "<graphml><graph>", "\\", "\x00",
])  # fmt: skip


@pytest.mark.parametrize("name", [None, *FORMATS])
@settings(max_examples=15, deadline=None)
@given(parts=st.lists(st.tuples(PIECES, st.sampled_from([1, 1, 2, 40, 3000])), min_size=1, max_size=6))
def test_repeated_pieces_take_little_time(name: FormatName | None, parts: list[tuple[str, int]]) -> None:
    data = "".join(piece * count for piece, count in parts).encode()
    begin = time.process_time()
    tracemalloc.start()
    try:
        assert read_fabric(Path("f"), data, name).routers
    except InputFileError as error:
        assert error.problem and error.remedy
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert time.process_time() - begin < SECONDS and peak < BYTES


TEXTS = {**PAIRS, **SLURM, **{name: write(fabric(parallel)) for name, (write, parallel) in WRITERS.items()}}
INSERTED = st.sampled_from([
    "", "-1", "0", "1e9", "1.9", "1_0", "99999999999999999999", "nan", "\u0661", "\x00", '"', "'", "[", "]", "{",
    "}", ",", ":", "=", "\n", "\\\n", "#", "<", ">", "&a;", "[0-9999999]", "include x\n", "ALL", "(null)", "w=12",
    "null", "true",
])  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=12, deadline=None)
@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([0, 0, 1, 3, 40]), INSERTED, st.booleans()), min_size=1, max_size=3
    )
)
def test_changed_files_are_machines_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, changes: list[tuple[float, int, str, bool]]
) -> None:
    """Characters are replaced by others, or a part of the file is there twice."""
    text = TEXTS[name]
    for place, length, inserted, twice in changes:
        at = int(place * len(text))
        text = text[:at] + (text[at : at + length] if twice else inserted) + text[at + length * (not twice) :]
    folder = tmp_path_factory.getbasetemp()
    (folder / "changed").write_text(text, encoding="utf-8")
    begin = time.process_time()
    tracemalloc.start()
    try:
        machine = machine_of(folder, "changed")
        assert machine.nodes > 0 and (machine.cable_tail < machine.cable_head).all() and (machine.cable_count > 0).all()
    except (ConfigError, ValidationError) as error:
        mistake = error.errors()[0]["ctx"]["error"] if isinstance(error, ValidationError) else error
        assert isinstance(mistake, ConfigError) and mistake.remedy
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert time.process_time() - begin < SECONDS and peak < BYTES


@pytest.mark.parametrize("head", [
    "#\r\n" * 40 + "x\n", "<!---->" * 40 + "x", "<!-- - -- -->" * 5000 + "<x", "/**/ " * 9000 + "x",
    "graph" + " " * 60_000, "a b" + " " * 60_000 + "c", "a=b" * 20_000, "1 2 3\n" + "4 " * 30_000 + "x\n",
    " " * 60_000 + "0x1",
])  # fmt: skip
def test_heads_of_many_equal_pieces_are_told_at_once(head: str) -> None:
    begin = time.process_time()
    for form in FORMATS.values():
        form.signature.search(head)
    assert time.process_time() - begin < SECONDS
