"""`transduce generate`: go on with a text by a language model."""

from typing import TYPE_CHECKING

from transduce.apps.cli.machine_options import MachineOptions
from transduce.apps.cli.options import Json, Quiet
from transduce.apps.cli.printing import as_json, teller
from transduce.apps.cli.search_options import GenerationOptions
from transduce.base import ranges

if TYPE_CHECKING:
    from transduce.inference.generator import Generation


def generate(
    model: str,
    prompt: str = "",
    *,
    search: GenerationOptions,
    machine: MachineOptions,
    max_tokens: ranges.PositiveInt = 200,
    stop: list[str] | None = None,
    output: str = "-",
    with_: list[str] | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    r"""Continue a prompt with a language model, streaming the text; or continue each line of standard input.

    Example: `transduce generate runs/shakespeare "To be" --sample --temperature 0.8`

    Args:
        model: A language model's or a run's folder.
        prompt: The prompt; - reads one prompt per line from standard input.
        max_tokens: Maximum number of generated tokens.
        stop: Stop string, not included in the output; \n is a line end; repeatable.
        output: A new file; - is standard output.
        with_: One more model, whose probabilities are averaged; repeatable.
    """
    from transduce.apps.cli.input import lines_of
    from transduce.apps.cli.output import text_output
    from transduce.inference.generator import Generator

    stops = [text.replace("\\n", "\n") for text in stop or ()]
    generator = Generator.load(model, *(with_ or ()), device=machine.device, precision=machine.precision)
    with text_output(output) as stream:
        if prompt != "-" and search.rows == 1 and not json:
            pieces = generator.stream(prompt, search, max_tokens, stops)
            stream.write(generator.prompt_text(prompt))
            for piece in pieces:
                stream.write(piece)
                stream.flush()
            stream.write("\n")
            return
        for prompts in [[prompt]] if prompt != "-" else lines_of("-"):
            for generation in generator.generate(prompts, search, max_tokens, stops):
                stream.write(_render(generation, json))
    if output != "-":
        teller(quiet)(f"written to {output}")


def _render(generation: "Generation", json: bool) -> str:
    if json:
        return as_json(generation) + "\n"
    return "".join(f"{draft.text}\n" for draft in generation.n_best)
