// @ts-check
// What all pages use: elements, numbers, tokens, colours and movement by arrow keys.

/** @typedef {"ltr" | "rtl"} Direction */
/** @typedef {{text: string, direction: Direction}} Label */
/** @typedef {Record<string, string | number | boolean | null>} Attributes */

/**
 * An element with attributes and children; strings become text and are never read as HTML.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Attributes} [attributes] @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
function element(tag, attributes = {}, ...children) {
  const created = document.createElement(tag);
  setAttributes(created, attributes);
  created.append(...children);
  return created;
}

/**
 * An element of an SVG drawing.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag @param {Attributes} [attributes] @param {...(Node | string)} children
 * @returns {SVGElementTagNameMap[T]}
 */
function drawing(tag, attributes = {}, ...children) {
  const created = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(created, attributes);
  created.append(...children);
  return created;
}

/** @param {Element} target @param {Attributes} attributes */
function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) target.setAttribute(name, String(value));
  }
}

/** The facts that the page was made with. @returns {any} */
function readFacts() {
  return JSON.parse(document.getElementById("facts")?.textContent ?? "{}");
}

/** @param {string} id @param {string} heading @param {string} explanation @param {...Node} content */
function section(id, heading, explanation, ...content) {
  const title = element("h2", { id: `${id}-heading` }, heading);
  const sentence = element("p", { class: "explanation" }, explanation);
  return element("section", { id, "aria-labelledby": `${id}-heading` }, title, sentence, ...content);
}

/** A figure and the panel that says what is chosen in it. @param {HTMLElement} figure @param {HTMLElement} panel */
function besidePanel(figure, panel) {
  const both = element("div", { class: "beside" }, figure, panel);
  for (const event of ["click", "keydown"]) figure.addEventListener(event, () => both.classList.add("is-used"));
  return both;
}

/** Fill the page. @param {string} kind @param {string} heading @param {HTMLElement[]} sections */
function fillPage(kind, heading, sections) {
  const links = sections.map((one) => {
    const name = one.querySelector("h2")?.textContent ?? "";
    return element("li", {}, element("a", { href: `#${one.id}` }, name));
  });
  const navigation = element("nav", { "aria-label": "Sections" }, element("ul", {}, ...links));
  const header = element("header", {}, element("p", {}, kind), element("h1", { dir: "auto" }, heading), navigation);
  const note = "Made by Transduce. The page holds all it shows and loads nothing.";
  const page = /** @type {HTMLElement} */ (document.getElementById("page"));
  page.append(header, element("main", {}, ...sections), element("footer", {}, note));
}

/** A number with a fixed count of decimals, or a dash. @param {number | null | undefined} value @param {number} digits */
function fixed(value, digits) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−");
}

/** A number above 0 with at least two digits that count. @param {number} value */
function twoDigits(value) {
  return fixed(value, Math.max(1, 1 - Math.floor(Math.log10(value))));
}

/** A probability; small ones keep two digits that count. @param {number | null | undefined} value */
function probability(value) {
  if (value === null || value === undefined || value === 0 || value >= 0.0095) return fixed(value, 2);
  return value < 0.0001 ? "< 0.0001" : value.toPrecision(2);
}

/**
 * What is shown of a token: the marks that stand for spaces and line ends in vocabularies become visible signs.
 * @param {string} token
 */
function tokenText(token) {
  if (token === "") return "∅";
  return token.replace(/[▁Ġ ]/g, "␣").replace(/[\nĊ]/g, "↵").replace(/\t/g, "⇥");
}

/** A token whose signs for spaces are faint. @param {string} token @param {Direction} [direction] */
function tokenElement(token, direction = "ltr") {
  const parts = tokenText(token).split(/([␣↵⇥]+)/).filter((part) => part !== "");
  const nodes = parts.map((part) => (/^[␣↵⇥]/.test(part) ? element("span", { class: "mark" }, part) : part));
  return element("bdi", { dir: direction }, ...nodes);
}

/** Text in quotation marks, for sentences; from right to left, it leaves the rest of the sentence in order.
 * @param {string} text */
function quoted(text) {
  return element("bdi", {}, `“${text}”`);
}

/** Which tokens are followed by a space, so that pieces of one word stand together. @param {string[]} tokens @returns {boolean[]} */
function wordEnds(tokens) {
  const isMarked = tokens.some((token) => /^[▁Ġ]/.test(token));
  const beginsWord = (/** @type {string | undefined} */ token) => {
    if (token === undefined || /^<[^>]+>$/.test(token)) return true;
    return isMarked ? /^[▁Ġ]/.test(token) : !token.startsWith("##");
  };
  return tokens.map((_, index) => beginsWord(tokens[index + 1]));
}

/** @typedef {(share: number) => [number, number, number]} Colours */

/**
 * A scale of colours between the stops of a variable in page.css.
 * @param {"sequential" | "diverging"} name
 * @returns {Colours}
 */
function colourScale(name) {
  const value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
  const stops = value.split(",").map((stop) => {
    const digits = parseInt(stop.trim().slice(1), 16);
    return [(digits >> 16) & 255, (digits >> 8) & 255, digits & 255];
  });
  return (share) => {
    const position = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const index = Math.min(Math.floor(position), stops.length - 2);
    const mix = (/** @type {number} */ part) => {
      return Math.round(stops[index][part] + (stops[index + 1][part] - stops[index][part]) * (position - index));
    };
    return [mix(0), mix(1), mix(2)];
  };
}

/** Call when the reader changes between light and dark. @param {() => void} redraw */
function onThemeChange(redraw) {
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

/** @param {"doubt" | "sequential" | "diverging"} scale @param {string} low @param {string} high */
function colourLegend(scale, low, high) {
  const colours = element("span", { class: `colours ${scale}`, "aria-hidden": "true" });
  return element("p", { class: "legend" }, element("span", {}, low), colours, element("span", {}, high));
}

/**
 * Let arrow keys move among elements of which only one is a stop of the Tab key.
 * @param {HTMLElement[]} elements @param {Direction} [direction]
 */
function moveByArrows(elements, direction = "ltr") {
  const [back, onwards] = direction === "rtl" ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
  elements.forEach((one, index) => {
    one.tabIndex = index === 0 ? 0 : -1;
    one.addEventListener("focus", () => elements.forEach((other) => (other.tabIndex = other === one ? 0 : -1)));
    one.addEventListener("keydown", (event) => {
      /** @type {Record<string, number>} */
      const moves = { [back]: index - 1, [onwards]: index + 1, Home: 0, End: elements.length - 1 };
      if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      elements[moves[event.key]]?.focus();
    });
  });
}

/** @param {string} text @param {boolean} checked @param {(checked: boolean) => void} changed */
function switchFor(text, checked, changed) {
  const input = element("input", { type: "checkbox", checked });
  input.addEventListener("change", () => changed(input.checked));
  return element("label", { class: "switch" }, input, text);
}

/**
 * Radio buttons in one row.
 * @param {string} name @param {[string, string][]} choices @param {string} chosen @param {(value: string) => void} changed
 */
function choiceOf(name, choices, chosen, changed) {
  const labels = choices.map(([value, text]) => {
    const input = element("input", { type: "radio", name, value, checked: value === chosen });
    input.addEventListener("change", () => changed(value));
    return element("label", { class: "choice" }, input, element("span", {}, text));
  });
  return element("fieldset", {}, element("legend", { class: "hidden" }, name), ...labels);
}
