"""DOT (Graphviz), an undirected graph: ``graph { edge [bandwidth="100 Gb/s"]; a -- b -- {c d} }``.

Attributes of vertices and edges are those of `fabricstudy.machine.fabric.node_link`, also as defaults of a graph or
subgraph. Ports of vertices do not matter. A digraph must have each edge in both directions, which are one cable.
"""

import re
from itertools import pairwise

from fabricstudy.core.input_files import InputFileError, position_text, text_of

from .base import EdgeRecord, Fabric, fabric_of, once_each
from .dot_tokens import WRITE, Token, tokens_of

SIGNATURE = re.compile(
    r"\A(?:\s|//[^\n]*\n|#[^\n]*\n|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)*(?:strict\s+)?(?:di)?graph\b\s*"
    r'(?:(?:[\w.-]+|"(?:[^"\\]|\\.)*")\s*)?\{',
    re.I,
)

_Attributes = dict[str, str]


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
        self._tokens = tokens
        self._at = 0
        self._edges: list[EdgeRecord] = []

    def read(self) -> list[EdgeRecord]:
        """Return the edges, and collect the vertices."""
        strict = self._take_word("strict")
        directed = self._take_word("digraph")
        if not directed and not self._take_word("graph"):
            raise self._error("graph")
        if not self._is("{"):
            self._name()
        self._sign = "->" if directed else "--"
        self._block({}, {})
        if self._peek().kind != "end":
            raise self._error("the end of the file")
        edges = list({frozenset(edge.ends): edge for edge in self._edges}.values()) if strict else self._edges
        if directed:
            edges = once_each(self._edges)
            if len(edges) == len(self._edges) and edges:
                raise InputFileError("the graph is directed", "write graph and --", position_text(1), "digraph")
        return edges

    def _block(self, node: _Attributes, edge: _Attributes) -> list[str]:
        """Read statements in braces with these defaults; return their vertices."""
        self._expect("{")
        found: dict[str, None] = {}
        while not self._is("}"):
            if self._is(";"):
                self._at += 1
            elif self._tokens[self._at + 1].text == "[" and any(map(self._peek().is_word, ("graph", "node", "edge"))):
                kind = self._next().text.lower()
                says = self._attributes()
                node, edge = node | says if kind == "node" else node, edge | says if kind == "edge" else edge
            elif self._tokens[self._at + 1].text == "=" and self._tokens[self._at + 1].kind == "sign":
                self._at += 2
                self._name()
            else:
                found |= dict.fromkeys(self._statement(node, edge))
        self._at += 1
        return list(found)

    def _statement(self, node: _Attributes, edge: _Attributes) -> list[str]:
        """Read a vertex, a subgraph, or a chain of edges."""
        line = self._peek().line
        is_group = self._is("{") or self._peek().is_word("subgraph")
        chain = [self._ends(node, edge)]
        while self._is(self._sign):
            self._at += 1
            chain.append(self._ends(node, edge))
        says = self._attributes()
        if len(chain) == 1 and not is_group:
            self.vertices[chain[0][0]] |= says
        for tails, heads in pairwise(chain):
            where = position_text(line)
            self._edges += [EdgeRecord((tail, head), edge | says, where) for tail in tails for head in heads]
        return [end for ends in chain for end in ends]

    def _ends(self, node: _Attributes, edge: _Attributes) -> list[str]:
        if self._take_word("subgraph") and not self._is("{"):
            self._name()
        if self._is("{"):
            return self._block(node, edge)
        name = self._name()
        while self._is(":"):
            self._at += 1
            self._name()
        self.vertices.setdefault(name, dict(node))
        return [name]

    def _attributes(self) -> _Attributes:
        says = {}
        while self._is("["):
            self._at += 1
            while not self._is("]"):
                key = self._name()
                self._expect("=")
                says[key] = self._name()
                if self._is(",") or self._is(";"):
                    self._at += 1
            self._at += 1
        return says

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _is(self, sign: str) -> bool:
        return self._peek().kind == "sign" and self._peek().text == sign

    def _take_word(self, word: str) -> bool:
        found = self._peek().is_word(word)
        self._at += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._is(sign):
            raise self._error(sign)
        self._at += 1

    def _name(self) -> str:
        if self._peek().kind not in ("word", "name"):
            raise self._error("a name")
        return self._next().text

    def _error(self, missing: str) -> InputFileError:
        token = self._peek()
        return InputFileError(f"{missing} is missing", WRITE, position_text(token.line), token.text or "end of file")
