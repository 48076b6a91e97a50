"""JoeyNMT's settings for a model of Transduce's."""

from typing import Any

SPECIALS = ("<unk>", "<pad>", "<bos>", "<eos>")
"""Their order at the beginning of JoeyNMT's vocabularies, which it does not let one choose."""


def settings(job: dict[str, Any], work: str) -> dict[str, Any]:
    """What JoeyNMT reads from its YAML file; `work` is the folder it may write to."""
    vocabularies = {
        side: {"lang": language, "level": "word", "voc_file": f"{job['data']}/vocab.{language}"}
        for side, language in (("src", job["source"]), ("trg", job["target"]))
    }
    return {
        "name": "benchmark",
        "model_dir": work,
        "use_cuda": False,
        "random_seed": 1,
        "data": {
            "train": f"{job['data']}/train",
            "dev": f"{job['data']}/valid",
            "dataset_type": "plain",
            "special_symbols": dict(zip(("unk_token", "pad_token", "bos_token", "eos_token"), SPECIALS, strict=True)),
            **vocabularies,
        },
        "model": transformer(job["model"]) if job["model"]["kind"] == "transformer" else recurrent(job["model"]),
        "training": {
            "optimizer": "adam",
            "learning_rate": 5e-4,
            "scheduling": "noam",  # it must have one, and its plateau fails with this PyTorch
            "clip_grad_norm": 1.0,
            "normalization": "tokens",
            "label_smoothing": job.get("label_smoothing", 0.0),
            "batch_type": "sentence",
            "batch_size": job["batch"],
            "epochs": 1000,
            "logging_freq": 100_000,
            "validation_freq": 100_000,
        },
        "testing": {
            "load_model": job.get("weights"),
            "batch_type": "sentence",
            "batch_size": job["batch"],
            "beam_size": job.get("beam_size", 1),
            "beam_alpha": job.get("length_penalty", -1),
            "max_output_length": job.get("longest_output", -1),
            "generate_unk": False,
        },
    }


def transformer(model: dict[str, Any]) -> dict[str, Any]:
    """Positions are always sinusoids."""

    def side(layers: int) -> dict[str, Any]:
        return {
            "type": "transformer",
            "num_layers": layers,
            "num_heads": model["heads"],
            "hidden_size": model["dim"],
            "ff_size": model["feed_forward_dim"],
            "activation": model["activation"],
            "layer_norm": model["norm"],
            "dropout": model["dropout"],
            "embeddings": {
                "embedding_dim": model["dim"],
                "scale": model["scale_embeddings"],
                "dropout": model["dropout"],
            },
        }

    return {
        "initializer": "xavier_uniform",
        "tied_embeddings": model["tie"] == "all",
        "tied_softmax": model["tie"] != "none",
        "encoder": side(model["encoder_layers"]),
        "decoder": side(model["decoder_layers"]),
    }


def recurrent(model: dict[str, Any]) -> dict[str, Any]:
    """Its attention is as wide as the decoder, and its output layer reads an attentional vector that is too."""
    embeddings = {"embedding_dim": model["dim"], "dropout": model["embedding_dropout"]}
    return {
        "tied_embeddings": model["tie"] == "all",
        "encoder": {
            "type": "recurrent",
            "rnn_type": model["cell"],
            "embeddings": embeddings,
            "hidden_size": model["encoder_dim"],
            "bidirectional": model["bidirectional"],
            "num_layers": model["encoder_layers"],
            "dropout": model["dropout"],
        },
        "decoder": {
            "type": "recurrent",
            "rnn_type": model["cell"],
            "embeddings": embeddings,
            "hidden_size": model["decoder_dim"],
            "num_layers": model["decoder_layers"],
            "dropout": model["dropout"],
            "hidden_dropout": model["readout_dropout"],
            "init_hidden": "bridge",
            "attention": model["attention"]["kind"],
        },
    }
