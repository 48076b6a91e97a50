"""What models of a next token learn by, and which settings of that exclude each other."""

from transduce.errors import ConfigError
from transduce.models.families import ModelConfig
from transduce.models.stack import PositionedStackConfig
from transduce.objectives.next_token import NextToken
from transduce.objectives.objective import Objective
from transduce.objectives.r_drop import RDrop
from transduce.tasks.task import Rate
from transduce.training.settings import TrainingConfig
from transduce.training.teacher_forcing import TeacherForcing


def next_token_objective(training: TrainingConfig, teacher_forcing: Rate) -> Objective:
    """Prediction of the next token, in one pass over each batch or in two."""
    if training.r_drop:
        return RDrop(training.r_drop, training.label_smoothing)
    return NextToken(training.label_smoothing, teacher_forcing)


def check_objective(training: TrainingConfig, model: ModelConfig) -> None:
    """Raise ConfigError for a decoder that runs token by token but would skip other layers at each."""
    skips = isinstance(model, PositionedStackConfig) and model.layer_dropout > 0
    if skips and training.teacher_forcing != TeacherForcing():
        raise ConfigError(
            "model.layer_dropout and training.teacher_forcing exclude each other: layers are skipped for whole "
            "sentences; leave one of them out"
        )
