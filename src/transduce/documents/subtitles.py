"""SRT and WebVTT: pysubs2 reads the cues, and each is found again in the text, so that nothing else changes."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from transduce.documents.document import Document, Edit, Languages, TextFile, Unit
from transduce.documents.libraries import require
from transduce.documents.placeholders import hold, mark_lines, mark_tags
from transduce.documents.segment import Mark, Part, Segment
from transduce.documents.sentences import ends_sentence
from transduce.errors import InputError

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[,.](\d{1,3})"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\n]*(?:\n|\Z)")
_STYLE = re.compile(r"\{\\[^{}\n]*\}")  # {\an8}, of other formats, in SRT
_SPEAKER = re.compile(r"<v(?:\.[^ \t>]+)*[ \t][^<>\n]*>|<\d[\d:.]*>")  # names of speakers, and times within a cue
_DIALOGUE = re.compile(r"\A[-–—][ \t]*")


def read_srt(data: bytes, name: str, wanted: Languages) -> Document:
    """The texts of SRT's cues."""
    return _document(data, name, "srt")


def read_vtt(data: bytes, name: str, wanted: Languages) -> Document:
    """The texts of WebVTT's cues; its head, notes, styles and regions stay."""
    return _document(data, name, "vtt")


@dataclass(frozen=True)
class Cue:
    """What is shown for a time."""

    start: int
    """Milliseconds from the beginning."""
    end: int
    place: tuple[int, int]
    """The characters of its text, without the last line's end."""


def cues_of(file: TextFile, kind: str) -> list[Cue]:
    """All cues in their order; InputError where pysubs2 finds others."""
    text = file.text
    if kind == "vtt" and not re.match(r"WEBVTT(?:[ \t\n\r]|\Z)", text):
        raise InputError(f"{file.name}: is no WebVTT file; it must begin with WEBVTT")
    found = list(_cues(text))
    if not found:
        raise InputError(f"{file.name}: no cues, such as 00:00:01{',' if kind == 'srt' else '.'}000 --> 00:00:02")
    pysubs2 = require("pysubs2")
    try:
        read = pysubs2.SSAFile.from_string(text.replace("\r\n", "\n"), format_=kind)
    except (pysubs2.Pysubs2Error, ValueError, IndexError) as error:
        raise InputError(f"{file.name}: not a file of subtitles ({error})") from None
    times = sorted((event.start, event.end) for event in read)
    if times != sorted((cue.start, cue.end) for cue in found):
        raise InputError(f"{file.name}: its cues cannot be told apart; there must be an empty line between them")
    return found


def plain_text(file: TextFile, cue: Cue) -> str:
    """What a cue says, on one line and without marks."""
    segment = _segment(file.text[slice(*cue.place)], "srt")
    return " ".join("".join(part if isinstance(part, str) else part.shown for part in segment.parts).split())


def _document(data: bytes, name: str, kind: str) -> Document:
    file = TextFile.read(data, name)
    units = []
    for cue in cues_of(file, kind):
        segment = _segment(file.text[slice(*cue.place)], kind)
        units.append(Unit(segment, _Writer(cue, kind).write, f"line {file.line_of(cue.place[0])}"))
    return Document(units, file.save)


@dataclass(frozen=True)
class _Writer:
    cue: Cue
    kind: str

    def write(self, segment: Segment) -> list[Edit]:
        """A cue's text, in which no empty line or arrow may end it."""
        escape = _escape_vtt if self.kind == "vtt" else str
        text = "".join(
            part.raw if isinstance(part, Mark) else escape(re.sub(r"-->|\s*[\r\n]+\s*", " ", part))
            for part in segment.parts
        )
        return [Edit(*self.cue.place, text)]


def _cues(text: str) -> Iterator[Cue]:
    place, is_skipped = 0, False
    while place < len(text):
        end = (text.find("\n", place) + 1) or len(text)
        line = text[place:end]
        if not line.strip():
            is_skipped = False
        elif re.match(r"(?:NOTE|STYLE|REGION)(?:\s|\Z)", line) and "-->" not in line:
            is_skipped = True
        elif not is_skipped and (times := _TIMES.match(text, place)):
            begin = end = times.end()
            while end < len(text):
                after = (text.find("\n", end) + 1) or len(text)
                if not text[end:after].strip():
                    break
                end = after
            stop = begin + len(text[begin:end].rstrip("\r\n"))
            yield Cue(_milliseconds(times.groups()[:4]), _milliseconds(times.groups()[4:]), (begin, stop))
        place = end


def _milliseconds(parts: tuple[str | None, ...]) -> int:
    hours, minutes, seconds, fraction = parts
    assert minutes and seconds and fraction
    return ((int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(fraction.ljust(3, "0"))


def _segment(text: str, kind: str) -> Segment:
    """A cue: its lines are one text, but where a sentence or another speaker's begins."""
    escape = _escape_vtt if kind == "vtt" else str
    parts: list[Part] = []
    done = 0
    for found in re.finditer(f"{_STYLE.pattern}|{_SPEAKER.pattern}", text):
        parts += [text[done : found.start()], Mark(found[0])]
        done = found.end()
    parts.append(text[done:])
    marked = mark_tags(parts)
    if kind == "vtt":
        marked = [html.unescape(part) if isinstance(part, str) else part for part in marked]
    lines = mark_lines(hold(marked, escape), str, ends_sentence)
    return Segment.of(_without_dashes(lines))


def _without_dashes(parts: list[Part]) -> Iterator[Part]:
    """The dash before what one of several speakers says is no text, and what is before it a text of its own."""
    parts = list(parts)
    for number, part in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else ""
        if isinstance(part, Mark) and part.shown == " " and isinstance(following, str) and _DIALOGUE.match(following):
            yield Mark(part.raw, shown=" ", breaks=True)
            continue
        before = parts[number - 1] if number else None
        is_begin = before is None or (isinstance(before, Mark) and before.shown in ("", " "))
        if isinstance(part, str) and is_begin and (dash := _DIALOGUE.match(part)):
            yield Mark(dash[0], shown="")
            yield part[dash.end() :]
        else:
            yield part


def _escape_vtt(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
