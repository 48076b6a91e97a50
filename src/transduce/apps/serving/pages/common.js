"use strict";

// What the pages of a server share.

const by = (id) => document.getElementById(id);

function element(tag, text, more = {}) {
  const made = Object.assign(document.createElement(tag), more);
  made.textContent = text;
  return made;
}

addEventListener("error", (event) => say(`This page has failed: ${event.message}`));
addEventListener("unhandledrejection", (event) => say(`This page has failed: ${event.reason}`));

// The BCP 47 tag of a language's code; "", an unknown language in HTML, for a code that no tag may look like.
function tagOf(code) {
  try {
    return Intl.getCanonicalLocales(code.replaceAll("_", "-"))[0];
  } catch {
    return "";
  }
}

// A language's words or sentences in a text, also of a language that the browser does not know.
function segmentsOf(text, code, granularity) {
  return [...new Intl.Segmenter(tagOf(code) || "und", { granularity }).segment(text)];
}

function nameOf(language) {
  try {
    const names = new Intl.DisplayNames([navigator.language || "en"], { type: "language", fallback: "none" });
    return names.of(tagOf(language.code)) ?? language.name;
  } catch {
    return language.name;
  }
}

function headers() {
  const key = by("key").value.trim();
  return key ? { Authorization: `Bearer ${key}` } : {};
}

async function checked(response) {
  if (!response.ok) {
    const told = await response.json().catch(() => ({}));
    throw Object.assign(new Error(told.error || `The server answered ${response.status}`), { status: response.status });
  }
  return response;
}

function send(method, path, body, signal) {
  const options = { method, signal, headers: { "Content-Type": "application/json", ...headers() } };
  if (body !== undefined) options.body = JSON.stringify(body);
  return fetch(path, options).then(checked);
}

function percent(share) {
  return share < 0.005 ? "< 1 %" : `${Math.round(100 * share)} %`;
}
