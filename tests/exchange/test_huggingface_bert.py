"""BERT of Hugging Face transformers, alone and with each head, goes there and back and stays what it is."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from transduce.apps.cli.main import app
from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
from transduce.base.errors import CheckpointError, InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.classifier import Classifier

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TEXTS = ("The dogs see the cats.", "Die Füchse [MASK] dort", "the Äpfel, 北京 and the foxes")
KINDS: dict[str, dict[str, Any]] = {
    "BertModel": {},
    "BertForPreTraining": {},
    "BertForMaskedLM": {},
    "BertForSequenceClassification": {"id2label": {0: "bad", 1: "good", 2: "so-so"}},
    "BertForTokenClassification": {"id2label": {0: "O", 1: "B-x", 2: "I-x"}},
    "BertForQuestionAnswering": {},
}


@pytest.fixture(scope="module")
def tokenizer() -> Backend:
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=90, special_tokens=list(SPECIAL), show_progress=False)
    backend.train_from_iterator([text.replace("[MASK]", "") for text in TEXTS], trainer)
    backend.decoder = decoders.WordPiece()
    ids = {name: backend.token_to_id(name) for name in SPECIAL}
    backend.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    return backend


def write(folder: Path, kind: str, tokenizer: Backend, **settings: Any) -> Path:
    """A folder as transformers saves it."""
    torch.manual_seed(1)
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20}
    config = transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=40, **sizes, **KINDS[kind], **settings
    )
    model = getattr(transformers, kind)(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) / 10)
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = ("pad", "unk", "cls", "sep", "mask")
    named = {f"{name}_token": token for name, token in zip(names, SPECIAL, strict=True)}
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"} | named))
    return folder


OTHER_LAYERS = [{"hidden_act": "relu"}, {"hidden_act": "gelu_new"}, {"layer_norm_eps": 0.5}]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [*((kind, {}) for kind in KINDS), *(("BertForPreTraining", settings) for settings in OTHER_LAYERS)],
    ids=str,
)
def test_a_model_goes_there_and_back_bit_for_bit(
    kind: str, settings: dict[str, Any], tokenizer: Backend, tmp_path: Path
) -> None:
    folder = write(tmp_path / "theirs", kind, tokenizer, **settings)
    certificate = import_huggingface(folder, tmp_path / "ours")
    assert certificate.compared_with is not None and certificate.largest_difference < 1e-4
    export_huggingface(tmp_path / "ours", tmp_path / "back")
    before, after = (load_file(path / "model.safetensors") for path in (folder, tmp_path / "back"))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def follows(bundle: ModelBundle, tokens: torch.Tensor) -> torch.Tensor:
    """The probabilities that the second text does not follow, and that it does."""
    model: Any = bundle.model
    encoded = model.encoder(tokens, torch.zeros_like(tokens), torch.ones_like(tokens).bool())
    logits: torch.Tensor = model.head.follows(encoded.pooled)
    return logits.softmax(-1)[0]


@torch.inference_mode()
def test_next_sentences_are_predicted_as_theirs_are(tokenizer: Backend, tmp_path: Path) -> None:
    folder = write(tmp_path / "theirs", "BertForPreTraining", tokenizer)
    import_huggingface(folder, tmp_path / "ours")
    tokens = torch.tensor([[2, 7, 9, 3, 11, 3]])
    model = transformers.BertForPreTraining.from_pretrained(folder).eval()
    is_next, is_random = (
        model(tokens).seq_relationship_logits.softmax(-1)[0].tolist()
    )  # label 0: the second text follows
    ours = follows(ModelBundle.load(tmp_path / "ours"), tokens)
    assert ours.tolist() == pytest.approx([is_random, is_next], abs=1e-5)
    assert abs(is_next - is_random) > 0.01
    export_huggingface(tmp_path / "ours", tmp_path / "back")
    back = transformers.BertForPreTraining.from_pretrained(tmp_path / "back").eval()
    assert back(tokens).seq_relationship_logits.softmax(-1)[0].tolist() == pytest.approx([is_next, is_random], abs=1e-5)


@torch.inference_mode()
def test_a_model_that_was_imported_with_exchanged_logits_is_put_right(tokenizer: Backend, tmp_path: Path) -> None:
    folder, tokens = write(tmp_path / "theirs", "BertForPreTraining", tokenizer), torch.tensor([[2, 7, 9, 3, 11, 3]])
    import_huggingface(folder, tmp_path / "ours")
    bundle = ModelBundle.load(tmp_path / "ours")
    expected = follows(bundle, tokens)
    bundle.model.head.swap_follows()  # type: ignore[union-attr, operator]
    imported = {name: value for name, value in bundle.history["imported"].items() if name != "next_sentence"}
    replace(bundle, history={"imported": imported}).save(tmp_path / "old", [("the dogs", "the dogs")])
    assert torch.equal(follows(ModelBundle.load(tmp_path / "old"), tokens), expected)
    replace(bundle, history={"imported": imported, "updates": 1}).save(tmp_path / "trained", [("the", "the")])
    assert torch.equal(follows(ModelBundle.load(tmp_path / "trained"), tokens), expected.flip(0))


def test_whether_a_passage_may_hold_no_answer_is_said_at_import_and_kept(tokenizer: Backend, tmp_path: Path) -> None:
    folder = write(tmp_path / "theirs", "BertForQuestionAnswering", tokenizer)
    import_huggingface(folder, tmp_path / "ours", no_answer=True)
    assert ModelBundle.load(tmp_path / "ours").config.head.no_answer  # type: ignore[union-attr]
    export_huggingface(tmp_path / "ours", tmp_path / "back")
    import_huggingface(tmp_path / "back", tmp_path / "again")
    assert ModelBundle.load(tmp_path / "again").config.head.no_answer  # type: ignore[union-attr]
    import_huggingface(folder, tmp_path / "always")
    assert not ModelBundle.load(tmp_path / "always").config.head.no_answer  # type: ignore[union-attr]
    with pytest.raises(InputError, match="no_answer is for models that answer questions"):
        import_huggingface(write(tmp_path / "other", "BertModel", tokenizer), tmp_path / "x", no_answer=True)


def test_token_ids_are_theirs(tokenizer: Backend, tmp_path: Path) -> None:
    folder = write(tmp_path / "theirs", "BertModel", tokenizer)
    import_huggingface(folder, tmp_path / "ours")
    ours = ModelBundle.load(tmp_path / "ours").tokenizers.target
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text in TEXTS:
        assert ours.encode(text) == theirs(text, add_special_tokens=False)["input_ids"]
    assert [ours.pad, ours.unknown, ours.bos, ours.eos, ours.mask] == [tokenizer.token_to_id(name) for name in SPECIAL]
    assert ours.mask in ours.encode(TEXTS[1])


def test_a_vocabulary_in_a_text_file_is_read_as_the_json_is(tokenizer: Backend, tmp_path: Path) -> None:
    folder = write(tmp_path / "theirs", "BertModel", tokenizer)
    import_huggingface(folder, tmp_path / "ours")
    (folder / "tokenizer.json").unlink()
    pieces = sorted(tokenizer.get_vocab(), key=tokenizer.token_to_id)
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    import_huggingface(folder, tmp_path / "slow")
    one, other = (ModelBundle.load(tmp_path / name).tokenizers.target for name in ("ours", "slow"))
    assert [one.encode(text) for text in TEXTS] == [other.encode(text) for text in TEXTS]


def test_names_of_old_versions_are_read(tokenizer: Backend, tmp_path: Path) -> None:
    folder = write(tmp_path / "theirs", "BertModel", tokenizer)
    import_huggingface(folder, tmp_path / "ours")
    tensors = load_file(folder / "model.safetensors")
    old = {
        f"bert.{name}".replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): one
        for name, one in tensors.items()
    }
    save_file(
        old | {"bert.embeddings.position_ids": torch.arange(40)[None]}, folder / "model.safetensors", {"format": "pt"}
    )
    import_huggingface(folder, tmp_path / "old")
    one, other = (ModelBundle.load(tmp_path / name).model.state_dict() for name in ("ours", "old"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_classifier_of_theirs_classifies_here(
    tokenizer: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "theirs", "BertForSequenceClassification", tokenizer)
    app(["import", str(folder), "-o", str(tmp_path / "ours")])
    capsys.readouterr()
    found = Classifier.load(tmp_path / "ours").classify(TEXTS[0])
    model = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
    ids = transformers.AutoTokenizer.from_pretrained(folder)(TEXTS[0], return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        expected = model(ids).logits.softmax(-1)[0].tolist()
    assert list(found.probabilities.values()) == pytest.approx(expected, abs=1e-5)  # type: ignore[union-attr]
    assert list(found.probabilities) == ["bad", "good", "so-so"]  # type: ignore[union-attr]


def test_several_labels_at_once_are_refused(tokenizer: Backend, tmp_path: Path) -> None:
    several = {"problem_type": "multi_label_classification"}
    folder = write(tmp_path / "theirs", "BertForSequenceClassification", tokenizer, **several)
    with pytest.raises(InputError, match="problem_type is 'multi_label_classification'"):
        import_huggingface(folder, tmp_path / "ours")


def test_whether_letters_are_lowered_is_what_the_tokenizers_settings_say(tokenizer: Backend, tmp_path: Path) -> None:
    folder = write(tmp_path / "theirs", "BertModel", tokenizer)
    path = folder / "tokenizer_config.json"
    lowers = not tokenizer.normalizer.lowercase
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": lowers}
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    import_huggingface(folder, tmp_path / "ours")  # where transformers is installed, its ids are compared
    assert ModelBundle.load(tmp_path / "ours").tokenizers.source.backend.normalizer.lowercase is lowers


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_act": "silu"}, "hidden_act is 'silu', which is not supported"),
        ({"is_decoder": True}, "is_decoder is true"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ({"hidden_size": 13}, "hidden_size and num_attention_heads"),
        ({"architectures": ["BertForNextSentencePrediction"]}, "architectures"),
    ],
    ids=str,
)
def test_what_cannot_be_carried_over_is_reported(
    settings: dict[str, Any], message: str, tokenizer: Backend, tmp_path: Path
) -> None:
    folder = write(tmp_path / "theirs", "BertModel", tokenizer)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | settings))
    with pytest.raises((InputError, CheckpointError), match=message):
        import_huggingface(folder, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()
