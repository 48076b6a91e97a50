"""Training objectives of models that predict the next token."""

from transduce.objectives.next_token import NextToken
from transduce.objectives.objective import Objective
from transduce.objectives.r_drop import RDrop
from transduce.tasks.task import Rate
from transduce.training.settings import TrainingConfig


def next_token_objective(training: TrainingConfig, teacher_forcing: Rate) -> Objective:
    """Returns the objective of predicting the next token, in one pass over each batch or in two."""
    if training.r_drop:
        return RDrop(training.r_drop, training.label_smoothing)
    return NextToken(training.label_smoothing, teacher_forcing)
