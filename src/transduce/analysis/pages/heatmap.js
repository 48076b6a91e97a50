// @ts-check
// A heat map with tokens on both axes, moved through by pointer and arrow keys.

/**
 * What a heat map shows: values row by row, from `low` to `high` in the colours of `scale`.
 * @typedef {object} HeatMapContent
 * @property {Label[]} rows
 * @property {Label[]} columns
 * @property {ArrayLike<number>} values
 * @property {"sequential" | "diverging"} scale
 * @property {number} low
 * @property {number} high
 * @property {[string, string]} axes names of rows and columns
 * @property {string} name
 * @property {(row: number, column: number, value: number) => [(Node | string)[], string]} describe what a cell says, and its number
 */

const SMALLEST_CELL = 17;
const LARGEST_CELL = 30;
const SLANT = (55 * Math.PI) / 180; // of the labels above, as in page.css

/** One pixel a cell; the browser enlarges it. @param {HTMLCanvasElement} canvas
 * @param {Pick<HeatMapContent, "values" | "scale" | "low" | "high">} content @param {number} columns @param {number} rows */
function drawCells(canvas, content, columns, rows) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  if (!context || !columns || !rows) return;
  const colours = colourScale(content.scale);
  const table = Array.from({ length: 256 }, (_, level) => colours(level / 255));
  const image = context.createImageData(columns, rows);
  const range = content.high - content.low || 1;
  for (let index = 0; index < columns * rows; index++) {
    const share = Math.min(Math.max((content.values[index] - content.low) / range, 0), 1);
    const colour = table[Math.round(share * 255)];
    image.data.set([colour[0], colour[1], colour[2], 255], index * 4);
  }
  context.putImageData(image, 0, 0);
}

class HeatMap {
  constructor() {
    this.readout = element("p", { class: "readout", "aria-live": "polite" });
    this.corner = element("div", { class: "corner", "aria-hidden": "true" });
    this.above = element("div", { class: "above", "aria-hidden": "true" });
    this.aside = element("div", { class: "aside", "aria-hidden": "true" });
    this.canvas = element("canvas");
    this.lines = element("div", { class: "lines" });
    this.cursor = element("div", { class: "cursor", hidden: true });
    // A screen reader would otherwise keep the arrow keys for itself.
    this.cells = element("div", { class: "cells", tabindex: 0, role: "application" }, this.canvas, this.lines, this.cursor);
    this.grid = element("div", { class: "grid" }, this.corner, this.above, this.aside, this.cells);
    this.box = element("div", { class: "heatmap" }, this.grid);
    this.element = element("div", {}, this.readout, this.box);
    /** @type {HeatMapContent | null} */
    this.content = null;
    this.cell = SMALLEST_CELL;
    /** @type {{row: number, column: number} | null} */
    this.chosen = null;
    this.listen();
  }

  /** @param {HeatMapContent} content */
  show(content) {
    const before = this.content;
    this.content = content;
    this.cells.setAttribute("aria-label", `Heat map of ${content.name}; arrow keys move from cell to cell`);
    this.cells.setAttribute("aria-roledescription", "heat map");
    this.draw();
    if (before?.rows !== content.rows || before.columns !== content.columns) this.label();
    const { chosen } = this;
    if (chosen && chosen.row < content.rows.length && chosen.column < content.columns.length) {
      this.choose(chosen.row, chosen.column);
    } else {
      this.forget();
    }
  }

  draw() {
    if (this.content) drawCells(this.canvas, this.content, this.content.columns.length, this.content.rows.length);
  }

  label() {
    if (!this.content) return;
    const { rows, columns, axes } = this.content;
    const spans = (/** @type {Label[]} */ labels) => {
      return labels.map((label) => element("span", {}, tokenElement(label.text, label.direction)));
    };
    this.aside.replaceChildren(...spans(rows));
    this.above.replaceChildren(...spans(columns));
    this.corner.replaceChildren(element("span", {}, `${axes[1]} →`), element("span", {}, `${axes[0]} ↓`));
    this.place();
  }

  /** Give cells and labels their places; the size of a cell depends on the width of the page. */
  place() {
    if (!this.content || !this.element.clientWidth) return;
    const { rows, columns } = this.content;
    const labels = /** @type {HTMLElement[]} */ ([...this.above.children]);
    const longest = Math.max(0, ...labels.map((label) => label.offsetWidth));
    const overhang = Math.ceil(longest * Math.cos(SLANT));
    const room = this.element.clientWidth - this.aside.offsetWidth - overhang - 8;
    const cell = Math.floor(Math.min(Math.max(room / columns.length, SMALLEST_CELL), LARGEST_CELL));
    this.cell = cell;
    this.above.style.width = `${columns.length * cell + overhang}px`;
    this.above.style.height = `${Math.ceil(longest * Math.sin(SLANT)) + 16}px`;
    labels.forEach((label, index) => (label.style.left = `${(index + 0.5) * cell + 4}px`));
    for (const label of this.aside.children) {
      const { style } = /** @type {HTMLElement} */ (label);
      style.height = style.lineHeight = `${cell}px`;
    }
    this.canvas.style.width = `${columns.length * cell}px`;
    this.canvas.style.height = `${rows.length * cell}px`;
    this.lines.style.backgroundSize = `${cell}px ${cell}px`;
    if (this.chosen) this.choose(this.chosen.row, this.chosen.column);
  }

  /** @param {number} row @param {number} column */
  choose(row, column) {
    const { content, cell } = this;
    if (!content) return;
    this.mark(false);
    this.chosen = { row, column };
    this.mark(true);
    const { style } = this.cursor;
    this.cursor.hidden = false;
    style.left = `${column * cell - 1}px`;
    style.top = `${row * cell - 1}px`;
    style.width = style.height = `${cell + 3}px`;
    const [text, value] = content.describe(row, column, content.values[row * content.columns.length + column]);
    this.readout.replaceChildren(...text, ": ", element("b", {}, value));
  }

  forget() {
    this.chosen = null;
    this.cursor.hidden = true;
    this.readout.replaceChildren(element("span", { class: "hint" }, "Hover or tap a cell, or move with the arrow keys."));
  }

  /** @param {boolean} isChosen */
  mark(isChosen) {
    if (!this.chosen) return;
    this.aside.children[this.chosen.row]?.classList.toggle("is-chosen", isChosen);
    this.above.children[this.chosen.column]?.classList.toggle("is-chosen", isChosen);
  }

  listen() {
    const point = (/** @type {MouseEvent} */ event) => {
      if (!this.content) return;
      const area = this.canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - area.left) / this.cell);
      const row = Math.floor((event.clientY - area.top) / this.cell);
      const isInside = row >= 0 && column >= 0 && row < this.content.rows.length && column < this.content.columns.length;
      if (isInside && (row !== this.chosen?.row || column !== this.chosen.column)) this.choose(row, column);
    };
    this.cells.addEventListener("pointermove", point);
    this.cells.addEventListener("click", point);
    this.cells.addEventListener("focus", () => this.chosen ?? this.choose(0, 0));
    this.cells.addEventListener("keydown", (event) => this.move(event));
    new ResizeObserver(() => this.place()).observe(this.element);
    onThemeChange(() => this.draw());
  }

  /** @param {KeyboardEvent} event */
  move(event) {
    if (!this.content || event.ctrlKey || event.metaKey || event.altKey) return;
    const [lastRow, lastColumn] = [this.content.rows.length - 1, this.content.columns.length - 1];
    const { row, column } = this.chosen ?? { row: 0, column: 0 };
    /** @type {Record<string, [number, number]>} */
    const moves = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [row, 0],
      End: [row, lastColumn],
      PageUp: [0, column],
      PageDown: [lastRow, column],
    };
    const target = moves[event.key];
    if (!target) return;
    event.preventDefault();
    this.choose(Math.min(Math.max(target[0], 0), lastRow), Math.min(Math.max(target[1], 0), lastColumn));
    this.reveal();
  }

  /** Scroll the box until the chosen cell is in sight, beside the labels that stay. */
  reveal() {
    if (!this.chosen) return;
    const { box, cell } = this;
    const [left, top] = [this.chosen.column * cell, this.chosen.row * cell];
    const width = box.clientWidth - this.aside.offsetWidth - cell;
    const height = box.clientHeight - this.above.offsetHeight - cell;
    box.scrollLeft = Math.min(Math.max(box.scrollLeft, left - width + cell), Math.max(left - cell, 0));
    box.scrollTop = Math.min(Math.max(box.scrollTop, top - height + cell), Math.max(top - cell, 0));
  }
}
