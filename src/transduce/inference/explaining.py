"""Shows a translation with each word coloured by the model's confidence in it."""

from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

from transduce.inference.translation import Translation

LEVELS = ((0.9, "#4477aa"), (0.7, "#66ccee"), (0.5, "#ccbb44"), (0.3, "#ee9944"), (0.0, "#ee6677"))
"""The least probability of a word's weakest token, and the colour: colour-blind people can distinguish them too."""


def explained(translation: Translation) -> str:
    """Returns a line for a terminal: the words, coloured if there are colours, and the probability of each weak one."""
    if translation.details is None or not translation.details.words:
        return translation.text + "\n"
    text = Text()
    for word, probability in zip(translation.details.words, _weakest(translation), strict=True):
        colour = next(colour for least, colour in LEVELS if probability >= least)
        shown = word if probability >= LEVELS[1][0] else f"{word} ({100 * probability:.0f} %)"
        text.append(f" {shown}" if text else shown, Style(color=Color.parse(colour)))
    console = Console(highlight=False, soft_wrap=True)
    with console.capture() as captured:
        console.print(text)
    return captured.get()


def _weakest(translation: Translation) -> list[float]:
    """Returns the probability of each word's least probable token."""
    details = translation.details
    assert details is not None
    weakest = [1.0] * len(details.words)
    for word, token in zip(details.word_of_tokens, details.tokens, strict=False):  # the end token is of no word
        weakest[word] = min(weakest[word], token.probability)
    return weakest
