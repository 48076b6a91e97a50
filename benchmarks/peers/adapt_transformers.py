"""Fine-tunes a MarianMT with Hugging Face's Trainer and translates with it. Runs in an environment of its own.

    python adapt_transformers.py JOB

JOB is JSON: `folder` of the model; `train`, `validation` (two files each, source and target); `tests` (source files);
`out`, a folder that gets the translations of each, line by line, and `result.json`; `updates`, `sentences`,
`learning_rate`, `warmup`, `betas`, `epsilon`, `label_smoothing`, `clip_norm`, `every`, `seed`, `threads`, `beam_size`,
`longest`. The weights of least validation loss are kept, which is measured after every so many updates; with `every` 0
there is no validation, and with no updates there is no training.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
import transformers

MOST_POSITIONS = 512


class Stopwatch(transformers.TrainerCallback):
    """How long updates take, validation and saving left out."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._began = 0.0

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self._began = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.seconds.append(time.perf_counter() - self._began)


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    out = Path(job["out"])
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = transformers.MarianTokenizer.from_pretrained(job["folder"])
    # Positions are sinusoids: as many as an output may have, and not only as the longest source of the first training.
    model = transformers.MarianMTModel.from_pretrained(job["folder"], max_position_embeddings=MOST_POSITIONS).float()
    seconds = _train(job, model, tokenizer, out) if job["updates"] else []
    for file in job["tests"]:
        outputs = _translate(job, model.eval(), tokenizer, _lines(file))
        (out / f"{Path(file).name}.out").write_text("".join(f"{line}\n" for line in outputs), encoding="utf-8")
    result = {"seconds_per_update": seconds, "version": transformers.__version__}
    (out / "result.json").write_text(json.dumps(result), encoding="utf-8")


def _train(job: dict[str, Any], model: Any, tokenizer: Any, out: Path) -> list[float]:
    validates = {"eval_strategy": "steps", "save_strategy": "steps", "eval_steps": job["every"]}
    validates |= {"save_steps": job["every"], "save_total_limit": 1, "load_best_model_at_end": True}
    validates |= {"metric_for_best_model": "eval_loss"}
    arguments = transformers.Seq2SeqTrainingArguments(
        output_dir=str(out / "trainer"),
        max_steps=job["updates"],
        per_device_train_batch_size=job["sentences"],
        per_device_eval_batch_size=job["sentences"],
        learning_rate=job["learning_rate"],
        lr_scheduler_type="linear",
        warmup_steps=job["warmup"],
        adam_beta1=job["betas"][0],
        adam_beta2=job["betas"][1],
        adam_epsilon=job["epsilon"],
        label_smoothing_factor=job["label_smoothing"],
        max_grad_norm=job["clip_norm"],
        seed=job["seed"],
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        **(validates if job["every"] else {"save_strategy": "no"}),
    )
    watch = Stopwatch()
    trainer = transformers.Seq2SeqTrainer(
        model,
        arguments,
        data_collator=transformers.DataCollatorForSeq2Seq(tokenizer, model),
        train_dataset=_examples(tokenizer, job["train"]),
        eval_dataset=_examples(tokenizer, job["validation"]),
        callbacks=[watch],
    )
    trainer.train()
    return watch.seconds


def _examples(tokenizer: Any, files: list[str]) -> Any:
    source, target = map(_lines, files)
    return [
        {"input_ids": tokenizer(one).input_ids, "labels": tokenizer(text_target=other).input_ids}
        for one, other in zip(source, target, strict=True)
    ]


@torch.inference_mode()
def _translate(job: dict[str, Any], model: Any, tokenizer: Any, lines: list[str]) -> list[str]:
    outputs: list[str] = [""] * len(lines)
    order = sorted(range(len(lines)), key=lambda i: len(lines[i]))
    for start in range(0, len(lines), job["sentences"]):
        chosen = order[start : start + job["sentences"]]
        batch = tokenizer([lines[i] for i in chosen], return_tensors="pt", padding=True)
        rows = model.generate(
            **batch, num_beams=job["beam_size"], max_length=job["longest"], early_stopping=True, do_sample=False
        )
        for i, text in zip(chosen, tokenizer.batch_decode(rows, skip_special_tokens=True), strict=True):
            outputs[i] = text
    return outputs


def _lines(file: str) -> list[str]:
    return Path(file).read_text(encoding="utf-8").split("\n")[:-1]


if __name__ == "__main__":
    main()
