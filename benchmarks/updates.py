"""Updates of a model on random tokens: what a training computes, without its data, validation and checkpoints."""

import torch

from transduce.data.batch import Batch, SpecialIds, make_batch
from transduce.experiment import TranslationConfig
from transduce.models.families import build_model
from transduce.objectives.objective import Objective
from transduce.training.optimizer import build_optimizers, normalize_gradients
from transduce.training.precision import WorkingCopy

SPECIAL = SpecialIds(source_pad=0, source_eos=2, target_pad=0, target_bos=1, target_eos=2)


class Updates:
    """Makes updates of a recipe's model, with so many tokens in each of its vocabularies."""

    def __init__(
        self,
        config: TranslationConfig,
        vocabulary: int,
        objective: Objective,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        masters = build_model(config.model, vocabulary, vocabulary).to(device)
        self._working = WorkingCopy(masters, dtype)
        self._objective = objective
        self._optimizers = build_optimizers(config.optimizer, masters, dtype)
        self._clip_norm = config.training.clip_norm

    def make(self, batch: Batch) -> None:
        """One update."""
        loss = self._objective(self._working.model.train(), batch, None)
        loss.total.backward()
        self._working.collect_gradients()
        normalize_gradients(self._working.masters.parameters(), loss.tokens, self._clip_norm)
        for optimizer in self._optimizers:
            optimizer.step()
            optimizer.zero_grad()
        self._working.refresh()


def random_batch(seed: int, vocabulary: int, sentences: int, length: int) -> Batch:
    """Sentence pairs of equal length, in tokens, with one more for the end of each."""
    ids = torch.randint(3, vocabulary, (2, sentences, length), generator=torch.Generator().manual_seed(seed))
    source, target = ids.tolist()
    return make_batch(source, target, SPECIAL)
