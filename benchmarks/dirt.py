"""Dirt as it is found in files of sentence pairs, added to clean ones: the same for the same seed.

    python benchmarks/dirt.py --out runs/bench/dirty --pairs 3000 --source en --target fr

writes the first pairs of Multi30k among about a fifth more lines of dirt, as dirty.en and dirty.fr.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_split

SHARE = 0.03  # of the clean pairs, for each kind of dirt
MENU = "Home | About us | Contact | Terms of use | Privacy | Sitemap | Log in | Register | Help".split()  # noqa: SIM905
CYRILLIC = "Этот сайт использует файлы cookie Продолжая просмотр вы соглашаетесь с их использованием".split()  # noqa: SIM905


def with_dirt(pairs: Sequence[SentencePair], seed: int = 1) -> list[SentencePair]:
    """The pairs, and damaged copies of some, shuffled."""
    chance = random.Random(seed)
    result = list(pairs)
    for damage in KINDS:
        result += [damage(pair, pairs, chance) for pair in chance.sample(list(pairs), round(SHARE * len(pairs)))]
    chance.shuffle(result)
    return result


def _twice(pair: SentencePair, pairs: Sequence[SentencePair], chance: random.Random) -> SentencePair:
    return pair


def _one_side_empty(pair: SentencePair, pairs: Sequence[SentencePair], chance: random.Random) -> SentencePair:
    return SentencePair(pair.source, " ") if chance.random() < 0.5 else SentencePair("", pair.target)


def _not_translated(pair: SentencePair, pairs: Sequence[SentencePair], chance: random.Random) -> SentencePair:
    return SentencePair(pair.source, pair.source)


def _long_junk(pair: SentencePair, pairs: Sequence[SentencePair], chance: random.Random) -> SentencePair:
    """A sentence beside a page."""
    page = " ".join(chance.choice([*MENU, chance.choice(pairs).target]) for _ in range(chance.randint(10, 60)))
    return SentencePair(pair.source, page)


def _entities(pair: SentencePair, pairs: Sequence[SentencePair], chance: random.Random) -> SentencePair:
    """A pair with HTML left in it, which is no reason to lose it."""
    return SentencePair(f"&quot;{pair.source}&quot;", f"&laquo;&nbsp;{pair.target}&nbsp;&raquo;")


def _other_script(pair: SentencePair, pairs: Sequence[SentencePair], chance: random.Random) -> SentencePair:
    return SentencePair(pair.source, " ".join(chance.choice(CYRILLIC) for _ in pair.target.split()))


KINDS: list[Callable[[SentencePair, Sequence[SentencePair], random.Random], SentencePair]] = [
    _twice,
    _one_side_empty,
    _not_translated,
    _long_junk,
    _entities,
    _other_script,
]


def write_pairs(pairs: Sequence[SentencePair], source: Path, target: Path) -> None:
    """Two aligned files."""
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    target.write_text("".join(f"{pair.target}\n" for pair in pairs), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/dirty"))
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="fr")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    clean = list(open_split("multi30k", "train", asked.source, asked.target))[: asked.pairs]
    dirty = with_dirt(clean, asked.seed)
    write_pairs(dirty, asked.out / f"dirty.{asked.source}", asked.out / f"dirty.{asked.target}")
    print(f"{len(clean):,} pairs and {len(dirty) - len(clean):,} lines of dirt in {asked.out}")


if __name__ == "__main__":
    main()
