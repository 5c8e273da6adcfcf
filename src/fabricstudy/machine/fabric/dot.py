"""DOT (Graphviz), an undirected graph: ``graph { edge [bandwidth="100 Gb/s"]; a -- b -- {c d} }``.

Attributes of vertices and edges are those of `fabricstudy.machine.fabric.node_link`, also as defaults of a graph or
subgraph. Ports of vertices do not matter. A digraph must have each edge in both directions, which are one cable.
"""

import re
from itertools import pairwise
from typing import NamedTuple

from fabricstudy.core.input_files import InputFileError, position_text, text_of

from .base import EdgeRecord, Fabric, fabric_of, once_each

SIGNATURE = re.compile(
    r"\A(?:\s|//[^\n]*\n|#[^\n]*\n|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)*(?:strict\s+)?(?:di)?graph\b\s*"
    r'(?:(?:[\w.-]+|"(?:[^"\\]|\\.)*")\s*)?\{',
    re.I,
)

_TOKEN = re.compile(
    r'(?P<blank>\s+|//[^\n]*|/\*[\s\S]*?\*/|(?m:^)#[^\n]*)|(?P<text>"(?:[^"\\]|\\[\s\S])*"|<(?:[^<>]|<[^<>]*>)*>)'
    r"|(?P<sign>--|->|[{}\[\];,=:])|(?P<word>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))"
)
WRITE = "write an undirected graph as Graphviz reads it"

_Attributes = dict[str, str]


class Token(NamedTuple):
    """A token and its line: a word, a name in quotation marks, a sign, or the end."""

    kind: str
    text: str
    line: int


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text, and two at its end; raises InputFileError with the line."""
    tokens, end, line = [], 0, 1
    while end < len(text):
        found = _TOKEN.match(text, end)
        if found is None:
            raise InputFileError("not DOT", WRITE, position_text(line), text[end : end + 20])
        if found.lastgroup == "text":
            tokens.append(Token("name", re.sub(r'\\(["\\]|\n)', r"\1", found[0][1:-1]), line))
        elif found.lastgroup != "blank":
            tokens.append(Token(found.lastgroup or "", found[0], line))
        line += found[0].count("\n")
        end = found.end()
    return [*tokens, *[Token("end", "", line)] * 2]  # two, to look ahead


def read(data: bytes) -> Fabric:
    """Read a graph; raises InputFileError with the line.

    Examples
    --------
    >>> fabric = read(b'graph { node [type=switch]; a -- b -- {c d} [bandwidth="1 GB/s"]; n [type=host]; n -- a }')
    >>> len(fabric.cables), fabric.ports[0].host, fabric.cables[0].link.bandwidth_Bps
    (3, 'n', 1000000000.0)
    """
    reader = _Reader(tokens_of(text_of(data)))
    try:
        edges = reader.read()
    except RecursionError:
        raise InputFileError("nested too deeply", WRITE) from None
    where = position_text(1)
    return fabric_of({name: (says, where) for name, says in reader.vertices.items()}, edges)


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self.vertices: dict[str, _Attributes] = {}
        self._tokens, self._at = tokens, 0
        self._edges: list[EdgeRecord] = []

    def read(self) -> list[EdgeRecord]:
        """Return the edges, and collect the vertices."""
        strict, directed = self._take("strict"), self._take("digraph")
        if not directed:
            self._need("graph")
        if not self._is("{"):
            self._name()
        self._sign = "->" if directed else "--"
        self._block({}, {})
        if self._tokens[self._at].kind != "end":
            raise self._missing("the end of the file")
        edges = list({frozenset(edge.ends): edge for edge in self._edges}.values()) if strict else self._edges
        if directed:
            edges = once_each(self._edges)
            if len(edges) == len(self._edges) and edges:
                raise InputFileError("the graph is directed", "write graph and --", position_text(1), "digraph")
        return edges

    def _block(self, node: _Attributes, edge: _Attributes) -> list[str]:
        """Read statements in braces with these defaults; return their vertices."""
        self._need("{")
        found: dict[str, None] = {}
        while not self._take("}"):
            kind = next(filter(self._is, ("graph", "node", "edge")), None) if self._is("[", 1) else None
            if kind is not None:
                self._at += 1
                says = self._attributes()
                node, edge = node | says if kind == "node" else node, edge | says if kind == "edge" else edge
            elif self._is("=", 1):
                self._at += 2
                self._name()
            elif not self._take(";"):
                found |= dict.fromkeys(self._statement(node, edge))
        return list(found)

    def _statement(self, node: _Attributes, edge: _Attributes) -> list[str]:
        """Read a vertex, a subgraph, or a chain of edges."""
        where, is_group = position_text(self._tokens[self._at].line), self._is("{") or self._is("subgraph")
        chain = [self._ends(node, edge)]
        while self._take(self._sign):
            chain.append(self._ends(node, edge))
        says = self._attributes()
        if len(chain) == 1 and not is_group:
            self.vertices[chain[0][0]] |= says
        for tails, heads in pairwise(chain):
            self._edges += [EdgeRecord((tail, head), edge | says, where) for tail in tails for head in heads]
        return [end for ends in chain for end in ends]

    def _ends(self, node: _Attributes, edge: _Attributes) -> list[str]:
        if self._take("subgraph") and not self._is("{"):
            self._name()
        if self._is("{"):
            return self._block(node, edge)
        name = self._name()
        while self._take(":"):
            self._name()
        self.vertices.setdefault(name, dict(node))
        return [name]

    def _attributes(self) -> _Attributes:
        says = {}
        while self._take("["):
            while not self._take("]"):
                key = self._name()
                self._need("=")
                says[key] = self._name()
                _ = self._take(",") or self._take(";")
        return says

    def _is(self, text: str, ahead: int = 0) -> bool:
        """Return whether a token is this sign or word without quotation marks."""
        token = self._tokens[self._at + ahead]
        return token.kind in ("sign", "word") and token.text.lower() == text

    def _take(self, text: str) -> bool:
        found = self._is(text)
        self._at += found
        return found

    def _need(self, text: str) -> None:
        if not self._take(text):
            raise self._missing(text)

    def _name(self) -> str:
        token = self._tokens[self._at]
        if token.kind not in ("word", "name"):
            raise self._missing("a name")
        self._at += 1
        return token.text

    def _missing(self, text: str) -> InputFileError:
        token = self._tokens[self._at]
        return InputFileError(f"{text} is missing", WRITE, position_text(token.line), token.text or "end of file")
