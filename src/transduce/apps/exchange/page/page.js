// The page: text in, sentences to the worker, translations out. Text enters the page as text only.

const by = (id) => document.getElementById(id);
const PAUSE = 150; // milliseconds without typing before the text is translated
const FEW = 4; // sentences that need no progress bar
const REMEMBERED = 50000; // sentences whose translations are kept while the page is open
const MAX_BYTES = 20 << 20; // of a file

// Any error is shown, also one in what follows.
addEventListener("error", (event) => say(`This page has failed: ${event.message}`, true));
addEventListener("unhandledrejection", (event) => say(`This page has failed: ${event.reason}`, true));
say("Loading the model …");

const facts = JSON.parse(by("facts").textContent);
const split = sentenceSplitter(facts.source, facts.words);
const translations = new Map();
const state = {
  rows: [], // the sentences of the text, each with the nodes that show its translation
  next: 0, // the first row that is not translated
  first: 0, // where this work began
  worker: null,
  isReady: false,
  isBusy: false,
  isStopped: false,
  timer: 0,
  file: "",
};

function say(text, isError = false) {
  by("state").textContent = text;
  by("state").classList.toggle("is-error", isError);
}

function nameOf(code, name) {
  try {
    return new Intl.DisplayNames([navigator.language, "en"], { type: "language", fallback: "none" }).of(tagOf(code)) ?? name;
  } catch {
    return name;
  }
}

// Rows whose sentence is as before keep their nodes; a changed one shows its old translation until the new one comes.
function show({ sentences, rest }) {
  const old = state.rows;
  const isSame = (row, sentence) => row.text === sentence.text && row.gap.data === sentence.gap;
  const most = Math.min(old.length, sentences.length);
  let head = 0;
  while (head < most && isSame(old[head], sentences[head])) head += 1;
  let tail = 0;
  while (tail < most - head && isSame(old.at(-1 - tail), sentences.at(-1 - tail))) tail += 1;
  const changed = old.slice(head, old.length - tail);
  const after = tail ? old[old.length - tail].gap : by("rest").firstChild;
  const middle = sentences.slice(head, sentences.length - tail).map((sentence) => {
    const row = changed.shift() ?? newRow(after);
    row.gap.data = sentence.gap;
    row.text = sentence.text;
    row.node.classList.add("is-pending");
    return row;
  });
  for (const { gap, node } of changed) {
    gap.remove();
    node.remove();
  }
  by("rest").firstChild.data = rest;
  state.rows = [...old.slice(0, head), ...middle, ...old.slice(old.length - tail)];
  state.next = 0;
  advance();
  state.first = state.next;
}

function newRow(after) {
  const gap = document.createTextNode("");
  const node = document.createElement("span");
  const parent = by("target");
  const place = after.parentNode === parent ? after : by("rest");
  parent.insertBefore(gap, place);
  parent.insertBefore(node, place);
  return { gap, node, text: "" };
}

function advance() {
  for (; state.next < state.rows.length; state.next += 1) {
    const { text, node } = state.rows[state.next];
    if (!node.classList.contains("is-pending")) continue;
    const translation = translations.get(text);
    if (translation === undefined) return;
    node.textContent = translation;
    node.classList.remove("is-pending");
  }
}

function work() {
  const left = state.rows.length - state.next;
  const isDone = left === 0;
  const all = state.rows.length - state.first;
  by("target").setAttribute("aria-busy", String(!isDone && !state.isStopped));
  by("copy").disabled = by("save").disabled = state.rows.length === 0 || !(isDone || state.isStopped);
  by("work").hidden = isDone || all <= FEW;
  by("progress").max = Math.max(all, 1);
  by("progress").value = all - left;
  by("count").textContent = `${all - left} of ${all} sentences`;
  by("stop").textContent = state.isStopped ? "Go on" : "Stop";
  if (!state.isReady) return;
  if (isDone) {
    const count = state.rows.length;
    say(count > FEW ? `${count} sentences are translated` : "");
  } else if (state.isStopped) {
    say(`Stopped after ${state.next} of ${state.rows.length} sentences`);
  } else {
    say("Translating …");
  }
  if (isDone || state.isStopped || state.isBusy) return;
  state.isBusy = true;
  state.worker.postMessage({ text: state.rows[state.next].text });
}

function translate() {
  clearTimeout(state.timer);
  state.isStopped = false;
  show(split(by("source").value));
  by("clear").disabled = by("source").value === "";
  work();
}

function remember(source, target) {
  if (translations.size >= REMEMBERED) translations.delete(translations.keys().next().value);
  translations.set(source, target);
}

function fail(message) {
  state.isReady = false;
  by("work").hidden = true;
  by("target").setAttribute("aria-busy", "false");
  say(message, true);
}

function hear({ data }) {
  if (data.ready) {
    state.isReady = true;
    say("");
  } else if (data.error) {
    const what = state.isReady ? "The engine has stopped" : "The model cannot be loaded: this file is damaged";
    fail(`${what} (${data.error})`);
    return;
  } else {
    state.isBusy = false;
    remember(data.source, data.target);
    advance();
  }
  work();
}

async function start() {
  if (!by("end")) return fail("This file is incomplete: copy or download it again");
  if (!window.WebAssembly || !Intl.Segmenter || !window.DecompressionStream) {
    return fail("This browser is too old for this page; one of 2024 or later is needed");
  }
  const files = {};
  for (const block of document.querySelectorAll("script[data-file]")) {
    files[block.dataset.file] = { text: block.textContent, length: Number(block.dataset.bytes) };
    block.remove();
  }
  const { script, ...packed } = files;
  const engine = new TextDecoder().decode(await unpacked(script));
  const parts = ["function startEngine(Module) {\n", engine, "\n}\n", facts.worker];
  state.worker = new Worker(URL.createObjectURL(new Blob(parts, { type: "text/javascript" })));
  state.worker.addEventListener("message", hear);
  state.worker.addEventListener("error", (event) => fail(`The engine cannot be started (${event.message ?? "no reason was given"})`));
  state.worker.postMessage({ files: packed, settings: facts.settings });
}

async function openFile(file) {
  if (file.size > MAX_BYTES) return say(`${file.name} has more than ${MAX_BYTES >> 20} MB`, true);
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const is16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
    const encoding = is16 ? (bytes[0] === 0xff ? "utf-16le" : "utf-16be") : "utf-8";
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    if (text.includes("\0")) throw new TypeError("no text");
    state.file = file.name;
    by("source").value = text;
    by("source").scrollTop = 0;
    translate();
  } catch {
    say(`${file.name} is not a text file in UTF-8`, true);
  }
}

async function copy() {
  const text = by("target").textContent;
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
  } catch {
    getSelection().selectAllChildren(by("target")); // so that one key copies it
    say(document.execCommand("copy") ? "Copied" : "Selected: copy it with the keyboard");
  }
}

function save() {
  const dot = state.file.lastIndexOf(".");
  const [stem, ending] = dot > 0 ? [state.file.slice(0, dot), state.file.slice(dot)] : [state.file, ".txt"];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([by("target").textContent], { type: "text/plain" }));
  link.download = `${stem || "translation"}.${facts.target}${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function stopOrGoOn() {
  state.isStopped = !state.isStopped;
  work();
}

function begin() {
  const [source, target] = [nameOf(facts.source, facts.names[0]), nameOf(facts.target, facts.names[1])];
  document.title = `${source} → ${target}`;
  document.querySelector("h1").textContent = document.title;
  document.querySelector("h1").setAttribute("aria-label", `${source} to ${target}`);
  by("source-name").textContent = source;
  by("target-name").textContent = target;
  by("source").lang = tagOf(facts.source);
  by("target").lang = tagOf(facts.target);
  const rest = document.createElement("span");
  rest.id = "rest";
  rest.append(document.createTextNode(""));
  by("target").append(rest);
  by("source").addEventListener("input", () => {
    by("target").setAttribute("aria-busy", "true");
    clearTimeout(state.timer);
    state.timer = setTimeout(translate, PAUSE);
  });
  by("source").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.next < state.rows.length && !state.isStopped) stopOrGoOn();
  });
  by("clear").addEventListener("click", () => {
    by("source").value = "";
    state.file = "";
    translate();
    by("source").focus();
  });
  by("copy").addEventListener("click", copy);
  by("save").addEventListener("click", save);
  by("stop").addEventListener("click", stopOrGoOn);
  by("open").addEventListener("click", () => by("file").click());
  by("file").addEventListener("change", () => {
    if (by("file").files[0]) openFile(by("file").files[0]);
    by("file").value = "";
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      by("source-pane").classList.toggle("is-over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
    });
  }
  document.addEventListener("DOMContentLoaded", () => {
    start().catch((error) => fail(`The model cannot be loaded: this file is damaged (${error.message})`));
    translate(); // what the browser has kept of a text
  });
}

begin();
