"""SRT and WebVTT: finds cues as players do, and changes only their texts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from docsegments.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from docsegments.html.character_references import escape_text, read_text
from docsegments.orthography.characters import Span
from docsegments.segment import Mark, Part, Segment, divided_by, is_text
from docsegments.sentences import ends_sentence
from docsegments.text.layout import mark_layout
from docsegments.text.placeholders import Escape, hold, pair_tags
from docsegments.user_errors import InputError

_LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\r|\n|\Z)")
_TIME = r"(?:(\d{1,4}+):)?(\d{1,2}+):(\d{1,2}+)(?:[,.:](\d{1,3}+))?"
_TIMES = re.compile(rf"[ \t]*+{_TIME}[ \t]*+-->[ \t]*+{_TIME}")
_NUMBER = re.compile(r"[ \t]*+\d++[ \t]*+")
_READING = r"<rt(?=[\s.>])[^<>]*+>(?P<reading>[^<]*+)(?:</rt>)?+"
_TAGS = "b|big|br|c|center|del|em|font|i|ins|lang|mark|p|rt|ruby|s|small|span|strong|sub|sup|u|v"
_MARKUP = {  # of SRT also {\an8}
    "vtt": re.compile(rf"{_READING}|<(?P<close>/)?+(?P<name>[A-Za-z]++)?+[^<>]*+>"),
    "srt": re.compile(
        rf"{_READING}|<(?P<close>/)?+(?P<name>{_TAGS})(?=[\s.>/])[^<>]*+>|<\d[\d:.]*+>|\{{\\[^{{}}\r\n]*+\}}",
        re.IGNORECASE,
    ),
}
_SIGNS = re.compile(r"(?:(?:[-–—]|>{2,}+|[♩-♬]++|[#*](?=\s))\s*+)++")
_LAST_SIGNS = re.compile(r"(?:(?<![♩-♬])[♩-♬]++|(?<=\s)[#*])\s*+\Z")
_CAPITAL = r"(?=[^\W\d_a-zß-öø-ÿα-ωа-я])"
_SOUND = re.compile(rf"(?P<sound>\[[^\[\]]*+\](?=\s)|\([^()]*+\)(?=\s++{_CAPITAL}))(?P<blanks>\s++)(?=\S)")
_BEGIN = re.compile(rf"[-–—♩-♬\[]|>{{2}}|[#*]\s|\([^()]*+(?:\Z|\)(?:\Z|\s++{_CAPITAL}))")
_END = re.compile(r"[♩-♬\]]\Z|\s[#*]\Z|(?:\A|\A\()[^()]++\)\Z")
_NAME = re.compile(r"(?P<name>[^\W\d_][\w .'’&/-]{1,40})(?:\([^()]*+\)|\[[^\[\]]*+\])?:(?=\s|\Z)")


def read_srt(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the texts of SRT's cues."""
    return _document(data, name, "srt")


def read_vtt(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the texts of WebVTT's cues; its head, notes, styles and regions stay."""
    return _document(data, name, "vtt")


@dataclass(frozen=True)
class Cue:
    """A text that is shown for a time."""

    start: int
    """Milliseconds from the beginning."""
    end: int
    place: Span
    """The characters of its text, without the last line's end."""
    segment: Segment
    id: str
    """Number or name of the cue."""


def cues_of(data: bytes, name: str, kind: str) -> list[Cue]:
    """Reads all cues of a file of SRT ("srt") or WebVTT ("vtt") in their order; InputError where there are none."""
    return _read(TextFile.read(data, name), kind)[0]


def _document(data: bytes, name: str, kind: str) -> Document:
    file = TextFile.read(data, name)
    cues, left = _read(file, kind)
    units = []
    for cue in cues:
        where = file.where(cue.place[0])
        units.append(Unit(cue.segment, partial(_write, cue, kind), where, id=cue.id))
        for match in _MARKUP[kind].finditer(file.text, *cue.place):
            if match["reading"] and any(map(str.isalpha, match["reading"])):
                left.append(Untranslated(where, match["reading"].strip(), "the reading of a word (<rt>) stays"))
    return Document(units, file.save, left)


def _write(cue: Cue, kind: str, segment: Segment) -> list[Edit]:
    """Writes a cue's text, in which no new empty line and no new times would end the cue."""
    escape = escape_text if kind == "vtt" else str
    pieces, line, is_same = [], "", True  # the last line so far, and whether all is as in the source
    for number, part in enumerate(segment.parts):
        is_same = is_same and cue.segment.parts[number : number + 1] == (part,)
        piece = escape(" ".join(re.split(r"[\r\n]+", part))) if isinstance(part, str) else part.raw
        first, *others = re.split(r"[\r\n]", piece)
        ended = line + first
        if isinstance(part, Mark) and not is_same and others and not (ended.strip() if kind == "srt" else ended):
            continue  # a line that is empty would end here
        pieces.append(piece)
        line = others[-1] if others else ended
    text = "".join(pieces)
    if kind == "srt" and any(map(_TIMES.match, re.split(r"[\r\n]", text))):
        text = text.replace("-->", "->")
    return [Edit(*cue.place, (text,))]


@dataclass(frozen=True)
class _Line:
    text: str
    start: int
    end: int
    """Offset after the text, before the line end."""


def _read(file: TextFile, kind: str) -> tuple[list[Cue], list[Untranslated]]:
    """Returns the cues, and texts that no player shows though they were meant to be cues."""
    if kind == "vtt" and not re.match(r"WEBVTT(?:[ \t\n\r]|\Z)", file.text):
        raise InputError(f"{file.name}: is no WebVTT file; it must begin with WEBVTT")
    left: list[Untranslated] = []
    cues = []
    lines = [_Line(match[1], match.start(), match.end(1)) for match in _LINE.finditer(file.text)]
    for times, texts, id in (_vtt_blocks if kind == "vtt" else _srt_blocks)(lines):
        span = (texts[0].start, texts[-1].end) if texts else (times.end, times.end)
        text, match = file.text[slice(*span)], _TIMES.match(times.text)
        if match is not None:
            start, end = _milliseconds(match.groups()[:4]), _milliseconds(match.groups()[4:])
            cues.append(Cue(start, end, span, _segment(text, kind), id))
        elif any(map(str.isalpha, text)):
            where = file.where(times.start)
            left.append(Untranslated(where, text, f"no times can be read in {times.text[:60]!r}"))
    if not cues:
        raise InputError(f"{file.name}: no cues, such as 00:00:01{',' if kind == 'srt' else '.'}000 --> 00:00:02")
    return cues, left


_Blocks = Iterator[tuple[_Line, Sequence[_Line], str]]
"""For each cue, the line with its times, the lines of its text, and its name."""


def _vtt_blocks(lines: Sequence[_Line]) -> _Blocks:
    """Yields blocks of WebVTT: an empty line ends one, and so does another arrow."""
    at = 1
    while at < len(lines) and lines[at].text and "-->" not in lines[at].text:  # of the head
        at += 1
    while at < len(lines):
        begin, times = at, None
        while at < len(lines) and lines[at].text:
            if "-->" in lines[at].text:
                if at > begin + 1 or times is not None:
                    break
                times = at
            at += 1
        if times is not None:
            yield lines[times], lines[times + 1 : at], lines[begin].text.strip() if times > begin else ""
        elif at == begin:
            at += 1


def _srt_blocks(lines: Sequence[_Line]) -> _Blocks:
    """Yields blocks of SRT as most players read it: a text extends to the next number or times, across empty lines."""
    begins = [number for number, line in enumerate(lines) if _TIMES.match(line.text)]
    for begin, next_begin in zip(begins, [*begins, len(lines)][1:], strict=True):
        end = next_begin
        if end < len(lines) and end - 1 > begin and _NUMBER.fullmatch(lines[end - 1].text):
            end -= 1
        while end > begin + 1 and not lines[end - 1].text.strip():
            end -= 1
        number = lines[begin - 1].text.strip() if begin else ""
        yield lines[begin], lines[begin + 1 : end], number if _NUMBER.fullmatch(number) else ""


def _milliseconds(parts: tuple[str | None, ...]) -> int:
    hours, minutes, seconds, fraction = parts
    assert minutes and seconds
    return ((int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int((fraction or "0").ljust(3, "0"))


def _segment(text: str, kind: str) -> Segment:
    """Returns a cue's text, its lines joined unless a sentence or another speaker's text begins."""
    read, escape = (_read_vtt, escape_text) if kind == "vtt" else (str, str)
    pieces = divided_by(_MARKUP[kind], text)
    parts = [read(piece) if isinstance(piece, str) else _mark(piece) for piece in pieces]
    return Segment.of(_with_voices(mark_layout(hold(pair_tags(parts), escape), str, ends_sentence), escape))


def _read_vtt(text: str) -> str:
    return read_text(text, 0, len(text)).text


def _mark(tag: re.Match[str]) -> Mark:
    """Returns the mark of a tag, to be paired; names of speakers are apart from what they say."""
    name = (tag["name"] or "").lower()
    if not name or tag[0].endswith("/>"):
        return Mark(tag[0])
    if name == "v" and not tag["close"]:
        return Mark(tag[0], shown=" ", breaks=True)
    return Mark(tag[0], "close" if tag["close"] else "open", f"<{name}")


def _with_voices(parts: list[Part], escape: Escape) -> Iterator[Part]:
    """Yields parts with marks for the signs of speakers and songs; the text is broken where another voice begins."""
    lines: list[list[Part]] = [[]]
    ends: list[Mark] = []
    for part in parts:
        if isinstance(part, Mark) and part.shown == " " and not part.raw.strip() and part.raw.strip(" \t"):
            ends.append(part)
            lines.append([])
        else:
            lines[-1].append(part)
    texts = [Segment(tuple(line)).text.strip() for line in lines]
    names = [match["name"] if (match := _NAME.match(text)) else "" for text in texts]
    are_two = len(names) > names.count("") + 1
    for number, line in enumerate(lines):
        if number:
            before, text, name = texts[number - 1], texts[number], names[number]
            is_voice = name.isupper() or (name and are_two) or _BEGIN.match(text) or _END.search(before)
            is_apart = bool(is_voice) or _are_tagged_apart(lines[number - 1], line)
            yield replace(ends[number - 1], breaks=ends[number - 1].breaks or is_apart)
        yield from _with_signs(line, escape)


def _are_tagged_apart(before: Sequence[Part], after: Sequence[Part]) -> bool:
    """Returns True if a line ends with a tag and the next begins with one, and no sentence goes on between them."""
    last, first = before[-1] if before else "", after[0] if after else ""
    if not (isinstance(last, Mark) and isinstance(first, Mark) and (last.kind, first.kind) == ("close", "open")):
        return bool(isinstance(first, Mark) and first.breaks)
    opening = next((p.raw for p in before if isinstance(p, Mark) and (p.kind, p.pair) == ("open", last.pair)), "")
    text = Segment(tuple(after)).text.strip()
    return opening != first.raw or not (text[:1].islower() or Segment(tuple(before)).text.rstrip().endswith(","))


def _with_signs(line: Sequence[Part], escape: Escape) -> Iterator[Part]:
    """Yields a line with marks for the signs at its edges, and for the blank between a sound and what is said."""
    texts = [number for number, part in enumerate(line) if is_text(part)]
    for number, part in enumerate(line):
        if not isinstance(part, str) or number not in (texts[:1] + texts[-1:]):
            yield part
            continue
        if number == texts[0] and (signs := _SIGNS.match(part)):
            yield Mark(escape(signs[0]))
            part = part[signs.end() :]
        if number == texts[0] and (sound := _SOUND.match(part)):
            yield from (sound["sound"], Mark(sound["blanks"], shown=" ", breaks=True))
            part = part[sound.end() :]
        signs = _LAST_SIGNS.search(part) if number == texts[-1] else None
        text = part[: signs.start()].rstrip() if signs else part
        yield from (text, Mark(escape(part[len(text) :]))) if signs else (text,)
