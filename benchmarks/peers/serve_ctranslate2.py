"""The smallest FastAPI app around CTranslate2: `python -m peers.serve_ctranslate2 EXPORTED PORT THREADS`.

It batches the lines of a request, but not those of several.
"""

import sys
from pathlib import Path

import ctranslate2
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from transduce.apps.exchange.ctranslate2.ctranslate2_model import adds_source_end, vocabulary_of
from transduce.inference.engines.exported import ExportedModel


class Asked(BaseModel):
    q: str


def build_app(folder: Path, threads: int) -> FastAPI:
    tokenizers = ExportedModel.load(folder).tokenizers
    translator = ctranslate2.Translator(str(folder), intra_threads=threads)
    source, target = tokenizers.source, tokenizers.target
    pieces, ids = vocabulary_of(source), {piece: token for token, piece in enumerate(vocabulary_of(target))}
    end = [] if adds_source_end(tokenizers) else [pieces[source.eos]]
    app = FastAPI()

    @app.post("/translate")
    def translate(asked: Asked) -> dict[str, str]:
        lines = [[*(pieces[token] for token in own), *end] for own in source.encode_batch(asked.q.splitlines())]
        results = translator.translate_batch(lines, beam_size=4, length_penalty=0.6)
        outputs = [target.decode([ids[piece] for piece in result.hypotheses[0]]) for result in results]
        return {"translatedText": "\n".join(outputs)}

    return app


if __name__ == "__main__":
    exported, port, threads = sys.argv[1:]
    uvicorn.run(build_app(Path(exported), int(threads)), port=int(port), log_level="warning", access_log=False)
