"""Ten clients that ask a server for all that they can think of, each from an address of its own.

A process of its own: `python -m peers.attackers PORT SOURCE TARGET` attacks until its standard input ends, and prints
one line of JSON: how often each attack was answered, and with which status.
"""

import http.client
import io
import json
import socket
import sys
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

TIMEOUT = 60.0
BOUNDARY = "----------attack"
MANY = 40
"""Connections of an attacker that has many."""


@dataclass
class Attacker:
    """A client that means no good."""

    port: int
    languages: tuple[str, str]
    address: str
    answers: "Counter[str]" = field(default_factory=Counter)

    def post(self, path: str, body: bytes, kind: str = "application/json") -> None:
        """Ask for something, and count the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, TIMEOUT, (self.address, 0))
        try:
            connection.request("POST", path, body, {"Content-Type": kind})
            answer = connection.getresponse()
            answer.read()
            self.answers[str(answer.status)] += 1
        except (OSError, http.client.HTTPException):
            self.answers["cut"] += 1
        finally:
            connection.close()

    def translate(self, path: str = "/translate", **asked: object) -> None:
        """Ask for a translation."""
        source, target = self.languages
        self.post(path, json.dumps({"source": source, "target": target, **asked}).encode())

    def upload(self, name: str, data: bytes) -> None:
        """Ask for the translation of a document, which is never fetched."""
        lines = []
        for field_name, value in zip(("source", "target"), self.languages, strict=True):
            lines += [f"--{BOUNDARY}", f'Content-Disposition: form-data; name="{field_name}"', "", value]
        lines += [f"--{BOUNDARY}", f'Content-Disposition: form-data; name="file"; filename="{name}"', "", ""]
        body = "\r\n".join(lines).encode() + data + f"\r\n--{BOUNDARY}--\r\n".encode()
        self.post("/translate_file", body, f"multipart/form-data; boundary={BOUNDARY}")

    def connect(self) -> socket.socket:
        """A connection."""
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT, (self.address, 0))

    def hold(self, head: bytes, each: bytes) -> None:
        """Keep many connections open, each with a little now and then."""
        held = []
        with suppress(OSError):
            for _ in range(MANY):
                held.append(self.connect())
                held[-1].sendall(head)
        for _ in range(5):
            time.sleep(1)
            for connection in held:
                with suppress(OSError):
                    connection.sendall(each)
        for connection in held:
            connection.settimeout(0.1)
            try:
                self.answers[connection.recv(100).partition(b" ")[2][:3].decode() or "closed"] += 1
            except OSError:
                self.answers["open"] += 1
            connection.close()


def unclosed_subtitles(own: Attacker) -> None:
    cue = "<v" + ".a" * 40
    own.upload("a.vtt", f"WEBVTT\n\n00:00.000 --> 00:01.000\n{cue}\n".encode())


def zeros_and_blanks(own: Attacker) -> None:
    own.translate(q="%" + "0" * 9990)
    own.translate(q="%" + "0" * 9990, format="html")
    own.upload("a.md", b"[^" * 20_000)


def attributes_by_default(own: Attacker) -> None:
    head = f'<!DOCTYPE xliff [<!ATTLIST g x CDATA "{"a" * 200_000}">]>'
    text = "<g/>" * 50_000
    unit = f'<file original="a"><body><trans-unit id="1"><source>{text}</source></trans-unit></body></file>'
    own.upload("a.xliff", f'<?xml version="1.0"?>{head}<xliff version="1.2">{unit}</xliff>'.encode())


def zipped_blanks(own: Attacker) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
        text = "<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 1_000_000
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{space}"><w:body>{text}</w:body></w:document>')
    own.upload("a.docx", data.getvalue())


def long_prefixes(own: Attacker) -> None:
    own.translate("/v1/translate", text=["a"] * 500, prefix="a dog runs " * 180)
    own.translate("/v1/translate", text="a", prefix="a dog runs " * 180)
    own.translate("/v1/translate", text=["a"] * 25, prefix="a dog runs " * 30, beam_size=16, n_best=16)
    own.translate("/v1/translate", text=["a"] * 40, glossary=[{"target": f"dog {n}"} for n in range(20)])


def files_never_fetched(own: Attacker) -> None:
    own.upload("a.txt", b"a\n\n" * 20)


def idle_connections(own: Attacker) -> None:
    own.hold(b"", b"")
    own.hold(b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"X: a\r\n")
    own.hold(b"POST /translate_file HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n", b"a" * 1000)


def many_requests(own: Attacker) -> None:
    def ask() -> None:
        own.translate(q=["a small dog runs over the green grass"] * 100, alternatives=3)

    threads = [threading.Thread(target=ask) for _ in range(MANY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def large_heads(own: Attacker) -> None:
    with suppress(OSError), own.connect() as connection:
        with suppress(OSError):
            for _ in range(100):
                connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000)
        own.answers[connection.recv(100).partition(b" ")[2][:3].decode() or "closed"] += 1


def cheap_requests(own: Attacker) -> None:
    one = b"GET /languages HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with suppress(OSError), own.connect() as connection:
        connection.sendall(one * 8)
        connection.settimeout(1)
        connection.recv(65536)
        own.answers["asked"] += 1


ATTACKS: tuple[Callable[[Attacker], None], ...] = (
    unclosed_subtitles,
    zeros_and_blanks,
    attributes_by_default,
    zipped_blanks,
    long_prefixes,
    files_never_fetched,
    idle_connections,
    many_requests,
    large_heads,
    cheap_requests,
)


def main() -> None:
    port, languages = int(sys.argv[1]), (sys.argv[2], sys.argv[3])
    attackers = [Attacker(port, languages, f"127.0.2.{number}") for number in range(1, len(ATTACKS) + 1)]

    def run(attack: Callable[[Attacker], None], own: Attacker) -> None:
        while True:
            attack(own)

    for attack, own in zip(ATTACKS, attackers, strict=True):
        threading.Thread(target=run, args=(attack, own), daemon=True).start()
    sys.stdin.read()
    print(
        json.dumps({attack.__name__: own.answers for attack, own in zip(ATTACKS, attackers, strict=True)}), flush=True
    )


if __name__ == "__main__":
    main()
