"""Models with a text encoder: their settings, their examples, what is asked of them, and verbs of other tasks."""

from bad_inputs.damages import remove, write
from bad_inputs.row import row

SETTINGS = (
    ("classes", "predict=number", "predict"),
    ("classes", "predict=score", "is no number"),
    ("classes", "model.norm_epsilon=0", "model.norm_epsilon"),
    ("classes", "batching.max_tokens=100", "the encoder has 40 positions"),
    ("classes", "data.text=0", "column 0"),
    ("classes", "data.label=kind", "no column 'kind'"),
    ("classes", "training.start_from=run", "leave [model] out"),
    ("classes", "training.start_from=rnn", "no encoder of texts"),
    ("classes", "training.start_from=nowhere", "training.start_from"),
    ("tags", "data.train=classes.tsv", "is no tag"),
    ("answers", "data.train=classes.tsv", "is not JSON"),
    ("words", "masking.whole_words=true", "the setting 'whole_words' has been removed; leave it out"),
    ("words", "tokenizer.kind=characters", "[MASK]"),
    ("words", "tokenizer.size=6", "too small for bert"),
    ("words", "training.teacher_forcing.first=0.5", "training.teacher_forcing is for models that write"),
    ("words", "model.pooler=false", "next_sentence needs model.pooler"),
)

ASKED = (
    ("classify pairs test.en", "expected two, with a tab between"),
    ("tag classes test.en", "transduce classify"),
    ("answer answers test.en --passage nowhere", "--passage nowhere"),
    ("fill classes test.en", "does not guess hidden words"),
    ("fill words test.en", "nothing is hidden"),
    ("embed run test.en --layer 2", "layer = 2: expected 0 (the embeddings) to 1 (the last)"),
    ("embed run test.en --layer 0 --pooling pooler", "leave layer out"),
    ("embed classes test.en --to fr", "--to and --from are for translation models"),
    ("look classes ' ' -o out.html", "no text to look at"),
    ("look classes the --why the -o out.html", "--why is for models that translate, and classes does not"),
    ("look classes the --target x -o out.html", "--target is for models that write"),
    ("look classes the --second x -o out.html", "--second is for models that read two texts"),
    ("look pairs the -o out.html", "give the other with --second"),
    (["look", "answers", "where?", "--second", "Ada " * 300, "-o", "out.html"], "the text has 305 tokens"),
    ("look --positions --second x", "--positions takes one model"),
    ("evaluate classes --reference test.tsv", "does not occur in the training data"),
    ("evaluate classes --reference test.en", "must be in a .tsv or .jsonl file"),
    ("evaluate classes --reference nowhere.tsv", "nowhere.tsv"),
    ("evaluate classes --dataset multi30k", "has no labelled texts"),
    ("evaluate tags --confusion out.png", "predicts no classes"),
    ("evaluate run --confusion out.png", "--confusion is for classifiers"),
    ("evaluate words", "nothing to evaluate"),
    ("compare classes pairs", "different test sets"),
    ("sweep words.toml training.updates=1,2", "sweep what is fine-tuned"),
)

FILES = (
    ("classes", "classes.tsv", "ragged columns", b"a\tgood\nb\n", "line 2 has 1 columns, but line 1 has 2"),
    ("classes", "classes.tsv", "a blank label", b"a\tgood\nb\t\n", "line 2: its label is blank"),
    ("classes", "classes.tsv", "a blank text", b"a\tgood\n\tbad\n", "line 2: its text is blank"),
    ("classes", "classes.tsv", "one class", b"a\tgood\nb\tgood\n" * 20, "all labels are 'good'"),
    ("classes", "classes.tsv", "nothing", b"", "classes.tsv"),
    ("tags", "tags.conll", "ragged columns", b"a\tO\nb\n", "line 2 has 1 column, but the first has 2"),
    ("tags", "tags.conll", "no entity", b"a\tO\n\nb\tO\n\n" * 15, "there is nothing to learn"),
    ("tags", "tags.conll", "one text", b"Ada\tB-person\n\n" * 30, "are of one text; name others to validate on"),
    ("answers", "asked.json", "a list", b"[]", "not in the form of SQuAD"),
    ("answers", "asked.json", "no paragraphs", b'{"data": [{}]}', "no list under 'paragraphs'"),
    (
        "answers",
        "asked.json",
        "an answer elsewhere",
        b'{"data": [{"paragraphs": [{"context": "in Rome", "qas": [{"id": "q", "question": "where", "answers": '
        b'[{"text": "Rome", "answer_start": 1}]}]}]}]}',
        "is not in its passage at character 1",
    ),
)

ROWS = [
    *(row(f"train {name}.toml --out new -q {change}", words) for name, change, words in SETTINGS),
    *(row(command, words) for command, words in ASKED),
    *(row(f"train {name}.toml --out new -q", words, write(file, text)) for name, file, what, text, words in FILES),
    row("import minilm -o new", "vocab.txt", remove("minilm/tokenizer.json")),
    row("import minilm -o new", "model.safetensors", write("minilm/model.safetensors", b"weights")),
    row("train classes.toml --out new -q model.size=huge", "model.size"),
    row("train classes.toml --out new -q data.text=9", "column 9 is asked for"),
    row("train classes.toml --out new -q training.start_from=minilm", "transduce import"),
    row("train words.toml --out new -q masking.share=0", "masking.share"),
    row("classify tags test.en", "transduce tag"),
    row(
        "train classes.toml --out new -q",
        "seems to be a header",
        write("classes.tsv", b"text\tlabel\n" + b"a\tgood\nb\tbad\n" * 20),
    ),
]
