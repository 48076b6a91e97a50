"""Subtitles: all that a player shows is translated or named in the log, and nothing else changes."""

import html
import io
import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

srt = pytest.importorskip("srt")
webvtt = pytest.importorskip("webvtt")

TAGS = {
    "srt": [("<i>", "</i>"), ("<font color='red'>", "</font>"), ("{\\an8}", ""), ("<B>", "</B>"), ("<i>", "")],
    "vtt": [
        ("<i>", "</i>"),
        ("<c.a.b>", "</c>"),
        ("<v Ann O'B>", ""),
        ("<00:00:01.500>", ""),
        ("<lang en>", "</lang>"),
    ],
}


class Writer:
    """Writes subtitles by chance."""

    def __init__(self, random: Random, kind: str, words: Callable[[], str]) -> None:
        self.random, self.kind, self.words = random, kind, words

    def line(self) -> str:
        before, after = self.random.choice([("", ""), ("", ""), *TAGS[self.kind]])
        dash = self.random.choice(["", "", "- ", "–"])
        blank = self.random.choice(["", "", "", "  ", "\t"])
        return f"{dash}{before}{self.words()}{after}{blank}{self.random.choice(['', ' ' + self.words()])}"

    def text(self) -> str:
        """Lines of a cue, between which SRT has empty lines, too."""
        ends = ["\n", "\n", "\n\n"] if self.kind == "srt" else ["\n"]
        lines = [self.line() for _ in range(self.random.randint(1, 3))]
        return "".join(line + self.random.choice(ends) for line in lines).rstrip("\n")

    def document(self) -> str:
        point = "," if self.kind == "srt" else "."
        blocks = []
        for number in range(1, self.random.randint(2, 5)):
            times = f"00:00:{number:02}{point}000 --> 00:00:{number:02}{point}900"
            if self.kind == "vtt":
                times += self.random.choice(["", " align:start position:0%"])
                blocks += self.random.choice([[], [], ["NOTE the dog\nsees"], ["STYLE\n::cue { color: red }"]])
            name = str(number) if self.kind == "srt" else self.random.choice(["", f"cue {number}"])
            blocks.append("\n".join(filter(None, [name, times, self.text()])))
        head = "WEBVTT the dog\nKind: captions\n\n" if self.kind == "vtt" else self.random.choice(["", "\ufeff", "\n"])
        return head + "\n\n".join(blocks) + self.random.choice(["", "\n", "\n\n\n"])


def cues(data: bytes) -> list[tuple[Any, str]]:
    """Name and times of each cue, and its text as it is written."""
    text = re.sub("\r\n?", "\n", data.decode("utf-8-sig"))
    if text.startswith("WEBVTT"):
        read = webvtt.from_buffer(io.StringIO(text))
        return [((cue.identifier, cue.start, cue.end), cue.raw_text) for cue in read]
    return [((cue.index, cue.start, cue.end), cue.content) for cue in srt.parse(text)]


def shown(data: bytes) -> list[str]:
    if data.lstrip(b"\xef\xbb\xbf").startswith(b"WEBVTT"):
        return [html.unescape(re.sub("<[^>]*>", "", text)) for _, text in cues(data)]
    tag = re.compile(r"</?(?:i|b|u|font)\b[^>]*>|\{\\[^}]*\}", re.IGNORECASE)
    return [tag.sub("", text) for _, text in cues(data)]


def skeleton(data: bytes) -> Any:
    """Times and tags of all cues, which have lines and tabs, and all that is no cue."""
    rest = re.findall(
        r"^(?:WEBVTT|Kind|NOTE|STYLE)\b[^\r\n]*(?:\r\n?|\n)[^\r\n]*", data.decode("utf-8-sig"), re.MULTILINE
    )
    texts = [
        (key, Counter(re.findall(r"<[^>]*>|\{\\[^}]*\}", text)), "\n" in text, text.count("\t"))
        for key, text in cues(data)
    ]
    return texts, data[:3] == b"\xef\xbb\xbf", b"\r\n" in data, b"\r" in data, rest
