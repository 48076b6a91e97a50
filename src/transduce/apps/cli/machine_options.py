"""Options for the device, the threads and the precision of a verb, which opens models with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from transduce.apps.cli.options import Device, Threads

if TYPE_CHECKING:
    from transduce.apps.projects.knowledge import Knowledge
    from transduce.bundle.model_bundle import ModelBundle
    from transduce.inference.engines.choice import EngineName
    from transduce.inference.translator import Translator
    from transduce.search.choices import DecisionRule


def set_threads(threads: int | None) -> None:
    """Sets the number of processor threads."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def tell_engine(
    translator: "Translator", rule: "DecisionRule", tell: Callable[[str], None], is_asked: bool = True
) -> None:
    """Reports which engine runs a search, if that is asked for and was chosen automatically."""
    from transduce.inference.engines.automatic_engine import AutomaticEngine
    from transduce.search.choices import search_of

    if is_asked and isinstance(translator.engine, AutomaticEngine):
        tell(f"the engine is {translator.engine.describe(search_of(rule))}")


@dataclass(frozen=True)
class Processor:
    """A device, whose threads are set at once."""

    device: Device = "auto"
    threads: Threads = None

    def __post_init__(self) -> None:
        set_threads(self.threads)


@dataclass(frozen=True)
class MachineOptions(Processor):
    """A device, and the precision of inference."""

    precision: Literal["float32", "bfloat16", "int8"] = "float32"
    """Precision of inference; bfloat16 and int8 (CPU only) are faster on many machines, with small differences in
    output."""

    @property
    def is_gpu(self) -> bool:
        """True if the device is a CUDA GPU."""
        from transduce.base.devices import find_device
        from transduce.inference.engines.inference_precision import device_for

        return find_device(device_for(self.precision, self.device)).type == "cuda"

    def open(self, model: str) -> "ModelBundle":
        """Opens a model's bundle, on the device and at the precision."""
        from transduce.base.devices import find_device
        from transduce.bundle.model_bundle import ModelBundle
        from transduce.inference.engines.inference_precision import at_precision, device_for

        device = find_device(device_for(self.precision, self.device))
        return at_precision(ModelBundle.load(Path(model), device), self.precision)

    def open_translator(
        self,
        model: str,
        others: Sequence[str] = (),
        engine: "EngineName" = "auto",
        shortlist: bool | str = False,
        compile: bool = False,
        batch_tokens: int | None = None,
        knowledge: "Knowledge | None" = None,
    ) -> "Translator":
        """Opens a translator, or an ensemble with others; see `transduce.load` for the shortlist, compiling and tokens.

        A project's knowledge gives the first model what it was taught, which PyTorch runs.

        Raises InputError for a model of another engine than the named one.
        """
        from transduce.bundle.model_bundle import ModelBundle
        from transduce.inference.engines.exported import open_model
        from transduce.inference.engines.inference_precision import at_precision, device_for
        from transduce.inference.execution.malloc import keep_free_memory
        from transduce.inference.shortlist.shortlist import find_shortlist
        from transduce.inference.translator import Translator

        keep_free_memory()
        paths = (model, *others)
        models = [open_model(path, device_for(self.precision, self.device)) for path in paths]
        if knowledge is not None and knowledge.snapshot is not None:
            models[0] = knowledge.taught(models[0])
            engine = "pytorch" if engine == "auto" and isinstance(models[0], ModelBundle) else engine
        models = [at_precision(loaded, self.precision) for loaded in models]
        chosen = find_shortlist(model, models[0].tokenizers, shortlist)
        return Translator(*models, shortlist=chosen, compile=compile, tokens_at_once=batch_tokens, engine=engine)
