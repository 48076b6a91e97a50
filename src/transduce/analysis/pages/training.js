// @ts-check
// Training curves of several runs: a chart for each kind of number, and a table of last and best values.

/** @typedef {{x: number[], y: (number | null)[]}} Series */
/** @typedef {{name: string, series: Record<string, Series>}} Run */
/** @typedef {{run: number, name: string, isTraining: boolean, points: [number, number | null][]}} Curve */

const DASHES = ["", "7 4", "2 3", "9 3 2 3", "14 4", "4 2 1 2"];
const UPDATES = "updates";
const CHART_HEIGHT = 230;
const EDGES = { left: 52, right: 22, top: 12, bottom: 38 };

/** @type {Record<string, string>} */
const UNITS = {
  loss: "nats per token",
  perplexity: "on the validation set",
  bleu: "on the validation set",
  "learning rate": "",
  "tokens per second": "",
  "gradient norm": "before clipping",
};

/** @type {Record<string, string>} */
const TITLES = { bleu: "BLEU" };

const LOWER_IS_BETTER = /loss|perplexity|bits|error/i;
const HIGHER_IS_BETTER = /bleu|chrf|comet|accuracy/i;

/** Draw with the run's colour and dashes. @param {number} run @returns {Attributes} */
function strokeOf(run) {
  return { stroke: `var(--run-${(run % 6) + 1})`, "stroke-dasharray": DASHES[(run + Math.floor(run / 6)) % DASHES.length] };
}

/** A short piece of a run's line, for legends. @param {number} run @param {boolean} [isTraining] */
function swatch(run, isTraining = false) {
  const line = drawing("path", { d: "M0,6 H28", class: isTraining ? "curve is-training" : "curve", ...strokeOf(run) });
  return drawing("svg", { width: 28, height: 12, "aria-hidden": "true" }, line);
}

/** @param {string} name */
function titleOf(name) {
  return TITLES[name] ?? `${name[0].toUpperCase()}${name.slice(1)}`;
}

/** A value with about four digits that count. @param {number | null | undefined} value */
function plainNumber(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e7)) return powerOfTen(value);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 4;
  return value.toLocaleString("en", { maximumFractionDigits: digits }).replace("-", "−");
}

/** As in 3×10⁻⁴. @param {number} value */
function powerOfTen(value) {
  const [number, power] = value.toExponential(2).split("e");
  const raised = [...power.replace("+", "")].map((digit) => (digit === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]));
  return `${String(Number(number)).replace("-", "−")}×10${raised.join("")}`;
}

/** Round values between two others. @param {number} low @param {number} high @param {number} count */
function linearTicks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= raw) ?? 10);
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index++) ticks.push(index * step);
  return ticks.map((tick) => Number(tick.toPrecision(12)));
}

/** @param {number} low @param {number} high */
function logarithmicTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const factor of [1, 2, 5]) ticks.push(Number((factor * 10 ** power).toPrecision(12)));
  }
  const inside = ticks.filter((tick) => tick >= low && tick <= high);
  return inside.length > 2 ? inside : linearTicks(low, high, 4);
}

class Chart {
  /** @param {string} name @param {Curve[]} curves @param {TrainingPage} page */
  constructor(name, curves, page) {
    this.name = name;
    this.curves = curves;
    this.page = page;
    this.isLogarithmic = false;
    this.width = 0;
    this.limits = { left: 0, right: 1, low: 0, high: 1 };
    /** @type {(value: number) => number} */
    this.across = (value) => value;
    /** @type {(value: number) => number} */
    this.up = (value) => value;
    this.values = element("ul", { class: name === "loss" ? "values has-two-kinds" : "values" });
    this.pointer = drawing("g");
    const unit = UNITS[name] ? element("small", {}, ` ${UNITS[name]}`) : "";
    const heading = element("div", { class: "heading" }, element("h3", {}, titleOf(name), unit));
    if (name === "loss") {
      heading.append(switchFor("Log scale", false, (checked) => {
        this.isLogarithmic = checked;
        this.draw();
      }));
    }
    const label = `Chart of ${name}; arrow keys move from update to update`;
    this.box = element("div", { class: "chart", tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": label });
    this.element = element("figure", {}, heading, this.box, this.values);
    this.listen();
  }

  /** @returns {Curve[]} */
  get shown() {
    return this.curves.filter((curve) => !this.page.hidden.has(curve.run));
  }

  /** Updates at which a shown curve has a value, in order. */
  get updates() {
    const all = this.shown.flatMap((curve) => curve.points.filter((point) => point[1] !== null).map((point) => point[0]));
    return [...new Set(all)].sort((one, other) => one - other);
  }

  draw() {
    this.width = this.box.clientWidth;
    if (!this.width) return;
    const picture = drawing("svg", { height: CHART_HEIGHT, viewBox: `0 0 ${this.width} ${CHART_HEIGHT}`, "aria-hidden": "true" });
    const points = this.shown.flatMap((curve) => curve.points).filter((point) => this.canShow(point[1]));
    if (points.length) {
      this.scale(points);
      picture.append(...this.axes(), ...this.shown.flatMap((curve) => this.line(curve)), this.pointer);
    } else {
      picture.append(drawing("text", { x: EDGES.left, y: CHART_HEIGHT / 2 }, "No values."));
    }
    this.box.replaceChildren(picture);
    this.point(this.page.update);
  }

  /** @param {number | null} value */
  canShow(value) {
    return value !== null && (!this.isLogarithmic || value > 0);
  }

  /** @param {[number, number | null][]} points */
  scale(points) {
    const [left, right] = extent(points.map((point) => point[0]));
    let [low, high] = extent(points.map((point) => point[1] ?? 0));
    const height = (/** @type {number} */ value) => (this.isLogarithmic ? Math.log(value) : value);
    if (!this.isLogarithmic && low >= 0 && !LOWER_IS_BETTER.test(this.name)) low = 0;
    if (low === high) [low, high] = this.isLogarithmic ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
    const inner = { width: this.width - EDGES.left - EDGES.right, height: CHART_HEIGHT - EDGES.top - EDGES.bottom };
    const span = height(high) - height(low);
    this.across = (value) => EDGES.left + (inner.width * (value - left)) / (right - left || 1);
    this.up = (value) => EDGES.top + inner.height * (1 - (height(value) - height(low)) / span);
    this.limits = { left, right, low, high };
  }

  axes() {
    const { left, right, low, high } = this.limits;
    const [end, bottom] = [this.width - EDGES.right, CHART_HEIGHT - EDGES.bottom];
    const rows = (this.isLogarithmic ? logarithmicTicks(low, high) : linearTicks(low, high, 4)).flatMap((tick) => [
      drawing("path", { class: "rule", d: `M${EDGES.left},${this.up(tick)} H${end}` }),
      drawing("text", { x: EDGES.left - 8, y: this.up(tick) + 4, "text-anchor": "end" }, plainNumber(tick)),
    ]);
    const ticks = right > left ? linearTicks(left, right, this.width < 400 ? 3 : 5) : [left];
    const columns = ticks.map((tick) => {
      return drawing("text", { x: this.across(tick), y: bottom + 18, "text-anchor": "middle" }, plainNumber(tick));
    });
    const name = drawing("text", { x: (EDGES.left + end) / 2, y: bottom + 34, "text-anchor": "middle" }, UPDATES);
    return [...rows, ...columns, name];
  }

  /** A path that breaks where a value is missing, and dots for values that stand alone. @param {Curve} curve */
  line(curve) {
    const style = { class: curve.isTraining ? "curve is-training" : "curve", ...strokeOf(curve.run) };
    /** @type {SVGElement[]} */
    const marks = [];
    let path = "";
    curve.points.forEach(([x, y], index) => {
      if (y === null || !this.canShow(y)) return;
      const goesOn = index > 0 && this.canShow(curve.points[index - 1][1]);
      const hasNext = index + 1 < curve.points.length && this.canShow(curve.points[index + 1][1]);
      const place = `${this.across(x).toFixed(1)},${this.up(y).toFixed(1)}`;
      path += `${goesOn ? "L" : "M"}${place}`;
      const isAlone = !goesOn && !hasNext;
      if (isAlone || this.hasDots(curve)) marks.push(this.dot(curve.run, x, y, isAlone ? 2.5 : 2.25));
    });
    return [drawing("path", { ...style, d: path }), ...marks];
  }

  /** In a chart of two lines a run, the validation's has dots. @param {Curve} curve */
  hasDots(curve) {
    return this.name === "loss" && !curve.isTraining && curve.points.length <= 60;
  }

  /** @param {number} run @param {number} x @param {number} y @param {number} radius */
  dot(run, x, y, radius) {
    return drawing("circle", { cx: this.across(x), cy: this.up(y), r: radius, fill: `var(--run-${(run % 6) + 1})` });
  }

  /** Show the values nearest to an update; the last ones if none is chosen. @param {number | null} update */
  point(update) {
    const updates = this.updates;
    if (!updates.length) return this.values.replaceChildren();
    const at = nearest(updates, update ?? updates[updates.length - 1]);
    const crosshair = { class: "crosshair", d: `M${this.across(at)},${EDGES.top} V${CHART_HEIGHT - EDGES.bottom}` };
    this.pointer.replaceChildren(...(update === null ? [] : [drawing("path", crosshair)]));
    const items = this.shown.flatMap((curve) => {
      const found = curve.points.filter((point) => this.canShow(point[1]));
      const value = found.find((point) => point[0] === nearest(found.map((point) => point[0]), at));
      if (!value || value[1] === null) return [];
      if (update !== null) this.pointer.append(this.dot(curve.run, value[0], value[1], 4));
      return [this.item(curve, value, at)];
    });
    this.values.replaceChildren(element("li", { class: "at" }, `Update ${at.toLocaleString("en")}`), ...items);
    return undefined;
  }

  /** @param {Curve} curve @param {[number, number | null]} value @param {number} at */
  item(curve, value, at) {
    const kind = this.name === "loss" ? (curve.isTraining ? " training" : " validation") : "";
    const when = value[0] === at ? "" : element("span", { class: "when" }, `(at ${value[0].toLocaleString("en")})`);
    const several = this.page.runs.length > 1;
    const name = several ? `${this.page.runs[curve.run].name}${kind}` : kind.trim() || "";
    const number = element("b", {}, plainNumber(value[1]));
    return element("li", {}, swatch(curve.run, curve.isTraining), element("span", { class: "of" }, name), number, when);
  }

  listen() {
    const point = (/** @type {MouseEvent} */ event) => {
      const place = event.clientX - this.box.getBoundingClientRect().left;
      const updates = this.updates;
      if (!updates.length) return;
      const places = updates.map((update) => this.across(update));
      this.page.choose(updates[places.indexOf(nearest(places, place))], this);
    };
    this.box.addEventListener("pointermove", point);
    this.box.addEventListener("click", point);
    this.box.addEventListener("keydown", (event) => this.move(event));
    new ResizeObserver(() => this.box.clientWidth !== this.width && this.draw()).observe(this.box);
  }

  /** @param {KeyboardEvent} event */
  move(event) {
    const updates = this.updates;
    if (!updates.length || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = updates.length - 1;
    const index = this.page.update === null ? last + 1 : updates.indexOf(nearest(updates, this.page.update));
    /** @type {Record<string, number>} */
    const moves = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: last, PageUp: index - 10, PageDown: index + 10 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.page.choose(updates[Math.min(Math.max(moves[event.key], 0), last)], this);
  }
}

class TrainingPage {
  /** @param {Run[]} runs */
  constructor(runs) {
    this.runs = runs;
    /** @type {Set<number>} */
    this.hidden = new Set();
    /** @type {number | null} */
    this.update = null;
    this.status = element("p", { class: "hidden", "aria-live": "polite" });
    this.charts = this.names().map((name) => new Chart(name, this.curves(name), this));
  }

  /** The names of the charts: the loss of training and validation share one. */
  names() {
    const all = this.runs.flatMap((run) => Object.keys(run.series).filter((name) => run.series[name].y.length));
    const names = [...new Set(all.map((name) => (name === "validation loss" ? "loss" : name)))];
    const order = ["loss", "perplexity", "bleu", "learning rate", "tokens per second", "gradient norm"];
    const place = (/** @type {string} */ name) => (order.includes(name) ? order.indexOf(name) : order.length);
    return names.sort((one, other) => place(one) - place(other));
  }

  /** @param {string} name @returns {Curve[]} */
  curves(name) {
    const wanted = name === "loss" ? ["loss", "validation loss"] : [name];
    return this.runs.flatMap((run, index) => {
      return wanted.filter((one) => run.series[one]?.y.length).map((one) => ({
        run: index,
        name: one,
        isTraining: one === "loss",
        points: pointsOf(run.series[one]),
      }));
    });
  }

  /** All charts show the same update. @param {number} update @param {Chart} chart */
  choose(update, chart) {
    this.update = update;
    for (const one of this.charts) one.point(update);
    this.status.textContent = [...chart.values.children].map((item) => item.textContent).join("; ");
  }

  legend() {
    const items = this.runs.map((run, index) => {
      const shown = switchFor("", true, (checked) => {
        if (checked) this.hidden.delete(index);
        else this.hidden.add(index);
        for (const chart of this.charts) chart.draw();
      });
      shown.append(swatch(index), element("span", { dir: "auto" }, run.name));
      return element("li", {}, shown);
    });
    return element("ul", { class: "runs", "aria-label": "Runs shown" }, ...items);
  }

  sections() {
    const explanation =
      "Each chart shows one number over the updates of the training; hover, tap or use the arrow keys to read all charts at one update.";
    const charts = element("div", { class: "charts" }, ...this.charts.map((chart) => chart.element));
    const legend = this.runs.length > 1 ? [this.legend()] : [];
    const first = section("curves", "Curves", explanation, ...legend, charts, this.status);
    if (legend.length) charts.style.marginTop = "2rem";
    const second = section("values", "Last and best values", "The numbers at the end of each run, and the best ones with the update they were reached at.", this.table());
    return [first, second];
  }

  table() {
    const names = [...new Set(this.runs.flatMap((run) => Object.keys(run.series)))].filter((name) => {
      return this.runs.some((run) => run.series[name]?.y.some((value) => value !== null));
    });
    const head = element(
      "tr",
      {},
      ...["Number", "Run"].map((name) => element("th", { scope: "col" }, name)),
      ...["Last", "Best", "At update"].map((name) => element("th", { scope: "col", class: "number" }, name)),
    );
    const bodies = names.map((name) => {
      const rows = this.runs.flatMap((run) => (run.series[name] ? [summaryCells(run, name)] : []));
      const title = element("th", { scope: "rowgroup", rowspan: rows.length }, titleOf(name));
      return element("tbody", {}, ...rows.map((cells, index) => element("tr", {}, ...(index ? [] : [title]), ...cells)));
    });
    const table = element("table", { class: "summary" }, element("thead", {}, head), ...bodies);
    return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Last and best values" }, table);
  }
}

/** @param {Run} run @param {string} name */
function summaryCells(run, name) {
  const found = pointsOf(run.series[name]).filter((point) => point[1] !== null);
  const last = found[found.length - 1];
  const best = bestOf(name, /** @type {[number, number][]} */ (found));
  const cells = [plainNumber(last?.[1]), plainNumber(best?.[1]), best ? best[0].toLocaleString("en") : "–"];
  return [
    element("th", { scope: "row", dir: "auto" }, run.name),
    ...cells.map((text) => element("td", { class: "number" }, text)),
  ];
}

/** @param {string} name @param {[number, number][]} points */
function bestOf(name, points) {
  const sign = LOWER_IS_BETTER.test(name) ? 1 : HIGHER_IS_BETTER.test(name) ? -1 : 0;
  if (!sign) return undefined;
  return points.reduce(
    (/** @type {[number, number] | undefined} */ best, point) => (!best || sign * point[1] < sign * best[1] ? point : best),
    undefined,
  );
}

/** @param {Series} series @returns {[number, number | null][]} */
function pointsOf({ x, y }) {
  return x.slice(0, y.length).map((update, index) => [update, y[index]]);
}

/** @param {number[]} values @returns {[number, number]} */
function extent(values) {
  return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
}

/** @param {number[]} values @param {number} target */
function nearest(values, target) {
  return values.reduce((best, value) => (Math.abs(value - target) < Math.abs(best - target) ? value : best), values[0]);
}

{
  const { runs } = /** @type {{runs: Run[]}} */ (readFacts());
  const page = new TrainingPage(runs);
  fillPage("Training", runs.map((run) => run.name).join(", "), page.sections());
  for (const chart of page.charts) chart.draw();
}
