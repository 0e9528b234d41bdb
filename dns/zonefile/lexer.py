"""From the text of a zone file to its entries.

An entry is one directive or record: the tokens of a line, or of several lines
held together by parentheses. Time grows with the length of the text only; what
could grow without bound inside an entry is capped.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_CHARACTERS = 16 * 1024 * 1024
MAX_TOKEN = 4096
MAX_TOKENS_PER_ENTRY = 1024
MAX_PARENTHESES = 16
MAX_PARENTHESES_IN_FILE = 100_000

# Repetitions are possessive: the plain ones keep a way back for every round, which
# costs hundreds of bytes per character of a long word. A line end takes in the
# empty and comment lines after it, so that millions of them cost nothing.
_LINE_END = r"(?:\r\n|\n|\r)"
_TOKEN = re.compile(
    rf"""
    (?P<blank>[ \t]++)
  | (?P<newline>{_LINE_END}(?:[ \t]*+(?:;[^\r\n]*+)?+{_LINE_END})*+)
  | (?P<comment>;[^\r\n]*+)
  | (?P<open>\()
  | (?P<close>\))
  | "(?P<quoted>(?:[^"\\\r\n]|\\[^\r\n])*+)"
  | (?P<word>(?:[^ \t\r\n();"\\]|\\[^\r\n])++)
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong at a place of the file; line and column start at 1."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


class ZoneFileError(ValueError):
    """The file cannot be read; `faults` lists what is wrong, in file order."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a quoted string (without its quotes) and where it stands."""

    text: str
    line: int
    column: int
    quoted: bool = False

    def fault(self, message: str) -> Fault:
        return Fault(self.line, self.column, message)


@dataclass(slots=True)
class Entry:
    """Tokens of a directive or record; `continues` marks a blank owner field.

    `size` counts parentheses, too.
    """

    continues: bool
    tokens: list[Token] = field(default_factory=list)
    size: int = 0


def entries(text: str) -> Iterator[Entry]:
    """Entries of the file. Raises ZoneFileError where the text has no tokens."""
    if len(text) > MAX_CHARACTERS:
        raise ZoneFileError(
            [Fault(1, 1, f"the file is longer than {MAX_CHARACTERS} characters")]
        )
    # A byte order mark, which some editors put before UTF-8.
    return _Lexer(text.removeprefix("\ufeff")).entries()


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._line = 1
        self._line_start = 0
        self._open: list[Fault] = []
        self._opened = 0

    def entries(self) -> Iterator[Entry]:
        entry = Entry(continues=False)
        at_line_start = True
        position = 0
        while position < len(self._text):
            match = _TOKEN.match(self._text, position)
            if match is None:
                raise self._error(position, self._unreadable(position))
            # RFC 1035, 5.1: after a blank the owner is that of the line before.
            if at_line_start and not self._open:
                entry = Entry(continues=match.lastgroup == "blank")
            at_line_start = match.lastgroup == "newline"
            if at_line_start and not self._open and entry.tokens:
                yield entry
            self._take(match, entry)
            position = match.end()
        if self._open:
            raise ZoneFileError([self._open[-1]])
        if entry.tokens and not at_line_start:
            yield entry

    def _take(self, match: re.Match[str], entry: Entry) -> None:
        start = match.start()
        match match.lastgroup:
            case "newline":
                ends = match[0]
                # Each \r\n is counted by both its characters, and is one end of a line.
                self._line += ends.count("\n") + ends.count("\r") - ends.count("\r\n")
                self._line_start = match.end()
            case "open":
                self._grow(entry, start)
                self._opened += 1
                self._open.append(self._fault(start, "the parenthesis is never closed"))
                if len(self._open) > MAX_PARENTHESES:
                    raise self._error(start, "the parentheses are nested too deeply")
                # Without a word they make no entry, so no bound on entries holds.
                if self._opened > MAX_PARENTHESES_IN_FILE:
                    raise self._error(start, "the file has too many parentheses")
            case "close":
                if not self._open:
                    raise self._error(start, "no parenthesis is open here")
                self._open.pop()
            case "word" | "quoted" as kind:
                self._add(entry, match[kind], start, quoted=kind == "quoted")
            case _:
                pass  # blanks and comments mean nothing

    def _add(self, entry: Entry, text: str, start: int, *, quoted: bool) -> None:
        if len(text) > MAX_TOKEN:
            raise self._error(start, f"a word is longer than {MAX_TOKEN} characters")
        self._grow(entry, start)
        column = start - self._line_start + 1
        entry.tokens.append(Token(text, self._line, column, quoted))

    def _grow(self, entry: Entry, start: int) -> None:
        entry.size += 1
        if entry.size > MAX_TOKENS_PER_ENTRY:
            raise self._error(
                start, f"an entry has more than {MAX_TOKENS_PER_ENTRY} words"
            )

    def _unreadable(self, position: int) -> str:
        if self._text[position] == '"':
            return "the quoted string does not end on its line"
        return "a backslash must be followed by a character"

    def _fault(self, position: int, message: str) -> Fault:
        return Fault(self._line, position - self._line_start + 1, message)

    def _error(self, position: int, message: str) -> ZoneFileError:
        return ZoneFileError([self._fault(position, message)])
