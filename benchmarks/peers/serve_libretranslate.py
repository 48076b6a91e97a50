"""LibreTranslate's own server, without a network: `python -m peers.serve_libretranslate PACKAGES PORT THREADS`.

Runs in its environment. A line is a sentence, as in all texts of the benchmark: to find sentences it would download a
model, and it would cost it time.
"""

import os
import sys
from pathlib import Path

packages, port, threads = sys.argv[1:]
data = Path(packages).with_name("libretranslate")
os.environ |= {
    "ARGOS_PACKAGES_DIR": packages,
    "ARGOS_COMPUTE_TYPE": "default",  # that of the weights, as of the others
    "ARGOS_INTRA_THREADS": threads,
    "XDG_DATA_HOME": str(data),
}
index = data / "argos-translate" / "index.json"
index.parent.mkdir(parents=True, exist_ok=True)
index.write_text("[]", encoding="utf-8")  # of packages to download

from argostranslate.sbd import MiniSBDSentencizer  # noqa: E402
from libretranslate.main import main  # noqa: E402

MiniSBDSentencizer.split_sentences = lambda self, text: [text]
sys.argv[1:] = ["--host", "127.0.0.1", "--port", port, "--threads", "64", "--disable-web-ui", "--load-only", "en"]
main()
