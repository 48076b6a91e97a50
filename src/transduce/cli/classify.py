"""`transduce classify`: texts in, their classes or scores out."""

from transduce.cli.machine import Machine
from transduce.cli.options import Model
from transduce.cli.texts import Texts, pair_at_tab


def classify(model: Model, texts: Texts, machine: Machine) -> None:
    """Tells the class of each line with its probability, or its score, as a line of JSON; null for a blank line.

    Where the model reads pairs, a line has two texts with a tab between. Objects have "text", and "second" for pairs.

    Example: `echo 'a moving film' | transduce classify runs/sst2`
    """
    from transduce.inference.classifier import Classifier

    classifier = Classifier(machine.open(model))
    if classifier.reads_pairs:
        pair = pair_at_tab("the model reads pairs of texts; expected two, with a tab between")
        texts.to_json(classifier.classify, ("text", "second"), pair)
    else:
        texts.to_json(classifier.classify)
