"use strict";

const PAUSE = 400; // milliseconds without typing before the text is translated
const UNSURE = 0.4;
const state = { languages: [], sentences: [], text: "", request: null, timer: 0, chosen: null };

function ask(body, signal) {
  const all = { source: by("from").value, target: by("to").value, glossary: glossary(), ...body };
  return send("POST", "v1/translate", all, signal);
}

function glossary() {
  return by("glossary")
    .value.split("\n")
    .map((line) => line.split("=").map((cell) => cell.trim()))
    .filter((cells) => cells.length === 2 && cells[1])
    .map(([source, target]) => ({ source, target }));
}

async function* lines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part);
  }
}

// The server counts characters, a script UTF-16 units.
function unitsOf(text) {
  const units = [0];
  for (const character of text) units.push(units[units.length - 1] + character.length);
  return units;
}

async function translate() {
  state.request?.abort();
  const request = new AbortController();
  state.request = request;
  state.text = by("source").value;
  state.sentences = [];
  choose(null);
  draw();
  say("");
  if (!state.text.trim()) return;
  say("Translating …");
  const units = unitsOf(state.text);
  try {
    const answer = await ask({ text: state.text, alignment: true, n_best: 4, stream: true }, request.signal);
    for await (const one of lines(answer)) {
      if (one.error) throw new Error(one.error);
      state.sentences.push({ ...one, start: units[one.start], end: units[one.end] });
      draw();
    }
    say("");
  } catch (error) {
    if (error.name !== "AbortError") say(error.message);
  }
}

function say(text) {
  by("state").textContent = text;
}

function targetText() {
  let text = "";
  let done = 0;
  for (const one of state.sentences) {
    text += one.gap + one.target;
    done = one.end;
  }
  return text + (state.sentences.length ? state.text.slice(done).match(/\s*$/)[0] : "");
}

// Where the words of a text begin and end: those that the server tells of, which knows scripts without spaces.
function wordsIn(text, words) {
  const found = [];
  let done = 0;
  for (const word of words || []) {
    const start = text.indexOf(word, done);
    if (start < 0) return [...text.matchAll(/\S+/g)].map((one) => [one.index, one.index + one[0].length]);
    done = start + word.length;
    found.push([start, done]);
  }
  return words ? found : [...text.matchAll(/\S+/g)].map((one) => [one.index, one.index + one[0].length]);
}

function draw() {
  const parts = [];
  let done = 0;
  state.sentences.forEach((one, number) => {
    parts.push(one.gap);
    let written = 0;
    wordsIn(one.target, one.details?.words).forEach(([start, end], word) => {
      parts.push(one.target.slice(written, start));
      written = end;
      const button = element("button", one.target.slice(start, end), { type: "button" });
      const isChosen = state.chosen?.sentence === number && state.chosen.word === word;
      button.setAttribute("aria-pressed", String(isChosen));
      button.classList.toggle("unsure", probability(one, word) < UNSURE);
      button.addEventListener("click", () => choose({ sentence: number, word }));
      parts.push(button);
    });
    parts.push(one.target.slice(written));
    done = one.end;
  });
  by("target").replaceChildren(...parts);
  by("target").lang = tagOf(by("to").value);
  by("copy").disabled = !state.sentences.length;
}

function probability(one, word) {
  const details = one.details;
  if (!details) return 1;
  return Math.min(1, ...details.tokens.filter((_, n) => details.word_of_tokens[n] === word).map((t) => t.probability));
}

function choose(chosen) {
  state.chosen = chosen;
  mark([]);
  by("choices").hidden = !chosen;
  if (!chosen) return;
  draw();
  by("target").querySelector('[aria-pressed="true"]')?.focus();
  const one = state.sentences[chosen.sentence];
  const links = one.details?.alignment?.filter(([, target]) => target === chosen.word).map(([source]) => source) || [];
  const words = wordsIn(one.source, one.details?.source_words);
  const read = links.filter((n) => words[n]).map((n) => words[n]);
  mark(read.map(([start, end]) => [one.start + start, one.start + end]));
  const target = wordsIn(one.target, one.details?.words);
  const sure = one.details ? `, ${Math.round(100 * probability(one, chosen.word))} % sure` : "";
  by("choices-title").textContent = `${one.target.slice(...target[chosen.word])}${sure}`;
  by("read-from").textContent = read.length
    ? `Read from: ${read.map((found) => one.source.slice(...found)).join(" ")}`
    : "The model does not tell what it was read from.";
  by("tokens").replaceChildren(...runnersUp(one, chosen.word));
  offer(one, target, chosen);
}

// What else the model might have written in each token's place, most probable first.
function runnersUp(one, word) {
  if (!one.details) return [];
  const tokens = one.details.tokens.filter((_, n) => one.details.word_of_tokens[n] === word);
  return tokens.map((token) => {
    const item = document.createElement("li");
    const all = [[token.token, token.probability], ...token.runners_up];
    for (const [n, [text, share]] of all.entries()) {
      const shown = element("span", `${text.replace("▁", "")} ${percent(share)}`, { dir: "auto" });
      shown.className = n ? "runner-up" : "taken";
      item.append(shown, " ");
    }
    return item;
  });
}

// What else the word might have been: other translations that begin as this one does up to it.
async function offer(one, target, chosen) {
  const list = by("list");
  const others = new Map();
  for (const { text } of one.n_best) if (text !== one.target) others.set(text, text);
  const show = () =>
    list.replaceChildren(
      ...[...others.values()].map((text) => {
        const item = document.createElement("li");
        const button = element("button", text, { type: "button", dir: "auto" });
        button.addEventListener("click", () => take(one, text));
        item.append(button);
        return item;
      }),
    );
  show();
  if (!one.details) return;
  try {
    const prefix = one.target.slice(0, target[chosen.word][0]).trim();
    const body = { text: one.source, prefix, groups: 4, n_best: 4, glossary: [] };
    const found = await (await ask(body)).json();
    if (state.chosen !== chosen) return;
    for (const { text } of found.sentences[0].n_best) if (text !== one.target) others.set(text, text);
    show();
  } catch (error) {
    say(error.message);
  }
}

function take(one, text) {
  one.target = text;
  one.details = null;
  one.n_best = one.n_best.filter((other) => other.text !== text);
  choose(null);
  draw();
}

function mark(ranges) {
  const parts = [];
  let done = 0;
  for (const [start, end] of ranges.sort((a, b) => a[0] - b[0])) {
    parts.push(state.text.slice(done, start), element("mark", state.text.slice(start, end)));
    done = end;
  }
  by("behind").dir = "auto";
  by("behind").replaceChildren(...parts, state.text.slice(done));
}

function grow() {
  const source = by("source");
  source.style.height = "auto";
  source.style.height = `${source.scrollHeight + 2}px`;
}

function fillTargets() {
  const from = state.languages.find((one) => one.code === by("from").value);
  const targets = state.languages.filter((one) => from?.targets.includes(one.code));
  by("to").replaceChildren(...targets.map((one) => element("option", nameOf(one), { value: one.code })));
}

async function translateFile(file) {
  const form = new FormData();
  form.append("file", file);
  form.append("source", by("from").value);
  form.append("target", by("to").value);
  by("progress").hidden = false;
  by("progress").removeAttribute("value");
  by("file-state").textContent = `Translating ${file.name} …`;
  try {
    const answer = await fetch("v1/translate_file", { method: "POST", body: form, headers: headers() }).then(checked);
    let url = null;
    for await (const one of lines(answer)) {
      if (one.error) throw new Error(one.error);
      by("progress").value = one.done;
      by("file-state").textContent = `Translating ${file.name}: ${percent(one.done)}`;
      if (one.translatedFileUrl) url = new URL(one.translatedFileUrl);
    }
    if (!url) throw new Error("The server ended before the translation was complete");
    const link = element("a", `Fetch the translation of ${file.name}`, { href: url.pathname, download: "" });
    link.addEventListener("click", () => setTimeout(() => by("file-state").replaceChildren("Fetched."), 0));
    by("file-state").replaceChildren(link);
    link.focus();
  } catch (error) {
    by("file-state").textContent = error.message;
  } finally {
    by("progress").hidden = true;
    by("file").value = "";
  }
}

async function begin() {
  const settings = await (await fetch("frontend/settings").then(checked)).json();
  state.languages = await (await fetch("languages").then(checked)).json();
  const sources = state.languages.filter((one) => one.targets.length);
  by("from").replaceChildren(...sources.map((one) => element("option", nameOf(one), { value: one.code })));
  fillTargets();
  by("key-part").hidden = !settings.keyRequired;
  by("formats").textContent = settings.supportedFilesFormat.join(" ");
  by("from").addEventListener("change", () => (fillTargets(), translate()));
  by("to").addEventListener("change", translate);
  const later = () => {
    clearTimeout(state.timer);
    state.timer = setTimeout(translate, PAUSE);
  };
  by("source").addEventListener("input", () => {
    grow();
    state.text = by("source").value;
    mark([]);
    by("count").textContent = `${[...state.text].length} of ${settings.charLimit} characters`;
    later();
  });
  by("glossary").addEventListener("input", later);
  by("key").addEventListener("change", translate);
  by("key-form").addEventListener("submit", (event) => event.preventDefault());
  by("copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(targetText());
    say("Copied.");
  });
  by("file").addEventListener("change", (event) => event.target.files[0] && translateFile(event.target.files[0]));
  for (const kind of ["dragover", "dragleave", "drop"]) {
    by("drop").addEventListener(kind, (event) => {
      event.preventDefault();
      by("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files[0]) translateFile(event.dataTransfer.files[0]);
    });
  }
  document.addEventListener("keydown", (event) => event.key === "Escape" && (choose(null), draw()));
  by("source").focus();
}

begin().catch((error) => say(error.message));
