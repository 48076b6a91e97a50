from pathlib import Path

import pytest
import torch

import transduce
from transduce.base.errors import ConfigError, InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.batch import make_batch
from transduce.inference.engines.inference_precision import InferencePrecision, at_precision
from transduce.models.scoring import score_tokens


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_a_model_at_lower_precision_thinks_nearly_the_same_and_translates(
    precision: InferencePrecision, tiny_run: Path
) -> None:
    expected = mean_score(ModelBundle.load(tiny_run))
    translator = transduce.load(tiny_run, precision=precision)
    assert 0 < abs(mean_score(translator.bundle) - expected) < 0.05
    assert len(translator.translate(["The dog sleeps."])) == 1


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_once_more_at_the_same_precision_changes_nothing_and_another_is_an_error(
    precision: InferencePrecision, tiny_run: Path
) -> None:
    bundle = at_precision(ModelBundle.load(tiny_run), precision)
    expected = mean_score(bundle)
    assert mean_score(at_precision(bundle, precision)) == expected
    other: InferencePrecision = "int8" if precision != "int8" else "float32"
    with pytest.raises(InputError, match=f"converted to {precision}; load it again to use {other}"):
        at_precision(bundle, other)


def test_int8_elsewhere_than_on_the_cpu_is_an_error(tiny_run: Path) -> None:
    bundle = ModelBundle.load(tiny_run)
    bundle.model.to("meta")
    with pytest.raises(ConfigError, match="int8 is for the cpu, not for meta"):
        at_precision(bundle, "int8")


@torch.no_grad()
def mean_score(bundle: ModelBundle) -> float:
    """Nats a token of a few targets."""
    batch = make_batch([[5, 6, 7], [8]], [[9, 5], [6, 7, 8, 9]], bundle.special)
    scores = score_tokens(
        bundle.model,  # type: ignore[arg-type]
        batch.source,
        batch.source_is_real,
        batch.target_in,
        batch.target_out,
        batch.target_is_real,
    )
    return float(scores.sum() / batch.target_is_real.sum())
