"""Elements of XML with the numbers of their lines, for formats without entities of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from fabricstudy.core.input_files import InputFileError, position_text, text_of


@dataclass(slots=True)
class Element:
    """An element by its name without namespace; its text is that behind the last element in it."""

    name: str
    attributes: dict[str, str]
    where: str
    inside: list[Element] = field(default_factory=list)
    text: str = ""

    def __iter__(self) -> Iterator[Element]:
        """Yield the element and all in it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.inside)

    def __getitem__(self, key: str) -> str:
        if key not in self.attributes:
            raise InputFileError(f"an element {self.name} without {key}", "write it", self.where)
        return self.attributes[key]

    def get(self, key: str, default: str = "") -> str:
        return self.attributes.get(key, default)


def root_of(data: bytes, remedy: str) -> Element:
    """Return the outermost element; raises InputFileError with the line, and this remedy if it is not XML."""
    parser = expat.ParserCreate("UTF-8", " ")
    above, chunks = [Element("", {}, "")], list[str]()

    def declared(version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii", "ascii"):
            remedy = "save it as UTF-8 text, and say so in the first line"
            raise InputFileError("not UTF-8", remedy, position_text(1), encoding)

    def doctype(name: str, system: str | None, public: str | None, has_subset: Any) -> None:
        if has_subset:  # entities may expand to more text than fits into memory
            where = position_text(parser.CurrentLineNumber)
            raise InputFileError("a document type with entities", "remove [...] of <!DOCTYPE>", where, name)

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag.split(" ")[-1], attributes, position_text(parser.CurrentLineNumber))
        above[-1].inside.append(element)
        above.append(element)
        chunks.clear()

    def end(tag: str) -> None:
        above.pop().text = "".join(chunks)
        chunks.clear()

    parser.XmlDeclHandler, parser.StartDoctypeDeclHandler = declared, doctype
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, chunks.append
    try:
        parser.Parse(text_of(data).encode(), True)
    except expat.ExpatError as error:
        problem = f"not XML: {expat.ErrorString(error.code)}"
        raise InputFileError(problem, remedy, position_text(error.lineno, error.offset + 1)) from None
    return above[0].inside[0]
