"""The table of Hugging Face families that are read and written."""

from transduce.apps.exchange.huggingface.config_json import Fields
from transduce.apps.exchange.huggingface.family import Family
from transduce.apps.exchange.huggingface.gpt2 import GPT2
from transduce.apps.exchange.huggingface.huggingface_bert import BERT
from transduce.apps.exchange.huggingface.huggingface_xlnet import XLNet
from transduce.apps.exchange.huggingface.m2m100 import M2M100
from transduce.apps.exchange.huggingface.marian import Marian
from transduce.base.errors import InputError
from transduce.base.ranges import short
from transduce.bundle.bundle_config import BundleConfig

FAMILIES: tuple[Family, ...] = (GPT2(), BERT(), XLNet(), Marian(), M2M100())


def family_of_folder(fields: Fields) -> Family:
    """Returns the family of the model that a config.json describes; raises InputError for an unknown one."""
    family = fields.one_of("model_type", {family.model_type: family for family in FAMILIES})
    named = fields.values.get("architectures") or list(family.architectures)
    if not isinstance(named, list) or not any(name in family.architectures for name in named):
        raise InputError(
            f"{fields.path}: architectures is {short(named)}, which is not supported; supported for "
            f"{family.title}: {', '.join(family.architectures)}"
        )
    return family


def family_of_bundle(model: object, config: BundleConfig) -> Family:
    """Returns the family that a bundle can be written as; raises InputError, with all reasons, if there is none."""
    family = next((family for family in FAMILIES if family.is_of(config)), None)
    if family is None:
        problems = [f'no family there is like model.kind = "{config.model.__struct_config__.tag}"']
    else:
        problems = family.problems(config)
    if config.context is not None:
        problems.append("it reads the sentences before, which no family there does")
    if family is None or problems:
        raise InputError(f"{model} cannot be exported to Hugging Face: {'; '.join(problems)}")
    return family
