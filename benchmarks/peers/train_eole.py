"""Times updates of eole's own trainer. Runs in eole's environment: see measurements.py."""

import json
import sys
import tempfile
from importlib.metadata import version
from typing import Any

import eole.train_single
import eole.trainer
import torch
from eole.config.run import TrainConfig

from peers.stopwatch import Finished, Stopwatch


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    stopwatch = Stopwatch(job["warm_up"], job["updates"])
    plain_step = eole.trainer.Trainer._train_step

    def timed_step(trainer: Any, batches: Any, normalization: Any, total_stats: Any, *rest: Any, **more: Any) -> None:
        before = total_stats.n_tokens
        plain_step(trainer, batches, normalization, total_stats, *rest, **more)
        stopwatch.update(int(total_stats.n_tokens - before))

    eole.trainer.Trainer._train_step = timed_step
    with tempfile.TemporaryDirectory() as folder:
        try:
            eole.train_single.main(TrainConfig(**settings(job, folder)), device_id=-1)
        except Finished:
            stopwatch.report(version=version("eole"), torch=torch.__version__, precision=job["precision"])


def settings(job: dict[str, Any], work: str) -> dict[str, Any]:
    """What eole reads from its YAML file; its decoder normalises before sublayers and nowhere else."""
    model = job["model"]
    return {
        "seed": 1,
        "src_vocab": f"{job['data']}/vocab.{job['source']}",
        "tgt_vocab": f"{job['data']}/vocab.{job['target']}",
        "vocab_size_multiple": 1,
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "bos_token": "<bos>",
        "eos_token": "<eos>",
        "decoder_start_token": "<bos>",
        "data": {
            "train": {
                "path_src": f"{job['data']}/train.{job['source']}",
                "path_tgt": f"{job['data']}/train.{job['target']}",
            },
        },
        "report_every": 100_000,
        "training": {
            "model_path": f"{work}/model",
            "gpu_ranks": [],
            "batch_type": "sents",
            "batch_size": job["batch"],
            "bucket_size": job["batch"],  # it sorts within a bucket: larger ones would make batches of one length
            "num_workers": 0,
            "normalization": "tokens",
            "optim": "adam",
            "learning_rate": 5e-4,
            "max_grad_norm": 1.0,
            "dropout": [model["dropout"]],
            "attention_dropout": [model["dropout"]],
            "label_smoothing": 0.0,
            "compute_dtype": {"float32": "fp32", "bfloat16": "bf16"}[job["precision"]],
            "train_steps": 100_000,
            "valid_steps": 100_000,
            "save_checkpoint_steps": 100_000,
        },
        "model": {
            "architecture": "transformer",
            "hidden_size": model["dim"],
            "heads": model["heads"],
            "transformer_ff": model["feed_forward_dim"],
            "add_qkvbias": True,
            "add_final_linear_bias": True,
            "add_ffnbias": True,
            "mlp_activation_fn": model["activation"],
            "embeddings": {"word_vec_size": model["dim"], "position_encoding_type": "SinusoidalInterleaved"},
            "encoder": {"encoder_type": "transformer", "layers": model["encoder_layers"]},
            "decoder": {"decoder_type": "transformer", "layers": model["decoder_layers"]},
        },
    }


if __name__ == "__main__":
    main()
