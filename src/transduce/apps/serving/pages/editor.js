"use strict";

const KEPT = "transduce.editor"; // what is typed is kept in the browser under this name, until it is removed
const PASTED = "transduce.editor:text"; // and what is not made into segments yet under this
const RIGHT_TO_LEFT = new Set("Adlm Arab Aran Armi Hebr Mand Mend Nkoo Rohg Samr Syrc Thaa Yezi".split(" ")); // scripts
const AHEAD = 10; // segments that are translated at once, before they are needed
const AHEAD_CHARACTERS = 3000; // and the most characters of these
const LONGEST_FILE = 2_000_000; // bytes
const MOST_WORDS = 24; // of a completion, so that each keystroke is soon answered
const QUIET = 700; // milliseconds without typing before a completion is read aloud
const RETRY = 5000; // milliseconds between attempts to send what was not sent
const SHOWN = 9;
const MOST_BEFORE = 8; // segments before one that are its context
const MOST_CONTEXT = 2000; // characters of them

// A segment: source, file (a document's name, "" for text), held (what its translation must contain as it is), target
// (typed), is "new", "draft", "confirmed" (not sent yet) or "sent" (the server has it as id).
const editor = { projects: [], project: null, segments: [], current: -1, completion: "", request: null, revision: 0 };
const asking = new Set();
const sending = { isBusy: false, wasBroken: false };

function say(text) {
  by("state").textContent = text;
}

function directionOf(language) {
  const tag = tagOf(language);
  const script = tag && new Intl.Locale(tag).maximize().script;
  return script ? (RIGHT_TO_LEFT.has(script) ? "rtl" : "ltr") : "auto"; // an unknown language's text decides
}

// What is kept in the browser: the sources once, and each segment by itself, so that a keystroke writes little.

function keep(name, value) {
  try {
    localStorage.setItem(`${KEPT}.${editor.project.name}${name}`, JSON.stringify(value));
  } catch {
    say("The browser has no room to keep this text; confirm segments, and remove others");
  }
}

function keepPasted(text) {
  try {
    localStorage.setItem(PASTED, text);
  } catch {
    say("The browser has no room to keep this text over a reload; make segments of a part");
  }
}

function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(`${KEPT}.${editor.project.name}${name}`));
  } catch {
    return null;
  }
}

function keepSegment(number) {
  const { target, machine, status, id } = editor.segments[number];
  keep(`.${number}`, { target, machine, status, id });
}

function keepSources() {
  const of = (name) => editor.segments.map((segment) => segment[name]);
  keep("", { sources: of("source"), files: of("file"), held: of("held"), current: editor.current });
}

// Documents are kept in the browser as they are, to be translated when they are downloaded.
function documents(mode, act) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(KEPT, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("documents");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const request = act(opening.result.transaction("documents", mode).objectStore("documents"));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
      opening.result.close();
    };
  });
}

function keyOf(name) {
  return `${editor.project.name}/${name}`;
}

function isRightToLeft() {
  return getComputedStyle(by("target")).direction === "rtl";
}

function newSegment(source, file = "", held = []) {
  return { source, file, held, target: "", machine: "", status: "new", id: null, facts: null, asked: -1 };
}

function openProject(project) {
  editor.project = project;
  localStorage.setItem(KEPT, project.name);
  const before = kept("");
  const sources = before?.sources || [];
  editor.segments = sources.map((source, n) => ({
    ...newSegment(source, before.files?.[n], before.held?.[n]),
    ...kept(`.${n}`),
  }));
  for (const [side, language] of [["source", project.source], ["target", project.target]]) {
    by(side).lang = tagOf(language);
    by(side).dir = directionOf(language);
  }
  by("behind").dir = by("target").dir;
  by("forward").textContent = isRightToLeft() ? "←" : "→";
  editor.current = -1;
  drawList();
  if (editor.segments.length) go(Math.min(Math.max(before.current, 0), editor.segments.length - 1));
  else by("work").hidden = by("beside").hidden = true;
  flush();
}

// The list of segments.

const marks = { new: "", draft: "…", confirmed: "↑", sent: "✓" };
const spoken = { new: "untouched", draft: "begun", confirmed: "confirmed, not sent yet", sent: "confirmed" };

function order() {
  const numbers = editor.segments.map((_, number) => number);
  const edit = (number) => editor.segments[number].facts?.quality?.edit ?? -1;
  return by("order").value === "quality" ? numbers.sort((a, b) => edit(b) - edit(a) || a - b) : numbers;
}

function drawList() {
  by("segments").replaceChildren(
    ...order().map((number) => {
      const item = document.createElement("li");
      const button = element("button", "", { type: "button", id: `segment-${number}` });
      button.append(element("span", ""), element("span", ""), element("span", ""));
      button.addEventListener("click", () => go(number));
      item.append(button);
      return item;
    }),
  );
  editor.segments.forEach((_, number) => drawRow(number));
  by("list").hidden = !editor.segments.length;
  by("empty").hidden = !by("list").hidden;
  by("downloads").replaceChildren(
    ...[...new Set(editor.segments.map(({ file }) => file))].map((name) => {
      const button = element("button", name ? `Download ${name}, translated` : "Download the translated text");
      button.addEventListener("click", () => (name ? downloadDocument(name) : downloadText()));
      return button;
    }),
  );
  drawProgress();
}

function drawRow(number) {
  const segment = editor.segments[number];
  const button = by(`segment-${number}`);
  const [mark, source, target] = button.children;
  mark.textContent = marks[segment.status];
  Object.assign(source, { textContent: segment.source, dir: directionOf(editor.project.source) });
  const text = segment.target || segment.facts?.translation || "";
  Object.assign(target, { textContent: text, dir: directionOf(editor.project.target) });
  target.className = segment.target ? "" : "draft";
  button.setAttribute("aria-current", String(number === editor.current));
  button.setAttribute("aria-label", `${number + 1}, ${spoken[segment.status]}: ${segment.source}`);
}

function drawProgress() {
  const done = editor.segments.filter(({ status }) => status === "sent" || status === "confirmed").length;
  by("progress").max = Math.max(editor.segments.length, 1);
  by("progress").value = done;
  by("count").textContent = `${done} of ${editor.segments.length}`;
  by("clear").disabled = !editor.segments.length;
}

function go(number) {
  if (!(number in editor.segments)) return;
  const before = editor.current;
  editor.current = number;
  if (before in editor.segments && before !== number) drawRow(before);
  const segment = editor.segments[number];
  by("work").hidden = by("beside").hidden = false;
  by("source").textContent = segment.source;
  by("target").value = segment.target;
  drawRow(number);
  by(`segment-${number}`).scrollIntoView({ block: "nearest" });
  by("target").focus();
  by("target").setSelectionRange(segment.target.length, segment.target.length);
  keepSources();
  show("");
  drawBeside();
  learn(number);
  complete();
}

function step(offset) {
  const numbers = order();
  go(numbers[numbers.indexOf(editor.current) + offset]);
}

// What the project knows of a segment: translation, matches, terms, alternatives, quality.

async function learn(number) {
  const numbers = order();
  const from = numbers.indexOf(number);
  const isNeeded = (n) => editor.segments[n].asked !== editor.revision && editor.segments[n].status === "new";
  const isFirst = editor.segments[number].asked < 0;
  let characters = 0;
  const isShort = (n) => (characters += editor.segments[n].source.length) <= AHEAD_CHARACTERS;
  const ahead = numbers.slice(from + 1, from + AHEAD).filter(isNeeded).filter(isShort);
  const wanted = [number, ...ahead].filter((n) => !asking.has(n));
  if (!wanted.includes(number) || !(isFirst || isNeeded(number))) return;
  const { project, revision } = editor;
  wanted.forEach((n) => asking.add(n));
  try {
    for (const part of [wanted.slice(0, 1), wanted.slice(1)].filter((part) => part.length)) {
      const body = { text: part.map((n) => editor.segments[n].source), before: part.map(sourcesBefore), repair: true };
      const answer = await (await send("POST", `${path(project)}/translate`, body)).json();
      if (editor.project !== project) return;
      part.forEach((n, index) => {
        const segment = editor.segments[n];
        if (!segment || segment.source !== body.text[index]) return;
        segment.facts = answer.segments[index];
        segment.asked = revision;
        if (!segment.target) segment.machine = segment.facts.translation;
        drawRow(n);
      });
      if (part.includes(editor.current)) {
        drawBeside();
        complete();
      }
    }
    if (by("order").value === "quality") drawList();
  } catch (error) {
    say(error.message);
  } finally {
    wanted.forEach((n) => asking.delete(n));
  }
}

// The sources before a segment in its document, the nearest last.
function sourcesBefore(number) {
  const { file } = editor.segments[number];
  const nearest = editor.segments.slice(Math.max(number - MOST_BEFORE, 0), number);
  return nearest.filter((segment) => segment.file === file).map(({ source }) => source);
}

function path(project) {
  return `v1/projects/${encodeURIComponent(project.name)}`;
}

function suggestions() {
  const facts = editor.segments[editor.current]?.facts;
  if (!facts) return [];
  const similar = facts.matches.map((match) => ({
    text: match.target,
    note: match.similarity === 1 ? "memory" : `memory, ${Math.floor(100 * match.similarity)} %: ${match.source}`,
  }));
  if (facts.repaired) similar.splice(1, 0, { text: facts.repaired, note: "begun as in the memory" });
  const others = [facts.translation, ...facts.alternatives].map((text) => ({ text, note: "" }));
  const seen = new Set();
  return [...similar, ...others].filter(({ text }) => text && !seen.has(text) && seen.add(text)).slice(0, SHOWN);
}

function drawBeside() {
  const segment = editor.segments[editor.current];
  const quality = segment?.facts?.quality;
  by("quality").textContent = quality
    ? `Editing: about ${percent(quality.edit)} of the words (${percent(quality.low)} to ${percent(quality.high)})`
    : "";
  by("quality").hidden = !quality;
  by("suggestions").replaceChildren(
    ...suggestions().map(({ text, note }, index) => {
      const item = document.createElement("li");
      const button = element("button", "", { type: "button" });
      button.append(element("kbd", String(index + 1)), element("span", text, { dir: by("target").dir }));
      if (note) button.append(document.createElement("br"), element("small", note));
      button.addEventListener("click", () => take(index));
      item.append(button);
      return item;
    }),
  );
  by("suggestions-title").hidden = !by("suggestions").children.length;
  drawTerms();
}

// Terms are looked for in what is typed; that the machine's text met one in another form, the server says.
function drawTerms() {
  const segment = editor.segments[editor.current];
  const text = by("target").value;
  const typed = text.toLocaleLowerCase();
  const terms = segment?.facts?.terms || [];
  const missing = segment ? missingIn(segment, text) : [];
  by("terms").replaceChildren(
    ...missing.map((held) => {
      const item = element("li", "✗ ");
      item.append(element("bdi", held, { className: "missing" }), " ");
      item.append(element("small", "not met: the translation must contain it as the source does"));
      return item;
    }),
    ...terms.map((term) => {
      const isBanned = term.why === "banned" || term.why === "avoided";
      const isMachine = text === segment.facts.translation;
      const isMet = isMachine ? term.met : typed.includes(term.target.toLocaleLowerCase()) !== isBanned;
      const absent = isMachine ? "the machine's translation does not contain it" : "what is typed does not contain it";
      const unmet = `not met: ${isMachine && term.why !== "missing" ? term.why : absent}`;
      const item = element("li", `${isMet ? "✓" : "✗"} ${term.source ? `${term.source} → ` : ""}`);
      item.append(element("bdi", term.target, { className: isMet ? "" : "missing" }), " ");
      item.append(element("small", isBanned ? (isMet ? "avoided" : "not met: it is to be avoided") : isMet ? "met" : unmet));
      return item;
    }),
  );
  by("terms-title").hidden = !terms.length && !missing.length;
}

// What the document needs in a translation as often as in the source, such as placeholders, and a text has not.
function missingIn({ held, source }, text) {
  const count = (whole, part) => whole.split(part).length;
  return [...new Set(held)].filter((part) => count(text, part) !== count(source, part));
}

// Typing, with the completion in grey behind it.

function typed() {
  const segment = editor.segments[editor.current];
  const before = segment.target;
  segment.target = by("target").value;
  if (segment.target !== before) segment.status = segment.target ? "draft" : "new";
  keepSegment(editor.current);
  drawRow(editor.current);
  drawProgress();
  drawTerms();
  complete(before);
}

let reading = 0;

function show(completion) {
  editor.completion = completion;
  const grey = element("span", completion);
  by("behind").replaceChildren(by("target").value, grey, "\u200b");
  by("word").disabled = by("all").disabled = !completion;
  clearTimeout(reading);
  by("heard").textContent = "";
  if (completion) reading = setTimeout(() => (by("heard").textContent = `Suggested: ${completion}`), QUIET);
}

function isAtEnd() {
  const target = by("target");
  return target.selectionStart === target.value.length && target.selectionEnd === target.value.length;
}

// A keystroke that agrees with the completion shortens it; any other asks the server, and drops what was asked before.
async function complete(before = null) {
  const segment = editor.segments[editor.current];
  const text = by("target").value;
  const whole = before === null ? "" : before + editor.completion;
  const machine = segment.facts?.translation || "";
  editor.request?.abort();
  editor.request = null;
  if (!isAtEnd() || segment.status === "sent" || segment.status === "confirmed") return show("");
  if (editor.completion && text.length > before?.length && whole.startsWith(text)) return show(whole.slice(text.length));
  if (machine.startsWith(text)) return show(machine.slice(text.length));
  show("");
  if (!text.trim()) return; // the translation is on its way
  const request = new AbortController();
  editor.request = request;
  const { source, target, name } = editor.project;
  const context = sourcesBefore(editor.current).join("\n").slice(-MOST_CONTEXT);
  const how = { prefix: text, typed: true, most_words: MOST_WORDS, context };
  const body = { text: segment.source, source, target, project: name, ...how };
  try {
    const { completion } = await (await send("POST", "v1/translate", body, request.signal)).json();
    if (editor.request === request && by("target").value === text && isAtEnd()) show(completion);
  } catch (error) {
    if (error.name !== "AbortError" && error.status !== 409) say(error.message);
  }
}

function firstWord(text) {
  const start = text.length - text.trimStart().length;
  const rest = text.slice(start);
  for (const part of segmentsOf(rest, editor.project.target, "word")) {
    if (!part.isWordLike) continue;
    const end = start + part.index + part.segment.length;
    const marks = text.slice(end).match(/^[^\s\p{L}\p{N}]+(?=\s|$)/u)?.[0] || ""; // what closes the word
    return text.slice(0, end) + marks;
  }
  return text;
}

function accept(text) {
  if (!text) return;
  const target = by("target");
  const rest = editor.completion.slice(text.length);
  write(target.value + text);
  show(rest);
  target.focus();
}

function write(text) {
  const target = by("target");
  target.value = text;
  target.setSelectionRange(text.length, text.length);
  typed();
}

function take(index) {
  const chosen = suggestions()[index];
  if (!chosen) return;
  write(chosen.text);
  by("target").focus();
}

// Confirming: kept first, then sent; what cannot be sent is sent again.

function confirmSegment() {
  const segment = editor.segments[editor.current];
  segment.target = by("target").value;
  if (!segment.target.trim()) return say("There is no translation to confirm yet: type one, or take a suggestion");
  const missing = missingIn(segment, segment.target);
  if (missing.length) return say(`Not confirmed: the translation must contain ${missing.join(", ")} as the source does`);
  if (segment.status !== "sent") segment.status = "confirmed";
  editor.request?.abort();
  keepSegment(editor.current);
  drawRow(editor.current);
  drawProgress();
  flush();
  const numbers = order();
  const from = numbers.indexOf(editor.current);
  const isOpen = (n) => ["new", "draft"].includes(editor.segments[n].status);
  const next = numbers.slice(from + 1).find(isOpen) ?? numbers.slice(0, from).find(isOpen);
  if (next !== undefined) return go(next);
  show("");
  say("All segments are confirmed");
}

async function flush() {
  if (sending.isBusy || !editor.project) return;
  sending.isBusy = true;
  const { project, segments } = editor;
  try {
    for (let number = 0; number < segments.length; number++) {
      const segment = segments[number];
      if (segment.status !== "confirmed") continue;
      const { source, machine, target } = segment;
      const told = { source, machine, target, before: sourcesBefore(number).at(-1) || "" };
      const known = sending.wasBroken ? await sent(project, source, target) : null;
      if (segment.id !== null && segment.id !== known) {
        await send("DELETE", `${path(project)}/segments/${segment.id}`).catch((error) => {
          if (error.status !== 404) throw error;
        });
        segment.id = null;
      }
      const id = known ?? (await (await send("POST", `${path(project)}/segments`, told)).json()).id;
      editor.revision += 1;
      segment.id = id;
      if (segment.status === "confirmed" && segment.target === target) segment.status = "sent";
      if (editor.project !== project) return;
      keepSegment(number);
      drawRow(number);
    }
    if (sending.wasBroken) say("All that was confirmed has been sent");
    sending.wasBroken = false;
  } catch (error) {
    sending.wasBroken = true;
    const count = segments.filter(({ status }) => status === "confirmed").length;
    say(`${count} confirmed, not sent yet (${error.message}); kept here, and sent again`);
  } finally {
    sending.isBusy = false;
  }
  if (editor.project !== project || (!sending.wasBroken && segments.some(({ status }) => status === "confirmed"))) flush();
}

// The id of a segment that the server got though its answer was lost; null if it did not.
async function sent(project, source, target) {
  for (let after = 0; ; ) {
    const { segments } = await (await send("GET", `${path(project)}/segments?after=${after}`)).json();
    const same = segments.find((segment) => segment.source === source && segment.target === target);
    if (same || !segments.length) return same?.id ?? null;
    after = segments[segments.length - 1].id;
  }
}

// Text to segments.

function sentencesOf(text) {
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/);
  return lines.flatMap((line) => segmentsOf(line, editor.project.source, "sentence").map(({ segment }) => segment.trim()));
}

function add(text) {
  const sources = editor.project ? sentencesOf(text).filter(Boolean) : [];
  if (!sources.length) {
    say(editor.project ? "There is no text" : "Make a project first");
    return false;
  }
  addSegments(sources.map((source) => newSegment(source)));
  return true;
}

function addSegments(segments) {
  const first = editor.segments.length;
  editor.segments.push(...segments);
  keepSources();
  drawList();
  say(`${segments.length} segments were added`);
  go(first);
}

async function addFile(file) {
  try {
    if (!file.name.toLowerCase().endsWith(".txt")) return await addDocument(file);
    if (file.size > LONGEST_FILE) throw new Error(`${file.name} is larger than 2 MB; divide it`);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    if (text.includes("\0")) throw new TypeError("binary");
    add(text);
  } catch (error) {
    say(error instanceof TypeError ? `${file.name} is no text in UTF-8; save it as one first` : error.message);
  } finally {
    by("file").value = "";
  }
}

async function upload(path, file) {
  const form = new FormData();
  const { source, target, name } = editor.project;
  for (const [key, value] of Object.entries({ file, source, target, project: name })) form.append(key, value);
  const answer = await fetch(path, { method: "POST", body: form, headers: headers() }).then(checked);
  return answer.json();
}

async function addDocument(file) {
  if (!editor.project) return say("Make a project first");
  if (editor.segments.some((segment) => segment.file === file.name))
    return say(`${file.name} has its segments here already; remove all segments to begin anew`);
  say(`Reading ${file.name} …`);
  const { segments } = await upload("v1/segments", file);
  if (!segments.length) return say(`${file.name} has no text that needs a translation`);
  await documents("readwrite", (store) => store.put(file, keyOf(file.name)));
  addSegments(segments.map(({ source, held }) => newSegment(source, file.name, held)));
}

async function downloadDocument(name) {
  try {
    await flush();
    while (sending.isBusy) await new Promise((resolve) => setTimeout(resolve, 50));
    const segments = editor.segments.filter((segment) => segment.file === name);
    const left = segments.filter(({ status }) => status !== "sent").length;
    if (segments.some(({ status }) => status === "confirmed")) throw new Error("What was confirmed is not sent yet");
    const file = await documents("readonly", (store) => store.get(keyOf(name)));
    if (!file) throw new Error(`The browser has not kept ${name}; remove all segments, and add it again`);
    say(`Translating ${name} …`);
    const { translatedFileUrl } = await upload("translate_file", file);
    const url = new URL(translatedFileUrl).pathname;
    element("a", "", { href: url, download: "" }).click();
    const confirmed = `${segments.length - left} of ${segments.length} segments as confirmed`;
    say(`${name}: ${confirmed}${left ? ", the others by the machine" : ""}`);
  } catch (error) {
    say(error.message);
  }
}

function downloadText() {
  const texts = editor.segments.filter(({ file }) => !file);
  const text = texts.map(({ source, target }) => target || source).join("\n");
  const url = URL.createObjectURL(new Blob([`${text}\n`], { type: "text/plain" }));
  element("a", "", { href: url, download: `${editor.project.name}.${editor.project.target}.txt` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}

function clear() {
  const open_ = editor.segments.filter(({ status }) => status !== "sent").length;
  if (open_ && !window.confirm(`${open_} segments are not with the server. Remove all?`)) return;
  editor.segments.forEach((_, number) => localStorage.removeItem(`${KEPT}.${editor.project.name}.${number}`));
  const names = new Set(editor.segments.map(({ file }) => file));
  for (const name of names) if (name) documents("readwrite", (store) => store.delete(keyOf(name)));
  editor.segments = [];
  editor.current = -1;
  keepSources();
  openProject(editor.project);
}

// Keys.

function press(event) {
  if (event.isComposing) return;
  const forward = isRightToLeft() ? "ArrowLeft" : "ArrowRight";
  const digit = event.code.match(/^(?:Digit|Numpad)([1-9])$/)?.[1];
  const { key, altKey, shiftKey, ctrlKey, metaKey } = event;
  const isPlain = !altKey && !ctrlKey && !metaKey && !shiftKey;
  const { length } = by("target").value;
  if (altKey && digit && !ctrlKey) take(Number(digit) - 1);
  else if (key === "ArrowUp" && (altKey || (isPlain && by("target").selectionEnd === 0))) step(-1);
  else if (key === "ArrowDown" && (altKey || (isPlain && by("target").selectionStart === length))) step(1);
  else if (key === "Enter" && isPlain) confirmSegment();
  else if (isPlain && key === "Tab" && editor.completion) accept(editor.completion);
  else if (isPlain && key === forward && editor.completion && isAtEnd()) accept(firstWord(editor.completion));
  else if (isPlain && key === "Escape" && editor.completion) show("");
  else return;
  event.preventDefault();
}

async function listProjects() {
  const { projects } = await (await send("GET", "v1/projects")).json();
  editor.projects = projects;
  by("project").replaceChildren(...projects.map(({ name }) => element("option", name, { value: name })));
  by("project").disabled = !projects.length;
}

async function makeProject(event) {
  event.preventDefault();
  const name = by("name").value;
  try {
    await send("PUT", `v1/projects/${encodeURIComponent(name)}`, { source: by("from").value, target: by("to").value });
    await listProjects();
    choose(name);
    by("name").value = "";
    event.target.closest("details").open = false;
    by("text").focus();
    say("");
  } catch (error) {
    say(error.message);
  }
}

function choose(name) {
  const project = editor.projects.find((one) => one.name === name) || editor.projects[0];
  by("add").disabled = by("file").disabled = !project;
  by("step-project").hidden = Boolean(project);
  if (!project) return say("There is no project yet: make one below");
  by("project").value = project.name;
  openProject(project);
}

async function begin() {
  const settings = await (await fetch("frontend/settings").then(checked)).json();
  by("key-part").hidden = !settings.keyRequired;
  by("file").accept = settings.supportedFilesFormat.join(",");
  by("formats").textContent = settings.supportedFilesFormat.join(" ");
  const languages = await (await fetch("languages").then(checked)).json();
  const option = (language) => element("option", nameOf(language), { value: language.code });
  const fillTargets = () => {
    const targets = languages.find(({ code }) => code === by("from").value)?.targets || [];
    by("to").replaceChildren(...languages.filter(({ code }) => targets.includes(code)).map(option));
  };
  by("from").replaceChildren(...languages.filter(({ targets }) => targets.length).map(option));
  fillTargets();
  by("from").addEventListener("change", fillTargets);
  by("new").addEventListener("submit", makeProject);
  by("key-form").addEventListener("submit", (event) => event.preventDefault());
  by("key").addEventListener("change", () => start().catch((error) => say(error.message)));
  by("project").addEventListener("change", () => choose(by("project").value));
  by("order").addEventListener("change", drawList);
  by("target").addEventListener("input", typed);
  by("target").addEventListener("keydown", press);
  const actions = { word: () => accept(firstWord(editor.completion)), all: () => accept(editor.completion), confirm: confirmSegment };
  for (const [id, act] of Object.entries({ ...actions, previous: () => step(-1), next: () => step(1) })) {
    by(id).addEventListener("pointerdown", (event) => event.preventDefault()); // the keyboard of a tablet stays
    by(id).addEventListener("click", act);
  }
  by("text").value = localStorage.getItem(PASTED) || "";
  by("text").addEventListener("input", () => keepPasted(by("text").value));
  by("add").addEventListener("click", () => {
    if (!add(by("text").value)) return;
    by("text").value = "";
    keepPasted("");
  });
  by("file").addEventListener("change", (event) => event.target.files[0] && addFile(event.target.files[0]));
  for (const kind of ["dragover", "dragleave", "drop"]) {
    by("drop").addEventListener(kind, (event) => {
      event.preventDefault();
      by("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files[0]) addFile(event.dataTransfer.files[0]);
    });
  }
  by("clear").addEventListener("click", clear);
  window.addEventListener("online", flush);
  setInterval(() => sending.wasBroken && flush(), RETRY);
  await start();
}

async function start() {
  await listProjects();
  say("");
  choose(localStorage.getItem(KEPT));
}

begin().catch((error) => say(error.message));
