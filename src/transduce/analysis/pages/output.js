// @ts-check
// The sentences: the output's tokens with their probabilities, and the alignment of words.

/** @typedef {{text: string, tokens: string[], direction: Direction}} Sentence */
/** @typedef {{token: string, probability: number | null}} Alternative */
/** @typedef {{token: string, probability: number | null, rank: number, alternatives: Alternative[]}} Confidence */
/** @typedef {{layer: number, head: number, shift: number, source_words: string[], target_words: string[],
 *   links: [number, number][]}} Alignment */

/** @param {LookFacts} facts */
function outputSection(facts) {
  const panel = element("div", { class: "panel", "aria-live": "polite" });
  const blocks = element("div", {});
  if (facts.source) blocks.append(sourceBlock(facts.source));
  const hasTarget = facts.target.tokens.length > 0;
  if (hasTarget) blocks.append(targetBlock(facts, panel));
  const explanation = facts.confidence.length
    ? "Each token of the output is tinted by the probability that the model gave it; the bar under it is as long as the probability."
    : "The tokens that the model read" + (hasTarget ? ", and the number that it gave the text." : ".");
  const content = facts.confidence.length ? besidePanel(blocks, panel) : blocks;
  const title = facts.source ? (hasTarget ? "Sentence and output" : "Sentence") : "Output";
  const result = section("output", title, explanation, content);
  if (facts.source && facts.alignment && facts.alignment.links.length) {
    result.append(...alignmentFigure(facts.alignment, facts.source.direction, facts.target.direction));
  }
  return result;
}

/** @param {Sentence} source */
function sourceBlock(source) {
  const ends = wordEnds(source.tokens);
  const tokens = source.tokens.map((token, index) => {
    return element("span", { class: ends[index] ? "token ends-word" : "token" }, tokenElement(token, source.direction));
  });
  return element(
    "div",
    { class: "block" },
    element("p", { class: "label" }, "Source, and its tokens as the model reads them"),
    element("p", { class: "sentence", dir: source.direction }, source.text),
    element("p", { class: "tokens read", dir: source.direction }, ...tokens),
  );
}

/** @param {LookFacts} facts @param {HTMLElement} panel */
function targetBlock(facts, panel) {
  const { target, confidence } = facts;
  const ends = wordEnds(target.tokens);
  const tokens = confidence.map((entry, index) => {
    const name = `${tokenText(target.tokens[index])}, probability ${probability(entry.probability)}`;
    const attributes = { type: "button", class: ends[index] ? "token ends-word" : "token", "aria-label": name };
    const token = element("button", attributes, tokenElement(target.tokens[index], target.direction));
    token.style.setProperty("--sure", String(entry.probability ?? 0));
    const choose = () => {
      tokens.forEach((other) => other.setAttribute("aria-pressed", String(other === token)));
      panel.replaceChildren(...confidenceDetails(entry, target.direction));
    };
    for (const event of ["pointerenter", "focus", "click"]) token.addEventListener(event, choose);
    return token;
  });
  moveByArrows(tokens, target.direction);
  tokens[leastSure(confidence)]?.dispatchEvent(new Event("focus"));
  const label = element("p", { class: "label" }, facts.source ? "Output" : "Text");
  const text = element("p", { class: "sentence", dir: target.direction }, ...askedWords(target.text));
  if (!tokens.length) return element("div", { class: "block" }, label, text);
  return element(
    "div",
    { class: "block" },
    label,
    text,
    element("div", { class: "tokens written", dir: target.direction, role: "group", "aria-label": "Output tokens" }, ...tokens),
    colourLegend("doubt", "probability 0", "1"),
  );
}

/** A text; on a server, its words are links to why they were written. @param {string} text */
function askedWords(text) {
  if (!/\/v1\/projects\/[^/]+\/look\/\d+$/.test(location.pathname)) return [text];
  return text.split(/(\s+)/).map((part) => {
    const query = new URLSearchParams(location.search);
    query.set("why", part);
    return part.trim() ? element("a", { href: `?${query}`, title: "Why this word?" }, part) : part;
  });
}

/** The token that a reader wants to see first. @param {Confidence[]} confidence */
function leastSure(confidence) {
  const values = confidence.map((entry) => entry.probability ?? 0);
  return values.indexOf(Math.min(...values));
}

/** @param {Confidence} entry @param {Direction} direction @returns {HTMLElement[]} */
function confidenceDetails(entry, direction) {
  const others = entry.alternatives.filter((alternative) => alternative.token !== entry.token);
  const all = [...others, entry].sort((one, other) => (other.probability ?? 0) - (one.probability ?? 0));
  const runners = all.map((alternative) => {
    const bar = element("i", {});
    bar.style.width = `${100 * (alternative.probability ?? 0)}%`;
    return element(
      "li",
      { class: alternative === entry ? "is-chosen" : null },
      tokenElement(alternative.token, direction),
      element("span", { class: "bar", "aria-hidden": "true" }, bar),
      element("span", {}, probability(alternative.probability)),
    );
  });
  const list = element("dl", {}, ...pairs([["Probability", probability(entry.probability)], ["Rank", String(entry.rank)]]));
  const title = element("h3", {}, tokenElement(entry.token, direction));
  if (runners.length < 2) return [title, list];
  return [title, list, element("h4", {}, "Beside its runners-up"), element("ul", { class: "runners" }, ...runners)];
}

/** @param {[string, string][]} entries */
function pairs(entries) {
  return entries.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
}

/** @param {Alignment} alignment @param {Direction} sourceDirection @param {Direction} targetDirection */
function alignmentFigure(alignment, sourceDirection, targetDirection) {
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  readout.append(element("span", { class: "hint" }, "Hover, tap or move to a word to see what it is aligned with."));
  const lines = drawing("svg", { "aria-hidden": "true" });
  const figure = element("div", { class: "alignment" }, lines);
  const paths = alignment.links.map(() => drawing("path"));
  lines.append(...paths);

  /** @param {string[]} names @param {0 | 1} side @param {Direction} direction */
  const row = (names, side, direction) => {
    const words = names.map((name, index) => {
      const word = element("button", { type: "button", class: "word" }, element("bdi", { dir: direction }, name));
      for (const event of ["pointerenter", "focus", "click"]) word.addEventListener(event, () => choose(side, index));
      word.addEventListener("keydown", (pressed) => {
        if (pressed.key !== (side === 0 ? "ArrowDown" : "ArrowUp")) return;
        pressed.preventDefault();
        const link = alignment.links.find((pair) => pair[side] === index);
        rows[1 - side][link ? link[1 - side] : Math.min(index, rows[1 - side].length - 1)]?.focus();
      });
      return word;
    });
    moveByArrows(words, direction);
    const label = side === 0 ? "Source words" : "Output words";
    figure.append(element("div", { class: "words", dir: direction, role: "group", "aria-label": label }, ...words));
    return words;
  };
  const rows = [
    row(alignment.source_words, 0, sourceDirection),
    row(alignment.target_words, 1, targetDirection),
  ];

  /** @param {0 | 1} side @param {number} index */
  const choose = (side, index) => {
    const linked = new Set(alignment.links.filter((pair) => pair[side] === index).map((pair) => pair[1 - side]));
    rows[side].forEach((word, place) => (word.className = place === index ? "word is-chosen" : "word"));
    rows[1 - side].forEach((word, place) => (word.className = linked.has(place) ? "word is-linked" : "word"));
    paths.forEach((path, place) => path.classList.toggle("is-linked", alignment.links[place][side] === index));
    figure.classList.add("has-choice");
    const names = [alignment.source_words, alignment.target_words];
    const found = [...linked].sort((one, other) => one - other).map((place) => quoted(names[1 - side][place]));
    const counterpart = found.flatMap((word, place) => (place ? [", ", word] : [" ", word]));
    readout.replaceChildren(
      element("b", {}, quoted(names[side][index])),
      " is aligned with",
      ...(found.length ? counterpart : [" no word"]),
      ".",
    );
  };
  const place = () => {
    alignment.links.forEach(([source, target], index) => {
      const [above, below] = [rows[0][source], rows[1][target]];
      if (!above || !below) return;
      const [x, y] = [above.offsetLeft + above.offsetWidth / 2, above.offsetTop + above.offsetHeight];
      const [u, v] = [below.offsetLeft + below.offsetWidth / 2, below.offsetTop];
      const middle = (y + v) / 2;
      paths[index].setAttribute("d", `M${x},${y} C${x},${middle} ${u},${middle} ${u},${v}`);
    });
  };
  new ResizeObserver(place).observe(figure);
  const step = alignment.shift ? "the step that reads the word" : "the step that writes the word";
  const explanation = `Which words belong together, read from the attention of layer ${alignment.layer + 1}, head ${alignment.head + 1}, at ${step}.`;
  return [
    element("h3", {}, "Word alignment"),
    element("p", { class: "explanation" }, explanation),
    element("div", { class: "scroll" }, figure),
    readout,
  ];
}
