"""Finds the prose of a file: paragraphs, list items and table cells of Markdown; comments and strings of Rust.

Code is masked rather than removed: a sentence keeps its length, and a position in a passage its line.
"""

import re
from typing import Iterator, NamedTuple


MASK = "\u02e3"  # a small x, which counts as a letter and occurs in no text here


class Passage(NamedTuple):
    line: int  # in the file, of the first character of `text`
    kind: str  # text, heading, cell or string
    text: str  # as in the file, with its line breaks


def passages(path: str, source: str) -> Iterator[Passage]:
    yield from rust(source) if path.endswith(".rs") else markdown(source)


# --- Markdown -------------------------------------------------------------------------------------------------------

GENERATED = re.compile(r"<!-- (?:Generated|Written) [^>]*Do not edit.*?(?:<!-- \.\.\. to here\. -->|\Z)", re.S)
FENCED = re.compile(r"^([ >]*)(```+|~~~+).*?^\1\2[ \t]*$", re.M | re.S)
HTML_COMMENT = re.compile(r"<!--.*?-->", re.S)
HEADING = re.compile(r"#{1,6} ")
ITEM = re.compile(r"([-*+]|\d+[.)]) ")
RULE_OF_TABLE = re.compile(r"[|:\- ]+$")
CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
LINK_TARGET = re.compile(r"\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)|\]\[[^\]]*\]")


def markdown(source: str, first: int = 1) -> Iterator[Passage]:
    for pattern in GENERATED, FENCED, HTML_COMMENT:
        source = pattern.sub(lambda match: "\n" * match[0].count("\n"), source)
    paragraph: list[str] = []
    begin, in_list, after_blank = first, False, True

    def flush() -> Iterator[Passage]:
        if paragraph:
            yield Passage(begin, "text", masked("\n".join(paragraph)))
            paragraph.clear()

    for number, line in enumerate(source.split("\n"), first):
        text = line.lstrip(" >")
        if not text:
            yield from flush()
        elif line.startswith("    ") and after_blank and not in_list:
            continue  # indented code
        elif HEADING.match(text):
            yield from flush()
            yield Passage(number, "heading", masked(text.lstrip("# ")))
        elif text.startswith("|"):
            yield from flush()
            if not RULE_OF_TABLE.match(text):
                for cell in masked(text).strip("| ").split("|"):
                    yield Passage(number, "cell", cell.strip())
        else:
            item = ITEM.match(text)
            if item:
                yield from flush()
                text = text[item.end():]
            if not paragraph:
                begin = number
                in_list = bool(item) or (in_list and line.startswith(" "))
            paragraph.append(text)
        after_blank = not text or (after_blank and line.startswith("    "))
    yield from flush()


def masked(text: str) -> str:
    """Hides code spans and the targets of links."""
    text = CODE_SPAN.sub(lambda match: re.sub(r"[^\n]", MASK, match[0]), text)
    return LINK_TARGET.sub("]", text)


# --- Rust -----------------------------------------------------------------------------------------------------------

TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\n)*mod \w+ \{\n.*?^\}$", re.M | re.S)
TOKEN = re.compile(
    r"""
      (?P<comment>//[^\n]*)
    | (?P<block>/\*.*?\*/)
    | \bb?r(?P<hash>\#*)"(?P<raw>.*?)"(?P=hash)
    | \bb?"(?P<bytes>)(?:\\.|[^"\\])*"
    | "(?P<string>(?:\\.|[^"\\])*)"
    | '(?:\\(?:x[0-9A-Fa-f]{2}|u\{[^}]*\}|.)|[^'\\\n])'  # a character: a quote in it begins no string
    """,
    re.X | re.S,
)
CONTINUED = re.compile(r"\\\n[ \t]*")
PLACEHOLDER = re.compile(r"\{[^{}\n]*\}")


def rust(source: str) -> Iterator[Passage]:
    source = TEST_MODULE.sub(lambda match: "\n" * match[0].count("\n"), source)
    group: list[str] = []  # comments of the same kind on lines that follow each other
    begin, kind = 0, ""
    for token in TOKEN.finditer(source):
        number = source.count("\n", 0, token.start()) + 1
        if token["comment"]:
            marker = re.match(r"//[/!]? ?", token["comment"])[0]
            alone = not source[source.rfind("\n", 0, token.start()) + 1:token.start()].strip()
            if not (alone and kind == marker.strip() and number == begin + len(group)):
                yield from markdown("\n".join(group), begin)
                group, begin, kind = [], number, marker.strip() if alone else ""
            group.append(token["comment"][len(marker):])
        elif token["block"]:
            yield from markdown(token["block"][2:-2], number)
        elif token["string"] is not None:
            yield from literal(CONTINUED.sub("\v", token["string"]), number)
        elif token["raw"] is not None:
            yield from literal(token["raw"], number)
    yield from markdown("\n".join(group), begin)


def literal(text: str, line: int) -> Iterator[Passage]:
    """The lines of a string. A vertical tab stands for a line of the source that the string continues."""
    for piece in re.split(r"(\\n|\n)", text):
        if re.search(r"[a-z]{2} +\S*[a-z]{2}", piece):  # two words; the others are keys, units and formats
            hidden = PLACEHOLDER.sub(lambda match: MASK * len(match[0]), piece.replace("\v", "\n"))
            yield Passage(line, "string", masked(hidden))
        line += piece.count("\n") + piece.count("\v")
