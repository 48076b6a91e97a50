"""Languages that are written differently, from two files to a figure, without a setting.

    python benchmarks/languages.py --out runs/bench/languages

Sentences of a small grammar in twelve languages: `train` on two files, then a score on held-out sentences, a term of a
glossary found in the language's own sentences and required of translations, an HTML document, alignment, the page and
the figure of `look`. A row for each language; about a minute of one core each. What is finished is not done again.
"""

import argparse
import random
import re
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import transduce
from docsegments.orthography.words import words
from transduce.analysis.alignment import choose_head
from transduce.bundle.model_bundle import ModelBundle
from transduce.evaluation.translations import score_bleu
from transduce.inference.aligner import Aligner
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.text.glossary import Entry, Glossary

PAIRS, HELD_OUT = 500, 100
DOCUMENT = "<p>The man sees <b>the bicycle</b> in the park today. The dog finds the bicycle at home now.</p><p>***</p>"


@dataclass(frozen=True)
class Language:
    """Words of a language, in the order of the English ones, and how they make a sentence."""

    template: str
    subjects: str
    objects: str
    verbs: str
    places: str
    times: str
    term: str
    """Bicycle, as a glossary would have it."""


ENGLISH = Language(
    "The {s} {v} the {o} {p} {t}.",
    "man|boy|dog|teacher|doctor|friend|farmer|neighbour",
    "bicycle|book|apple|house|car|bread|flower|chair",
    "sees|buys|likes|draws|finds|sells",
    "in the park|at the station|at home|in the city|at school|on the market",
    "today|every day|often|now",
    "bicycle",
)
LANGUAGES = {
    "ja": Language(
        "{t}、{s}は{p}{o}を{v}。",
        "男の人|少年|犬|先生|医者|友達|農夫|隣人",
        "自転車|本|りんご|家|車|パン|花|椅子",
        "見る|買う|好む|描く|見つける|売る",
        "公園で|駅で|自宅で|町で|学校で|市場で",
        "今日|毎日|よく|今",
        "自転車",
    ),
    "zh": Language(
        "{s}{t}{p}{v}{o}。",
        "男人|男孩|狗|老师|医生|朋友|农民|邻居",
        "自行车|书|苹果|房子|汽车|面包|花|椅子",
        "看见|买|喜欢|画|找到|卖",
        "在公园|在车站|在家里|在城里|在学校|在市场",
        "今天|每天|经常|现在",
        "自行车",
    ),
    "th": Language(
        "{s}{v}{o}{p}{t}",
        "ผู้ชาย|เด็กชาย|สุนัข|ครู|หมอ|เพื่อน|ชาวนา|คนข้างบ้าน",
        "จักรยาน|หนังสือ|แอปเปิล|บ้าน|รถยนต์|ขนมปัง|ดอกไม้|เก้าอี้",
        "เห็น|ซื้อ|ชอบ|วาด|พบ|ขาย",
        "ในสวนสาธารณะ|ที่สถานี|ที่บ้าน|ในเมือง|ที่โรงเรียน|ที่ตลาด",
        "วันนี้|ทุกวัน|บ่อยๆ|ตอนนี้",
        "จักรยาน",
    ),
    "ko": Language(
        "{s} {t} {p} {o} {v}.",
        "남자는|소년은|개는|선생님은|의사는|친구는|농부는|이웃은",
        "자전거를|책을|사과를|집을|자동차를|빵을|꽃을|의자를",
        "본다|산다|좋아한다|그린다|찾는다|판다",
        "공원에서|역에서|집에서|도시에서|학교에서|시장에서",
        "오늘|매일|자주|지금",
        "자전거",
    ),
    "ar": Language(
        "{v} {s} {o} {p} {t}.",
        "الرجل|الولد|الكلب|المعلم|الطبيب|الصديق|الفلاح|الجار",
        "الدراجة|الكتاب|التفاحة|البيت|السيارة|الخبز|الزهرة|الكرسي",
        "يرى|يشتري|يحب|يرسم|يجد|يبيع",
        "في الحديقة|في المحطة|في المنزل|في المدينة|في المدرسة|في السوق",
        "اليوم|كل يوم|غالبا|الآن",
        "الدراجة",
    ),
    "he": Language(
        "{s} {v} את {o} {p} {t}.",
        "האיש|הילד|הכלב|המורה|הרופא|החבר|האיכר|השכן",
        "האופניים|הספר|התפוח|הבית|המכונית|הלחם|הפרח|הכיסא",
        "רואה|קונה|אוהב|מצייר|מוצא|מוכר",
        "בפארק|בתחנה|בבית|בעיר|בבית הספר|בשוק",
        "היום|כל יום|לעתים קרובות|עכשיו",
        "האופניים",
    ),
    "hi": Language(
        "{s} {t} {p} {o} {v}।",
        "आदमी|लड़का|कुत्ता|शिक्षक|डॉक्टर|दोस्त|किसान|पड़ोसी",
        "साइकिल|किताब|सेब|घर|गाड़ी|रोटी|फूल|कुर्सी",
        "देखता है|खरीदता है|पसंद करता है|बनाता है|ढूँढता है|बेचता है",
        "पार्क में|स्टेशन पर|घर पर|शहर में|स्कूल में|बाज़ार में",
        "आज|हर दिन|अक्सर|अब",
        "साइकिल",
    ),
    "vi": Language(
        "{s} {v} {o} {p} {t}.",
        "Người đàn ông|Cậu bé|Con chó|Giáo viên|Bác sĩ|Người bạn|Nông dân|Hàng xóm",
        "xe đạp|quyển sách|quả táo|ngôi nhà|ô tô|bánh mì|bông hoa|cái ghế",
        "nhìn thấy|mua|thích|vẽ|tìm thấy|bán",
        "trong công viên|ở nhà ga|ở nhà|trong thành phố|ở trường|ở chợ",
        "hôm nay|mỗi ngày|thường xuyên|bây giờ",
        "xe đạp",
    ),
    "tr": Language(
        "{s} {t} {p} {o} {v}.",
        "Adam|Çocuk|Köpek|Öğretmen|Doktor|Arkadaş|Çiftçi|Komşu",
        "bisikleti|kitabı|elmayı|evi|arabayı|ekmeği|çiçeği|sandalyeyi",
        "görüyor|alıyor|seviyor|çiziyor|buluyor|satıyor",
        "parkta|istasyonda|evde|şehirde|okulda|pazarda",
        "bugün|her gün|sık sık|şimdi",
        "bisikleti",
    ),
    "ru": Language(
        "{s} {t} {v} {o} {p}.",
        "Мужчина|Мальчик|Собака|Учитель|Врач|Друг|Фермер|Сосед",
        "велосипед|книгу|яблоко|дом|машину|хлеб|цветок|стул",
        "видит|покупает|любит|рисует|находит|продаёт",
        "в парке|на станции|у себя|в городе|в школе|на рынке",
        "сегодня|каждый день|часто|сейчас",
        "велосипед",
    ),
    "el": Language(
        "{s} {v} {o} {p} {t}.",
        "Ο άντρας|Το αγόρι|Ο σκύλος|Ο δάσκαλος|Ο γιατρός|Ο φίλος|Ο αγρότης|Ο γείτονας",
        "το ποδήλατο|το βιβλίο|το μήλο|το σπίτι|το αυτοκίνητο|το ψωμί|το λουλούδι|την καρέκλα",
        "βλέπει|αγοράζει|αγαπά|ζωγραφίζει|βρίσκει|πουλά",
        "στο πάρκο|στον σταθμό|στο χωριό|στην πόλη|στο σχολείο|στην αγορά",
        "σήμερα|κάθε μέρα|συχνά|τώρα",
        "ποδήλατο",
    ),
    "mixed": Language(  # Japanese with Latin letters, digits, katakana and emoji
        "{t}、{s}は{p}{o}を{v}よ😀",
        "Tomさん|少年|犬|先生|Dr.田中|友達|農夫|YouTuber",
        "BMXバイク|iPhone|CD3枚|家|USBケーブル|パン|Tシャツ|3Dプリンター",
        "見る|買う|likeする|描く|見つける|売る",
        "公園で|JR駅で|自宅で|町で|学校で|市場で",
        "今日|毎日|often|now",
        "BMXバイク",
    ),
}


@dataclass(frozen=True)
class Row:
    """The results of one language, from its training to its figure."""

    name: str
    pairs: int
    minutes: float
    score: str
    found: str
    """Sentences of the language that hold the term in which the glossary finds it."""
    satisfied: str
    aligned: str
    """Held-out sentences in which the term is aligned with its word in English."""
    document: str
    figure: str

    def __str__(self) -> str:
        texts = (self.score, self.found, self.satisfied, self.aligned, self.document, self.figure)
        return " | ".join([self.name, f"{self.pairs:,}", f"{self.minutes:.1f}", *texts])


HEADER = "language | pairs | minutes | score | glossary found | satisfied | aligned | document | figure"


def sentences(language: Language, count: int) -> list[tuple[str, str]]:
    """Distinct pairs of English and a language."""
    chance = random.Random(1)
    kinds = ("subjects", "objects", "verbs", "places", "times")
    chosen: dict[tuple[int, ...], None] = {}
    while len(chosen) < count:
        chosen[tuple(chance.randrange(len(getattr(ENGLISH, kind).split("|"))) for kind in kinds)] = None
    return [(_sentence(ENGLISH, numbers), _sentence(language, numbers)) for numbers in chosen]


def _sentence(language: Language, numbers: tuple[int, ...]) -> str:
    tables = (language.subjects, language.objects, language.verbs, language.places, language.times)
    chosen = [table.split("|")[number] for table, number in zip(tables, numbers, strict=True)]
    return language.template.format(**dict(zip("sovpt", chosen, strict=True)))


def row(name: str, out: Path, pairs: int = PAIRS, held_out: int = HELD_OUT, changes: tuple[str, ...] = ()) -> Row:
    """Train a language's model unless it is there, and try all that is done with it."""
    language, code = LANGUAGES[name], "ja" if name == "mixed" else name
    all_pairs = sentences(language, pairs + held_out)
    run = out / name
    minutes_file = out / f"{name}.minutes"
    out.mkdir(parents=True, exist_ok=True)
    files = [out / f"{name}-train.en", out / f"{name}-train.{code}"]
    for side, file in enumerate(files):
        file.write_text("".join(pair[side] + "\n" for pair in all_pairs[:pairs]), encoding="utf-8")
    if not (run / "model").is_dir():
        start = time.monotonic()
        command = [sys.executable, "-m", "transduce", "train", *map(str, files), *changes]
        subprocess.run([*command, "--out", str(run), "--overwrite", "--threads", "1", "--quiet"], check=True)
        minutes_file.write_text(str((time.monotonic() - start) / 60))
    translator = Translator.load(run)
    test = all_pairs[pairs:]
    outputs = [one.text for one in translator.translate([source for source, _ in test])]
    bleu = score_bleu(outputs, [target for _, target in test])
    tokenizer = re.search(r"tok:[^|]+", bleu.signature)
    of_language, to_language = Glossary([Entry(language.term, "bicycle")]), Glossary([Entry("bicycle", language.term)])
    holding = [(source, target) for source, target in test if "bicycle" in source]
    found = sum(bool(of_language.applying(target).required) for _, target in holding)
    elsewhere = sum(bool(of_language.applying(target).required) for source, target in test if "bicycle" not in source)
    requests = [Request(source, required=to_language.applying(source).required) for source, _ in holding]
    required = translator.translate(requests)
    return Row(
        name,
        pairs,
        float(minutes_file.read_text()) if minutes_file.exists() else 0.0,
        f"{bleu.score:.1f} ({tokenizer[0] if tokenizer else bleu.signature})",
        f"{found} of {len(holding)}" + (f", {elsewhere} wrongly" if elsewhere else ""),
        f"{sum(not one.unsatisfied for one in required)} of {len(holding)}",
        _aligned(translator, holding, language.term),
        _document(translator, out / f"{name}.html"),
        _figure(translator, holding[0][0], out / name),
    )


def _aligned(translator: Translator, pairs: list[tuple[str, str]], term: str) -> str:
    """In how many pairs a word of the term is aligned with its word in English."""
    bundle = translator.bundle
    assert isinstance(bundle, ModelBundle)
    targets = bundle.tokenizers.target.encode_batch([target for _, target in pairs])
    head = choose_head(bundle, zip(bundle.read([source for source, _ in pairs]), targets, strict=True))
    aligner = Aligner(bundle, head)
    right = 0
    for (source, target), links in zip(pairs, aligner.align(pairs), strict=True):
        begin = target.index(term)
        own = {n for n, (start, end) in enumerate(words(target)) if start < begin + len(term) and end > begin}
        (place,) = (n for n, (start, end) in enumerate(words(source)) if "bicycle" in source[start:end])
        right += any(i == place and j in own for i, j in links)
    return f"{right} of {len(pairs)}"


def _document(translator: Translator, file: Path) -> str:
    """Translate a document; what became of its tags, of what has no words, and of what is between its sentences."""
    found = transduce.DocumentTranslator(translator).translate(DOCUMENT.encode(), "page.html").data.decode()
    file.write_text(found, encoding="utf-8")
    bold = re.search(r"<b>([^<]+)</b>", found)
    return f"<b>{bold[1]}</b>" if bold and "<p>***</p>" in found else f"wrong, see {file}"


def _figure(translator: Translator, text: str, name: Path) -> str:
    """Draw page and figure of a sentence; "drawn", or the line that says what font is missing."""
    look = translator.look(text)
    look.save(name.with_suffix(".look.html"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        look.save(name.with_suffix(".png"))
    return "; ".join(str(one.message) for one in told) or "drawn"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/languages"))
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("languages", nargs="*", default=list(LANGUAGES), help=f"of {', '.join(LANGUAGES)}")
    options = parser.parse_args()
    print(HEADER)
    for name in options.languages:
        print(row(name, options.out, options.pairs), flush=True)


if __name__ == "__main__":
    main()
