"""Tokens of DOT: names, quoted texts, signs, with the numbers of their lines."""

import re
from typing import NamedTuple

from fabricstudy.core.input_files import InputFileError, position_text

_TOKEN = re.compile(
    r'(?P<blank>\s+|//[^\n]*|/\*[\s\S]*?\*/|(?m:^)#[^\n]*)|(?P<text>"(?:[^"\\]|\\[\s\S])*"|<(?:[^<>]|<[^<>]*>)*>)'
    r"|(?P<sign>--|->|[{}\[\];,=:])|(?P<word>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))"
)
WRITE = "write an undirected graph as Graphviz reads it"


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
