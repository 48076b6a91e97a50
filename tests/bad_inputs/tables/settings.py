"""Every number of a recipe: of another type, below and above its range, and no number at all."""

from typing import NamedTuple

from bad_inputs.row import Row, row


class Number(NamedTuple):
    """A numeric setting."""

    setting: str
    """Its place, as docs/settings.md has it."""
    bad: str
    """Values out of its range, blanks between them."""
    kind: str = ""
    """The kind of table that it belongs to, where there are several."""
    more: str = ""
    """What else that table must hold."""

    @property
    def recipe(self) -> str:
        """A recipe that has the setting."""
        if self.setting.startswith("data.sequences"):
            return "copy.toml"
        if self.setting.endswith("_share") or self.setting == "data.split_seed":
            return "tatoeba-fra-eng"
        return "rnn.toml" if self.kind in RECURRENT else "tiny.toml"

    def changes(self, value: str) -> list[str]:
        """What the command line says to give the setting a value."""
        table, _, key = self.setting.rpartition(".")
        if self.setting == "optimizer.betas[0]":
            return [f"optimizer.betas=[{value}, 0.9]"]
        if self.setting == "optimizer.betas[1]":
            return [f"optimizer.betas=[0.9, {value}]"]
        if self.setting == "data.columns[0]":
            return [f"data.columns=[{value}, 1]", "data.train=train.tsv"]
        if table in ("tokenizer.source", "tokenizer.target"):
            other = "tokenizer.target" if table == "tokenizer.source" else "tokenizer.source"
            return [f'{table}={{kind="words", {key}={value}}}', f'{other}={{kind="words"}}']
        if table.endswith("[0]"):
            kind = f'kind="{self.kind}", ' if self.kind else ""
            return [f"{table.removesuffix('[0]')}=[{{{kind}{self.more}{key}={value}}}]"]
        if self.kind and table != "model":
            return [f'{table}={{kind="{self.kind}", {self.more}{key}={value}}}']
        return [*([f"{table}.{self.more}"] if self.more else []), f"{self.setting}={value}"]


RECURRENT = {"recurrent", "bahdanau", "luong", "local", "hard"}

NUMBERS = [
    Number("seed", "-1"),
    Number("data.train[0].weight", "0 -1 nan inf", more='files=["train.en", "train.de"], '),
    Number("data.columns[0]", "0 -1"),
    Number("data.max_tokens", "0 -1"),
    Number("data.cleaning[0].min_words", "0 -1", "length"),
    Number("data.cleaning[0].max_words", "0 -1", "length"),
    Number("data.cleaning[0].most", "0.5 -1 nan", "ratio"),
    Number("data.cleaning[0].least", "0 -0.1 1.1 nan", "script", 'side="source", scripts=["Latin"], '),
    Number("data.validation_share", "0 1 -0.1 nan"),
    Number("data.test_share", "1 -0.1 nan"),
    Number("data.split_seed", "-1"),
    Number("data.sequences.symbols", "0 -1"),
    Number("data.sequences.min_length", "0 -1"),
    Number("data.sequences.max_length", "0 4"),
    Number("data.sequences.max_length_held_out", "0 4"),
    Number("data.sequences.train", "0 -1"),
    Number("data.sequences.validation", "0 -1"),
    Number("data.sequences.test", "0 -1"),
    Number("data.sequences.seed", "-1"),
    Number("model.encoder_layers", "0 -1", "transformer"),
    Number("model.decoder_layers", "0 -1", "transformer"),
    Number("model.dim", "0 -12", "transformer"),
    Number("model.heads", "0 -3", "transformer"),
    Number("model.kv_heads", "0 -1", "transformer"),
    Number("model.key_dim", "0 -4", "transformer"),
    Number("model.value_dim", "0 -4", "transformer"),
    Number("model.feed_forward_dim", "0 -20", "transformer"),
    Number("model.max_positions", "0 -1", "transformer", "positions=learned"),
    *(
        Number(f"model.{site}dropout", "-0.1 1 nan", "transformer")
        for site in ("", "embedding_", "attention_", "activation_", "residual_")
    ),
    Number("model.encoder_layers", "0 -1", "recurrent"),
    Number("model.decoder_layers", "0 -1", "recurrent"),
    Number("model.dim", "0 -8", "recurrent"),
    Number("model.encoder_dim", "0 -6", "recurrent"),
    Number("model.decoder_dim", "0 -10", "recurrent"),
    Number("model.attention.score_dim", "0 -1", "bahdanau"),
    Number("model.attention.score_dim", "0 -1", "luong", 'score="concat", '),
    Number("model.attention.window", "0 -1", "local"),
    Number("model.attention.score_dim", "0 -1", "local", 'score="concat", '),
    Number("model.attention.score_dim", "0 -1", "hard", 'score="concat", '),
    *(Number(f"model.{site}dropout", "-0.1 1 nan", "recurrent") for site in ("", "embedding_", "layer_", "readout_")),
    Number("model.uniform_bound", "0 -0.1 nan inf", "recurrent", "initialization=uniform"),
    Number("training.updates", "0 -1"),
    Number("training.epochs", "0 -1"),
    Number("training.label_smoothing", "-0.1 1 nan"),
    Number("training.r_drop", "-1 nan inf"),
    Number("training.teacher_forcing.first", "-0.1 1.1 nan"),
    Number("training.teacher_forcing.last", "-0.1 1.1 nan"),
    Number("training.teacher_forcing.after", "-1"),
    Number("training.teacher_forcing.updates", "0 -1"),
    Number("training.clip_norm", "-1 nan"),
    Number("training.accumulate", "0 -1"),
    Number("training.moving_average", "0 1 -0.5 nan"),
    Number("training.report_every", "0 -1"),
    Number("tokenizer.size", "4 0 -1"),
    Number("tokenizer.min_frequency", "0 -1"),
    Number("tokenizer.dropout", "-0.1 1 nan"),
    Number("tokenizer.source.dropout", "-0.1 1 nan"),
    Number("tokenizer.target.dropout", "-0.1 1 nan"),
    Number("tokenizer.source.size", "4 -1"),
    Number("tokenizer.source.min_frequency", "0 -1"),
    Number("tokenizer.target.size", "4 -1"),
    Number("tokenizer.target.min_frequency", "0 -1"),
    Number("batching.target_tokens", "0 -1"),
    Number("batching.sentences", "0 -1"),
    Number("batching.groups", "0 -1"),
    Number("optimizer.learning_rate", "0 -1 nan inf"),
    Number("optimizer.betas[0]", "1 -0.1 nan"),
    Number("optimizer.betas[1]", "1 -0.1 nan"),
    Number("optimizer.epsilon", "-1 nan inf"),
    Number("optimizer.weight_decay", "-1 nan inf"),
    Number("optimizer.schedule.warmup", "-1", "constant"),
    Number("optimizer.schedule.warmup", "0 -1", "inverse_square_root"),
    Number("optimizer.schedule.dim", "0 -1", "noam"),
    Number("optimizer.schedule.multiplier", "0 -1 nan inf", "noam", "dim=9, "),
    Number("optimizer.schedule.warmup", "0 -1", "noam", "dim=9, "),
    Number("optimizer.schedule.warmup", "-1", "linear"),
    Number("optimizer.schedule.updates", "0 -1", "linear"),
    Number("optimizer.schedule.warmup", "-1", "cosine"),
    Number("optimizer.schedule.updates", "0 -1", "cosine"),
    Number("optimizer.schedule.lowest", "-0.1 1.1 nan", "cosine"),
    Number("optimizer.schedule.warmup", "-1", "plateau"),
    Number("optimizer.schedule.reduction", "0 1 nan", "plateau"),
    Number("optimizer.schedule.patience", "0 -1", "plateau"),
    Number("checkpoint.every_updates", "0 -1"),
    Number("checkpoint.every_minutes", "0 -1 nan"),
    Number("checkpoint.keep_last", "0 -1"),
    Number("checkpoint.keep_best", "0 -1"),
    Number("validation.every_updates", "0 -1"),
    Number("validation.every_epochs", "0 -1"),
    Number("validation.patience", "0 -1"),
    Number("search.n_best", "0 -1"),
    Number("search.max_ratio", "-1 nan inf 1e30"),
    Number("search.max_extra", "-1"),
    Number("search.min_ratio", "-1 nan inf"),
    Number("search.no_repeat_ngram", "-1"),
    Number("search.repetition_penalty", "0.9 nan inf"),
    Number("search.size", "0 -1"),
    Number("search.length_penalty", "nan inf"),
]


def _named(number: Number, value: str) -> str:
    return f"{number.setting} = {value}" + (f" ({number.kind})" if number.kind else "")


def _row(number: Number, value: str, words: tuple[str, ...]) -> Row:
    name = _named(number, value)
    command = ["train", number.recipe, "--out", "new", "-q", *number.changes(value)]
    return row(name, command, 2, words)


ROWS = [
    *(
        _row(number, value, (number.setting.rpartition(".")[2].removesuffix("[0]").removesuffix("[1]"),))
        for number in NUMBERS
        for value in number.bad.split()
    ),
    *(
        _row(number, "true" if number.setting == "data.columns[0]" else '"many"', (f"{number.setting}: expected",))
        for number in NUMBERS
    ),
    *(
        row(f"beyond the memory: {change}", f"train tiny.toml --out new -q {change}", (1, 2), words, seconds=20)
        for change, words in (
            ("model.dim=300000000 model.heads=1", "dim"),
            ("model.feed_forward_dim=30000000000", "feed_forward_dim"),
            ("model.encoder_layers=1000000000", "encoder_layers"),
            ("model.positions=learned model.max_positions=100000000000", "max_positions"),
            (f"model.dim={10**30} model.heads=1", "dim"),
            (f"model.feed_forward_dim={10**19}", "feed_forward_dim"),
            (f"training.accumulate={10**30}", "accumulate"),
            (f"search.size={10**12}", "size"),
            (f"search.max_extra={10**18}", "max_extra"),
            (f"tokenizer.kind=bpe tokenizer.size={10**12}", "size"),
            (f"tokenizer.kind=bpe tokenizer.size={10**30}", "size"),
            (f"tokenizer.min_frequency={10**30}", "min_frequency"),
            ('\'optimizer.schedule={kind="noam", dim=1' + "0" * 400 + "}'", "dim"),
        )
    ),
]
