// @ts-check
// Attention weights: one large map, and small ones of all heads to choose from.

/** @typedef {"encoder" | "decoder" | "query" | "cross"} Part */
/** @typedef {{part: Part, layer: number, queries: number, keys: number, heads: string[]}} AttentionMaps */

/** @type {Record<Part, string>} */
const PART_NAMES = { encoder: "Encoder self", decoder: "Decoder self", query: "Query stream", cross: "Cross" };

/** @type {Record<Part, string>} */
const PART_EXPLANATIONS = {
  encoder: "Rows and columns are source tokens: each row shows from where the encoder gathers what it knows of a token.",
  decoder: "Rows and columns are the tokens that the decoder has read: each row shows to which earlier ones a step looks back.",
  query: "Rows are the tokens predicted, columns the tokens read: each row shows where the stream that predicts a token looks.",
  cross: "Rows are the tokens written, columns the source tokens: each row shows where the decoder looks as it writes a token.",
};

class Attention {
  /** @param {LookFacts} facts */
  constructor(facts) {
    this.facts = facts;
    this.parts = /** @type {Part[]} */ (["encoder", "decoder", "query", "cross"]).filter((part) => this.layers(part).length);
    this.part = this.parts[this.parts.length - 1];
    this.layer = Math.max(...this.layers(this.part).map((entry) => entry.layer));
    /** @type {string} a head's number, "mean" or "maximum" */
    this.head = "mean";
    this.isStretched = true;
    this.showsAllLayers = false;
    /** @type {Map<string, Float32Array>} */
    this.decoded = new Map();
    this.axisLabels = this.labelAxes();
    this.map = new HeatMap();
    this.explanation = element("p", { class: "note" });
    this.layerSelect = element("select");
    this.headSelect = element("select");
    this.legend = element("div");
    this.smallLegend = element("div");
    this.multiples = element("div", { role: "group" });
    this.element = element("div", {}, ...this.largeMap(), ...this.smallMaps());
    this.show();
    onThemeChange(() => this.showMultiples());
  }

  /** @param {Part} part */
  layers(part) {
    return this.facts.attention.filter((entry) => entry.part === part).sort((one, other) => one.layer - other.layer);
  }

  /** @returns {AttentionMaps} */
  get maps() {
    return this.layers(this.part).find((entry) => entry.layer === this.layer) ?? this.layers(this.part)[0];
  }

  labelAxes() {
    const { source, target, read } = this.facts;
    const labels = (/** @type {string[]} */ tokens, /** @type {Direction} */ direction) => {
      return tokens.map((text) => ({ text, direction }));
    };
    return {
      source: labels(source?.tokens ?? [], source?.direction ?? "ltr"),
      read: labels(read, target.direction),
      target: labels(target.tokens, target.direction),
    };
  }

  /** Rows and columns of the part's maps. @returns {[Label[], Label[]]} */
  get labels() {
    const { source, read, target } = this.axisLabels;
    if (this.part === "encoder") return [source, source];
    if (this.part === "query") return [target, read];
    return this.part === "decoder" ? [read, read] : [target, source];
  }

  /** The large map below its controls. @returns {HTMLElement[]} */
  largeMap() {
    this.layerSelect.addEventListener("change", () => this.choose(Number(this.layerSelect.value), this.head));
    this.headSelect.addEventListener("change", () => this.choose(this.layer, this.headSelect.value));
    /** @type {[string, string][]} */
    const names = this.parts.map((part) => [part, PART_NAMES[part]]);
    const controls = element(
      "div",
      { class: "controls" },
      ...(names.length > 1 ? [choiceOf("Attention", names, this.part, (part) => this.choosePart(/** @type {Part} */ (part)))] : []),
      element("label", { class: "field" }, element("span", {}, "Layer"), this.layerSelect),
      element("label", { class: "field" }, element("span", {}, "Head"), this.headSelect),
      switchFor("Stretch colours to the highest weight", true, (checked) => {
        this.isStretched = checked;
        this.show();
      }),
    );
    return [controls, this.explanation, this.map.element, this.legend];
  }

  /** The small maps; none where there is a single map to show. @returns {HTMLElement[]} */
  smallMaps() {
    const hasLayers = this.parts.some((part) => this.layers(part).length > 1);
    if (!hasLayers && this.facts.attention.every((entry) => entry.heads.length === 1)) return [];
    const all = switchFor("All layers", false, (checked) => {
      this.showsAllLayers = checked;
      this.showMultiples();
    });
    return [
      element("h3", {}, "All heads"),
      element("p", { class: "explanation" }, "Each small map is one head; choose one to see it large."),
      ...(hasLayers ? [element("div", { class: "controls" }, all)] : []),
      element("div", { class: "scroll" }, this.multiples),
      this.smallLegend,
    ];
  }

  /** @param {Part} part */
  choosePart(part) {
    this.part = part;
    const numbers = this.layers(part).map((entry) => entry.layer);
    this.choose(numbers.includes(this.layer) ? this.layer : numbers[numbers.length - 1], this.head);
  }

  /** @param {number} layer @param {string} head */
  choose(layer, head) {
    this.layer = layer;
    this.head = /^\d/.test(head) && Number(head) >= this.maps.heads.length ? "mean" : head;
    this.show();
  }

  show() {
    const { maps, part } = this;
    const [rows, columns] = this.labels;
    const values = this.values(maps, this.head);
    const high = this.highest([values]);
    this.fillSelects();
    this.explanation.textContent = PART_EXPLANATIONS[part];
    this.map.show({
      rows: fitted(rows, maps.queries),
      columns: fitted(columns, maps.keys),
      values,
      scale: "sequential",
      low: 0,
      high,
      axes: part === "cross" ? ["writes", "looks at"] : ["from", "to"],
      name: `${PART_NAMES[part]} attention, layer ${maps.layer + 1}, head ${this.headName(this.head)}`,
      describe: (row, column, value) => [
        [quotedToken(rows[row], row), " → ", quotedToken(columns[column], column)],
        fixed(value, 3),
      ],
    });
    this.legend.replaceChildren(weightLegend(high));
    this.showMultiples();
  }

  /** @param {string} head */
  headName(head) {
    return /^\d/.test(head) ? String(Number(head) + 1) : `${head} of all`;
  }

  fillSelects() {
    const layers = this.layers(this.part).map((entry) => [String(entry.layer), String(entry.layer + 1)]);
    const heads = this.maps.heads.map((_, head) => [String(head), String(head + 1)]);
    const choices = heads.length > 1 ? [["mean", "mean of all"], ["maximum", "maximum of all"], ...heads] : heads;
    if (heads.length === 1) this.head = "0";
    fillSelect(this.layerSelect, layers, String(this.maps.layer));
    fillSelect(this.headSelect, choices, this.head);
  }

  /** @param {AttentionMaps} maps @param {string} head @returns {Float32Array} */
  values(maps, head) {
    const key = `${maps.part} ${maps.layer} ${head}`;
    const known = this.decoded.get(key);
    if (known) return known;
    const made = /^\d/.test(head)
      ? decodeWeights(maps.heads[Number(head)])
      : combine(maps.heads.map((_, one) => this.values(maps, String(one))), head === "mean");
    this.decoded.set(key, made);
    return made;
  }

  /** The weight that gets the last colour. @param {Float32Array[]} maps */
  highest(maps) {
    if (!this.isStretched) return 1;
    return Math.max(...maps.map((map) => map.reduce((one, other) => Math.max(one, other), 0))) || 1;
  }

  showMultiples() {
    const shown = this.showsAllLayers ? this.layers(this.part) : [this.maps];
    const focused = this.multiples.contains(document.activeElement);
    const most = Math.max(...shown.map((maps) => maps.heads.length));
    const high = this.highest(shown.flatMap((maps) => maps.heads.map((_, head) => this.values(maps, String(head)))));
    /** @type {HTMLElement[]} */
    const buttons = [];
    const cells = shown.flatMap((maps) => {
      const row = maps.heads.map((_, head) => this.multiple(maps, head, high));
      buttons.push(...row);
      if (!this.showsAllLayers) return row;
      const fillers = Array.from({ length: most - row.length }, () => element("span"));
      return [element("span", { class: "name" }, `Layer ${maps.layer + 1}`), ...row, ...fillers];
    });
    this.multiples.className = this.showsAllLayers ? "multiples by-layer" : "multiples";
    this.multiples.style.gridTemplateColumns = this.showsAllLayers ? `max-content repeat(${most}, 5rem)` : "";
    this.multiples.setAttribute("aria-label", `Heads of ${PART_NAMES[this.part]} attention`);
    this.multiples.replaceChildren(...cells);
    this.smallLegend.replaceChildren(weightLegend(high));
    moveByArrows(buttons);
    const pressed = buttons.find((button) => button.getAttribute("aria-pressed") === "true");
    if (pressed) buttons.forEach((button) => (button.tabIndex = button === pressed ? 0 : -1));
    if (focused) pressed?.focus();
  }

  /** @param {AttentionMaps} maps @param {number} head @param {number} high the weight of the darkest colour */
  multiple(maps, head, high) {
    const values = this.values(maps, String(head));
    const canvas = element("canvas", { "aria-hidden": "true" });
    drawCells(canvas, { values, scale: "sequential", low: 0, high }, maps.keys, maps.queries);
    const frame = element("span", { class: "frame" }, canvas);
    frame.style.aspectRatio = String(Math.min(Math.max(maps.keys / Math.max(maps.queries, 1), 0.6), 1.8));
    const isShown = maps.layer === this.maps.layer && this.head === String(head);
    const name = `Layer ${maps.layer + 1}, head ${head + 1}`;
    const attributes = { type: "button", class: "multiple", "aria-label": name, "aria-pressed": String(isShown) };
    const button = element("button", attributes, frame, `Head ${head + 1}`);
    button.addEventListener("click", () => this.choose(maps.layer, String(head)));
    return button;
  }
}

/** @param {string} text @returns {Float32Array} */
function decodeWeights(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 2 }, (_, index) => view.getUint16(index * 2, true) / 65535);
}

/** Mean or maximum over heads. @param {Float32Array[]} maps @param {boolean} mean */
function combine(maps, mean) {
  return maps[0].map((_, index) => {
    const values = maps.map((map) => map[index]);
    return mean ? values.reduce((one, other) => one + other, 0) / values.length : Math.max(...values);
  });
}

/** @param {Label | undefined} label @param {number} position */
function quotedToken(label, position) {
  return quoted(label ? tokenText(label.text) : String(position));
}

/** @param {number} high */
function weightLegend(high) {
  return colourLegend("sequential", "weight 0", high > 0.995 ? "1" : twoDigits(high));
}

/** As many labels as there are positions; those without a token get their number. @param {Label[]} labels @param {number} length */
function fitted(labels, length) {
  if (labels.length === length) return labels;
  return Array.from({ length }, (_, index) => labels[index] ?? { text: String(index + 1), direction: "ltr" });
}

/** @param {HTMLSelectElement} select @param {string[][]} options @param {string} value */
function fillSelect(select, options, value) {
  select.replaceChildren(...options.map(([key, text]) => element("option", { value: key }, text)));
  select.value = value;
  select.disabled = options.length < 2;
}

/** @param {LookFacts} facts */
function attentionSection(facts) {
  const explanation = "How each position spreads its attention over the tokens; in each head, the weights of a row sum to one.";
  return section("attention", "Attention", explanation, new Attention(facts).element);
}
