"use strict";

// What the pages of a server share.

const by = (id) => document.getElementById(id);

function element(tag, text, more = {}) {
  const made = Object.assign(document.createElement(tag), more);
  made.textContent = text;
  return made;
}

function nameOf(language) {
  try {
    return new Intl.DisplayNames([navigator.language || "en"], { type: "language" }).of(language.code);
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
