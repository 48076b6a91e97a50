# `make demo` and `make test` work on a fresh machine, in either order: what they need is installed into .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo docs course test test-fast test-slow test-both test-all quick check format release release-check bench-words bench-multi30k bench-ablation bench-phrases bench-attention \
	bench-first-hour bench-train bench-rnn bench-translate bench-decoding bench-memory bench-attack \
	bench-busy bench-support bench-languages bench-corpora bench-gpu

# Bytecode is written when a module is first imported: to compile all of them takes a minute, and most are never used.
setup: .venv/installed

INSTALL = $(BIN)/pip install --disable-pip-version-check --no-compile --constraint constraints.txt --editable

# What trains and translates: enough for the demo, and the first step of all that development needs.
.venv/trains: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv: some hundred megabytes, PyTorch first, which takes minutes on a slow line."
	$(INSTALL) '.[train]'
	touch $@

.venv/installed: .venv/trains
	$(INSTALL) '.[train,export,firefox,evaluation,hub,documents,serve,parquet,dev,docs]'
	touch $@

demo: .venv/trains
	rm -rf runs/quickstart
	$(BIN)/transduce quickstart

check: setup
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/source_budget.py

# A process for each core, one thread each: for models as small as the tests' two threads are no faster than one. Files
# come in the order of tests/conftest.py. Bytecode is kept whatever the environment says, since some hundred processes
# would compile the package anew. Each process would import the plugin of schemathesis, which no test needs, for seconds.
PYTEST = OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --numprocesses auto --dist loadfile \
	--no-loadscope-reorder -p no:schemathesis

# Types are checked, by one process, while tests run: with SLOW=1 slow ones, too, by the same processes, which collect once.
test: setup
	$(MAKE) --no-print-directory --jobs 2 check $(if $(SLOW),test-both,test-fast)

test-fast: setup
	$(PYTEST) -m "not slow and not thorough"

# Whole trainings, every bad input, every command of the docs, browsers, other libraries, growth with long texts.
test-slow: setup
	$(PYTEST) -m "slow and not thorough"

test-both: setup
	$(PYTEST) -m "not thorough"

# Before a release, with the searches for faults that go through all patterns, paths and sizes.
test-all: setup
	$(MAKE) --no-print-directory test SLOW=1
	$(PYTEST) -m thorough

# Unit tests of all rooms without a whole training, or of one: make quick ROOM=nn
ROOM ?= nn models objectives search data text orthography corpora evaluation analysis
quick: setup
	$(PYTEST) -m "not slow and not thorough" $(ROOM:%=tests/%)

format: setup
	$(BIN)/ruff format src tests benchmarks docs
	$(BIN)/ruff check --fix src tests benchmarks docs

# Sdist, wheel, bill of materials of a fresh environment with the wheel, and checksums; publishing them is in
# docs/releasing.md. Files in the wheel have the commit's time, so that whoever builds that commit gets the same bytes.
release: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
release:
	rm -rf dist build
	$(PYTHON) -m venv build/tools
	build/tools/bin/pip install --disable-pip-version-check --quiet 'build>=1.2' 'cyclonedx-bom>=5'
	build/tools/bin/python -m build
	$(PYTHON) -m venv --without-pip build/environment
	build/tools/bin/pip --python build/environment install --disable-pip-version-check --no-compile \
	    --constraint constraints.txt dist/*.whl
	sed "s/^dynamic = .*/version = \"$$(sed -n 's/^VERSION = "\(.*\)"$$/\1/p' src/transduce/base/version.py)\"/" pyproject.toml \
	    > build/pyproject.toml
	build/tools/bin/cyclonedx-py environment --pyproject build/pyproject.toml --output-reproducible --of JSON \
	    -o dist/$$(basename dist/*.tar.gz .tar.gz).cdx.json build/environment
	cd dist && sha256sum * > SHA256SUMS
	rm -rf build

# Fresh environments: each Python from 3.11 to 3.14 at hand, lowest and newest dependencies, the base alone; ten minutes.
release-check: release
	$(PYTHON) tests/smoke/release_check.py

# The site, in build/site: trains the gallery's models and runs the course where they have changed, then checks all links.
docs: setup
	$(BIN)/python docs/site/build.py

# The notebooks of the course at full size, executed in build/course, those that have changed.
course: setup
	$(BIN)/python docs/site/notebooks.py build/course

# Trainings of an hour or so, whose figures stand in RESULTS.md and results/.
bench-words: setup
	for seed in 1 2 3; do $(BIN)/transduce train multi30k-words seed=$$seed --out runs/bench/words-$$seed --resume; done

bench-multi30k: setup
	$(BIN)/transduce train multi30k --out runs/bench/multi30k-de-en --resume
	$(BIN)/transduce train multi30k data.source=en data.target=de --out runs/bench/multi30k-en-de --resume

bench-ablation: setup
	$(BIN)/python benchmarks/ablation.py --out runs/bench/ablation

bench-phrases: setup
	$(BIN)/python benchmarks/required_phrases.py runs/bench/multi30k-de-en

bench-first-hour: setup
	$(BIN)/python benchmarks/first_hour.py --out runs/bench/first-hour

bench-corpora: setup
	$(BIN)/python benchmarks/corpora_scale.py --pairs 100000 1000000 --out runs/bench/corpora

bench-languages: setup
	$(BIN)/python benchmarks/languages.py --out runs/bench/languages

bench-attention: setup
	$(BIN)/python benchmarks/attention_compared.py --out runs/bench/attention

# Side by side with other toolkits, each installed into benchmarks/.peers; ten to thirty minutes each, on a quiet machine.
bench-train: setup
	$(BIN)/python benchmarks/train_speed.py --task words --report

bench-rnn: setup
	$(BIN)/python benchmarks/train_speed.py --task rnn --report

bench-translate: setup
	$(BIN)/python benchmarks/translate_speed.py --report

bench-decoding: setup
	$(BIN)/python benchmarks/decoding_speed.py runs/bench/multi30k-de-en --precisions float32 bfloat16 int8 \
	    --engines auto pytorch own

# Updates and beam search on one NVIDIA GPU beside transformers and CTranslate2, and a minute of multi30k; ten minutes.
bench-gpu: setup
	$(BIN)/python benchmarks/gpu.py

# Peaks of memory; no trained model is needed.
bench-memory: setup
	$(BIN)/python benchmarks/training_memory.py
	$(BIN)/python benchmarks/memory.py

# Clients of a server beside attackers; about ten minutes.
bench-attack: setup
	$(BIN)/python benchmarks/serving_attack.py --model $(or $(MODEL),runs/quickstart)

# Every family with every verb and precision; writes docs/support.md; twenty minutes.
bench-support: setup
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/support.py --out docs/support.md

# Updates and sentences beside busy processes, before and after; about nine minutes, on an otherwise quiet machine.
bench-busy: setup
	$(BIN)/python benchmarks/busy_machine.py
