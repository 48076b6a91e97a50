"""Verbs that run once for each of several files, into a folder: on this machine, or on a cluster."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from transduce.apps.cli.commands import VerbCommand
from transduce.apps.cli.options import is_given
from transduce.apps.cli.shard_options import started_workers
from transduce.base.errors import InputError

INPUTS = {"translate": ("input",), "score": ("source", "target", "pairs")}
"""The parameters of verbs that name their files."""
RESUMING = ("translate",)


class OverFiles(VerbCommand):
    """A verb that, where a pattern names its files or `--ray` is given, runs for each file by itself."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the verb, or a command for each file."""
        from transduce.corpora.shards import is_pattern

        names = [name for name in INPUTS[str(self.name)] if ctx.params[name] is not None]
        if ctx.params["ray"] is None and not any(is_pattern(ctx.params[name]) for name in names):
            return super().invoke(ctx)
        return self._run_each(ctx, names)

    def _run_each(self, ctx: Any, names: Sequence[str]) -> None:
        from transduce.apps.cluster.command_tasks import Command, run_commands
        from transduce.base.files import made_parents
        from transduce.corpora.shards import files_of

        out = Path(ctx.params["output"])
        if str(out) == "-" or out.is_file():
            raise InputError(f"several files are written to a folder, but the output is {out}; name a folder with -o")
        files = [files_of(ctx.params[name]) for name in names]
        if len({len(each) for each in files}) > 1:
            raise InputError(f"{' and '.join(map(str, map(len, files)))} files; each needs its counterpart")
        given = list(self._given(ctx, but=(*names, "output", "ray", "resume")))
        if ctx.params["ray"] is not None and not is_given(ctx, "threads"):
            given += ["--threads", "1"]  # a task has one core
        options = {parameter.name: parameter for parameter in self.params}
        commands = []
        for of_one in zip(*files, strict=True):
            arguments = [str(self.name), *given]
            for name, file in zip(names, of_one, strict=True):
                is_option = options[name].param_type_name == "option"
                arguments += [options[name].opts[0], str(file)] if is_option else [str(file)]
            output = (out / of_one[0].name).absolute()
            commands.append(Command(tuple(arguments), output, Path.cwd(), self.name in RESUMING))
        with started_workers(ctx.params["ray"], 1) as workers, made_parents(out / "file"):
            for report in run_commands(commands, workers):
                sys.stderr.write(report)

    def _given(self, ctx: Any, but: Sequence[str]) -> Iterator[str]:
        """Yields the arguments of the command line that give these parameters."""
        for parameter in self.params:
            value = ctx.params.get(parameter.name)
            if parameter.name in but or not is_given(ctx, parameter.name) or value is None:
                continue
            if getattr(parameter, "is_flag", False):
                yield parameter.opts[0] if value else parameter.secondary_opts[0]
                continue
            for each in value if isinstance(value, list | tuple) else [value]:
                yield from [parameter.opts[0]] if parameter.param_type_name == "option" else []
                yield str(each)
