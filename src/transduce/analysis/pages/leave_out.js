// @ts-check
// What the output owes to each source token: leaving it out, gradients and attention side by side.

/** @typedef {{drops: (number | null)[][], total: (number | null)[]}} Occlusion */
/** @typedef {{name: string, unit: string, values: (number | null)[], digits: number}} Measure */

/** @param {LookFacts} facts @returns {HTMLElement | null} */
function leaveOutSection(facts) {
  const { source, occlusion } = facts;
  if (!source) {
    const missing = "Leaving tokens out needs a source sentence, which a language model does not have.";
    return facts.task === "language" ? section("leave-out", "Leaving tokens out", missing) : null;
  }
  const measures = sourceMeasures(facts);
  if (!measures.length) return null;
  const falls = facts.unit === "score" ? "How far the score falls" : "How much less probable the output becomes";
  const others = facts.attended ? "gradients and attention say" : "gradients say";
  const explanation = occlusion
    ? `${falls} when one source token is hidden, beside what ${others} of that token.`
    : "How much each source token matters for the output.";
  const result = section("leave-out", "Leaving tokens out", explanation, measureTable(source, measures));
  if (facts.gradient) result.append(gradientNote(facts.gradient, facts.unit));
  if (facts.agreement) result.append(...agreementFigures(facts.agreement));
  if (occlusion && occlusion.drops.length) result.append(...dropsFigure(source, facts.target, occlusion, facts.unit));
  return result;
}

/** @param {LookFacts} facts @returns {Measure[]} */
function sourceMeasures({ occlusion, gradient, attended, unit }) {
  const drop = unit === "score" ? "drop of the score" : "drop of log-probability, nats";
  const measures = [];
  if (occlusion) measures.push({ name: "Left out", unit: drop, values: occlusion.total, digits: 2 });
  if (gradient) measures.push({ name: "Gradient", unit: `integrated gradients, ${unit === "score" ? "of the score" : unit}`, values: gradient.attributions, digits: 2 });
  if (attended) measures.push({ name: "Attention", unit: "mean cross-attention", values: attended, digits: 3 });
  return measures;
}

/** @param {Sentence} source @param {Measure[]} measures */
function measureTable(source, measures) {
  const heads = measures.map(({ name, unit }) => element("th", { scope: "col" }, name, element("small", {}, unit)));
  const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Source token"), ...heads));
  const rows = source.tokens.map((token, index) => {
    const cells = measures.map((measure) => element("td", {}, measureBar(measure, index)));
    return element("tr", {}, element("th", { scope: "row" }, tokenElement(token, source.direction)), ...cells);
  });
  const table = element("table", {}, head, element("tbody", {}, ...rows));
  return element("div", { class: "scroll measures", tabindex: 0, role: "region", "aria-label": "Measures of each source token" }, table);
}

/** A bar from zero, to the left if negative; all bars of a measure have one scale. @param {Measure} measure @param {number} index */
function measureBar({ values, digits }, index) {
  const numbers = values.map((value) => value ?? 0);
  const [low, high] = [Math.min(0, ...numbers), Math.max(0, ...numbers)];
  const range = high - low || 1;
  const value = numbers[index] ?? 0;
  const bar = element("i", { class: value < 0 ? "is-negative" : null });
  bar.style.left = `${(100 * (Math.min(value, 0) - low)) / range}%`;
  bar.style.width = `${(100 * Math.abs(value)) / range}%`;
  const zero = element("b", {});
  zero.style.left = `${(100 * -low) / range}%`;
  const track = element("div", { class: "track", "aria-hidden": "true" }, zero, bar);
  return element("div", { class: "measure" }, track, element("span", { class: "number" }, fixed(values[index], digits)));
}

/** @param {{error: number | null}} gradient @param {LookFacts["unit"]} unit */
function gradientNote(gradient, unit) {
  const [changed, suffix] = unit === "score" ? ["the score", ""] : ["log-probability", " nats"];
  const text = `Integrated gradients should sum to the change of ${changed}; here the sum is off by ${fixed(gradient.error, 3)}${suffix}.`;
  return element("p", { class: "note" }, text);
}

/** @param {{attention: number | null, gradient: number | null}} agreement */
function agreementFigures(agreement) {
  const figures = [];
  for (const [name, value] of /** @type {[string, number | null][]} */ ([
    ["attention and leaving out", agreement.attention],
    ["gradient and leaving out", agreement.gradient],
  ])) {
    if (value === null) continue;
    figures.push(element("div", {}, element("span", { class: "figure" }, fixed(value, 2)), element("span", {}, name)));
  }
  if (!figures.length) return [];
  const reading =
    "Spearman's rank correlation. 1: the measure ranks the source tokens as leaving them out does; 0: no relation; −1: the opposite order.";
  return [
    element("h3", {}, "Agreement"),
    element("div", { class: "agreement" }, ...figures),
    element("p", { class: "note" }, reading),
  ];
}

/** @param {Sentence} source @param {Sentence} target @param {Occlusion} occlusion @param {LookFacts["unit"]} unit */
function dropsFigure(source, target, occlusion, unit) {
  const suffix = unit === "score" ? "" : " nats";
  const values = occlusion.drops.flat().map((drop) => drop ?? 0);
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  const labels = (/** @type {Sentence} */ sentence) => {
    return sentence.tokens.map((text) => ({ text, direction: sentence.direction }));
  };
  const map = new HeatMap();
  map.show({
    rows: fitted(labels(target), occlusion.drops.length),
    columns: fitted(labels(source), occlusion.drops[0].length),
    values,
    scale: "diverging",
    low: -largest,
    high: largest,
    axes: ["written", "left out"],
    name: "what each output token loses without each source token",
    describe: (row, column, value) => [
      ["Without ", quoted(tokenText(source.tokens[column] ?? "")), ", ", quoted(tokenText(target.tokens[row] ?? "")), value < 0 ? " gains" : " loses"],
      `${fixed(Math.abs(value), 2)}${suffix}`,
    ],
  });
  const explanation =
    `Rows are output tokens, columns source tokens. Blue: the output ${unit === "score" ? "falls" : "token becomes less probable"} without the source token; orange: ${unit === "score" ? "it rises" : "more probable"}.`;
  return [
    element("h3", {}, "Token by token"),
    element("p", { class: "explanation" }, explanation),
    map.element,
    colourLegend("diverging", `−${twoDigits(largest)}${suffix}`, `+${twoDigits(largest)}${suffix}`),
  ];
}
