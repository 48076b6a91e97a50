"""Settings of a project, in its `project.toml`: its languages, and what it learns from confirmed segments."""

from typing import ClassVar

from transduce.base.config import Settings
from transduce.base.ranges import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, Seed, Width

HOLD_OUT = 10
"""Every segment of this number in the order of confirmation is held out as a check, and never learned."""
CHECK_AFTER = 4
"""Learned segments between checks: the group that is undone if it makes the model worse."""
MOST_LOST = 0.05
"""Nats per token that a group may lose, against the state before it, on general pairs, or on the held-out segments
(from five on, and by more than two standard errors); else it is undone."""
REPLAYED_GENERAL = 6
"""General pairs of each update, drawn anew each time."""
GENERAL_WEIGHT = 1.0
"""Weight of how far predictions on general pairs are from those of the model without an adapter (KL divergence, Li and
Hoiem 2017), beside the loss on segments; doubled, up to four times, where half of `most_forgotten` is lost."""
SNAPSHOT_EVERY = 25
"""Segments between the snapshots that are kept, from which the rest is learned again when a segment is taken back."""


class LearningSettings(Settings, frozen=True):
    """Learning from confirmed segments: a few updates of a low-rank adapter after each, and what undoes them."""

    retired: ClassVar = {
        "hold_out": HOLD_OUT,
        "check_after": CHECK_AFTER,
        "most_lost": MOST_LOST,
        "replayed_general": REPLAYED_GENERAL,
        "general_weight": GENERAL_WEIGHT,
        "snapshot_every": SNAPSHOT_EVERY,
    }

    enabled: bool = True
    """Learn from confirmed segments in the background."""
    general: tuple[str, ...] = ()
    """Two line-aligned files of the text that the model knows already, source and target, which are replayed and
    checked; or one of sources, whose targets are the model's own translations. A relative name is within the project's
    folder. Without any, nothing general is replayed, and the sentences of the model's probe are the check."""
    rank: Width = 8
    """Rank of the adapter of each linear layer (Hu et al. 2021)."""
    alpha: PositiveFloat = 16.0
    """The adapter is multiplied by alpha / rank."""
    steps: PositiveInt = 2
    """Updates after each segment."""
    learning_rate: PositiveFloat = 2e-3
    """Learning rate of AdamW, the same for all updates."""
    weight_decay: NonNegativeFloat = 0.01
    """Decay that pulls the adapter to the model that it began from."""
    replayed: NonNegativeInt = 6
    """Earlier segments in the batch of each update, drawn anew each time."""
    longest: PositiveInt = 128
    """Tokens of the longest text that is learned; segments with a longer source or target are left out."""
    checks: PositiveInt = 50
    """Held-out segments, the newest ones, and general pairs, on which updates are checked."""
    most_forgotten: PositiveFloat = 0.01
    """Nats per token that may be lost on general pairs, against the model without an adapter; else the adapter is made
    smaller."""
    seed: Seed = 1
    """Seed of the adapter's first weights and of what is replayed."""


class ProjectSettings(Settings, frozen=True, kw_only=True):
    """A project's languages, the files that it watches, and how it learns."""

    source: str
    """Language of the sources, as the model names it."""
    target: str
    """Language of the translations."""
    watch: tuple[str, ...] = ()
    """Files (.tmx, .po, .xliff) whose final units the server confirms as they change, such as OmegaT's
    project_save.tmx; a relative name is within the project's folder."""
    learning: LearningSettings = LearningSettings()
    """Settings of learning."""
