"""How time grows with the length of a text: adversarial texts, and a process of their own in which each is tried."""

import gc
import math
import multiprocessing
import resource
import sys
import time
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from multiprocessing.connection import Connection
from operator import itemgetter
from typing import Any

MOST = 8.0  # times the time for four times the length: linear is 4, quadratic 16
SLACK = 2**25  # bytes that the process may take beside what the text's length allows: libraries, caches
FLOOR = 100e-6  # seconds: a shorter time counts as this one, since the clock is not exact
SHORTEST = 5e-6  # the same where texts are only chosen by it
PAUSES = (0.0, 0.1, 0.5, 2.0)  # seconds before what took too long is tried again


PRELOADED = ["torch", "pytest", "sacrebleu", "transduce.experiment", "docsegments.document_formats"]
"""Modules that one process imports, which forks for each worker: importing takes seconds, as most attacks together."""
NUMBER, CHARACTER = "\ue000", "\ue001"
"""In a unit: another number, and another character, each time it is repeated."""


@dataclass(frozen=True)
class Attack:
    """A text of any length: units repeated one after the other, between a head and a tail."""

    units: tuple[str, ...]
    head: str = ""
    tail: str = ""
    between: str = ""
    """Stands once, between the last unit's repeats and those before."""

    def text(self, length: int) -> str:
        """The text with that many characters, or a few less."""
        room = length - len(self.head) - len(self.between) - len(self.tail)
        repeated = [unit * (max(room, 0) // len(self.units) // len(unit)) for unit in self.units]
        text = "".join([self.head, *repeated[:-1], self.between, repeated[-1], self.tail])
        for sign, write in ((NUMBER, str), (CHARACTER, lambda number: chr(0x4E00 + number % 0x5000))):
            if sign in text:
                text = "".join(chain.from_iterable(zip(text.split(sign), map(write, count()), strict=False)))
        return text

    def __str__(self) -> str:
        """As a person would write it down."""
        repeated = [f"{unit!r} * n" for unit in self.units]
        between = [repr(self.between)] if self.between else []
        head, tail = ([repr(part)] if part else [] for part in (self.head, self.tail))
        return " + ".join([*head, *repeated[:-1], *between, repeated[-1], *tail])


@dataclass(frozen=True)
class Growth:
    """The slowest attacks on a function."""

    attack: Attack | None
    """The one that takes the most time at the greatest length, or breaks the rule."""
    seconds: dict[int, float]
    """Time at each length."""
    is_linear: bool
    problem: str = ""
    """What else went wrong: an exception that is none of those allowed, or no answer within the limit."""

    @property
    def longest(self) -> float:
        """Seconds at the greatest length; inf where the time is not linear."""
        return max(self.seconds.values(), default=0.0) if self.is_linear else math.inf

    def __str__(self) -> str:
        """One line of a table."""
        shown = ", ".join(f"{length:,}: {1000 * spent:.1f} ms" for length, spent in self.seconds.items())
        return f"{self.attack}: {shown}{' ' if self.problem else ''}{self.problem}"


@dataclass(frozen=True)
class Rule:
    """At which lengths texts are tried, in characters, and what each may take."""

    screened: tuple[int, int] = (125, 500)
    """All are tried at the greater one; those that take longer than half of the others, at the lesser one too."""
    lengths: tuple[int, ...] = (1_563, 6_250, 25_000, 100_000)
    """Those at which the slowest are tried again, each four times the one before."""
    slowest: int = 4
    """How many of them, by their time and by its growth."""
    most_bytes: int = 1_000
    """Memory that each character may take, beside SLACK."""


RULE = Rule()
Run = Callable[[str], object]
Announce = Callable[[int, int], None]
"""Says which attack is tried, and at which length."""
Make = Callable[[Any], tuple[Run, Iterable[Attack]]]
"""Makes, in the other process, a function and the attacks on it from a job's description."""


def growths(make: Make, jobs: Sequence[Any], limit: float = 20.0, rule: Rule = RULE) -> Iterator[tuple[Any, Growth]]:
    """Try all attacks of each job in another process, and the slowest ones at growing lengths.

    An attack that gets no answer within the limit, in seconds, ends the process, and the next job a new one; pickles
    carry `make` and the jobs.
    """
    worker: _Worker | None = None
    for job in jobs:
        worker = worker or _Worker(make, rule)
        growth = worker.ask(job, limit)
        if growth is None:
            worker.kill()
            problem = f"no answer within {limit:.0f} s, or a killed process, at {worker.length.value:,} characters"
            attack = list(dict.fromkeys(make(job)[1]))[worker.index.value]
            growth = Growth(attack, {}, is_linear=False, problem=problem)
            worker = None
        yield job, growth
    if worker is not None:
        worker.kill()


def grow(run: Run, attacks: Iterable[Attack], rule: Rule, announce: Announce) -> Growth:
    """The slowest attack on a function, by its time at growing lengths; one that is not linear before all others."""
    screened: list[tuple[float, float, int, Attack]] = []
    times: list[float] = []
    shorter, longer = rule.screened
    for index, attack in enumerate(dict.fromkeys(attacks)):
        announce(index, longer)
        try:
            long = _seconds(run, attack.text(longer))
            insort(times, long)
            median = times[(len(times) - 1) // 2]
            if len(times) > 1 and long <= median:  # an attack that grows faster than others takes longer here
                screened.append((long, 0.0, index, attack))
                continue
            short = _seconds(run, attack.text(shorter))
        except Exception as error:
            return Growth(attack, {}, is_linear=False, problem=_described(error))
        if long > MOST * max(short, FLOOR):  # others would take as long, which here is already too long
            growth = _grown(run, attack, rule, lambda length, index=index: announce(index, length))
            if not growth.is_linear:
                return growth
        screened.append((long, long / max(short, SHORTEST), index, attack))
    by_time, by_growth = (sorted(screened, key=itemgetter(n), reverse=True)[: rule.slowest] for n in (0, 1))
    worst = Growth(None, {}, is_linear=True)
    for _, _, index, attack in dict.fromkeys([*by_time, *by_growth]):
        growth = _grown(run, attack, rule, lambda length, index=index: announce(index, length))
        if not growth.is_linear:
            return growth
        worst = max(worst, growth, key=lambda one: one.longest)
    return worst


def _grown(run: Run, attack: Attack, rule: Rule, announce: Callable[[int], None]) -> Growth:
    seconds: dict[int, float] = {}
    for shorter, length in zip((0, *rule.lengths), rule.lengths, strict=False):
        announce(length)
        before = _peak()
        try:
            spent = _seconds(run, attack.text(length))
        except Exception as error:
            return Growth(attack, seconds, is_linear=False, problem=f"{length:,}: {_described(error)}")
        if (more := _peak() - before) > SLACK + rule.most_bytes * length:
            problem = f"{more / 2**20:,.0f} MiB of memory at {length:,} characters"
            return Growth(attack, seconds, is_linear=False, problem=problem)
        for pause in PAUSES:  # others may have slowed this process for a while, or a shorter text been in a cache
            if shorter not in seconds or spent <= MOST * max(seconds[shorter], FLOOR):
                break
            time.sleep(pause)
            seconds[shorter] = max(seconds[shorter], _seconds(run, attack.text(shorter)))
            spent = min(spent, _seconds(run, attack.text(length)))
        seconds[length] = spent
        if shorter in seconds and spent > MOST * max(seconds[shorter], FLOOR):
            return Growth(attack, seconds, is_linear=False)
    return Growth(attack, seconds, is_linear=True)


def _peak() -> int:
    """The most memory that this process has had, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _seconds(run: Run, text: str) -> float:
    """The time of this process alone, which others do not lengthen, without rounds of the garbage collector: these
    begin at some number of objects, so that a text may cost twice as much as a shorter one for each character."""
    gc.disable()
    try:
        begin = time.process_time()
        run(text)
        return time.process_time() - begin
    finally:
        gc.enable()


class _Worker:
    """The process, and what it is at: the number of the attack, and a length."""

    def __init__(self, make: Make, rule: Rule) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        self.connection, theirs = context.Pipe()
        self.index, self.length = context.Value("i", -1, lock=False), context.Value("i", 0, lock=False)
        arguments = (theirs, make, rule, self.index, self.length)
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        self.process.start()
        assert self.connection.recv() is None  # all is imported

    def ask(self, job: Any, limit: float) -> Growth | None:
        """What becomes of a job; None if an attack gets no answer in time."""
        self.connection.send(job)
        before = None
        while not self.connection.poll(limit):  # which an end of the process ends too
            now = (self.index.value, self.length.value)
            if now == before:
                return None
            before = now
        try:
            answer: Growth = self.connection.recv()
        except EOFError:
            return None
        return answer

    def kill(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()


def _work(connection: Connection, make: Make, rule: Rule, at_index: Any, at_length: Any) -> None:
    def announce(index: int, length: int) -> None:
        at_index.value, at_length.value = index, length

    connection.send(None)
    while True:
        job = connection.recv()
        try:
            run, attacks = make(job)
            growth = grow(run, attacks, rule, announce)
        except Exception as error:
            growth = Growth(None, {}, is_linear=False, problem=f"cannot be tried: {_described(error)}")
        connection.send(growth)
