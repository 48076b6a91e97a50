// @ts-check
// The tree of a beam search, from left to right.

/**
 * @typedef {object} SearchNode
 * @property {number} id
 * @property {number | null} parent
 * @property {number} step
 * @property {string} token
 * @property {number | null} log_probability
 * @property {number | null} total
 * @property {number | null} score
 * @property {"active" | "pruned" | "finished" | "chosen" | "greedy"} state
 * @property {boolean} greedy
 * @property {string} text
 */
/** @typedef {{size: number, length_penalty: number, nodes: SearchNode[]}} Search */
/** @typedef {{fact: SearchNode, children: TreeNode[], parent: TreeNode | null, depth: number, row: number, x: number,
 *   width: number, element: SVGGElement | null}} TreeNode */

const ROW_HEIGHT = 36;
const NODE_HEIGHT = 26;
const COLUMN_GAP = 34;
const MARGIN = 16;

/** @type {Record<SearchNode["state"], string>} */
const STATE_NAMES = {
  active: "kept in the beam",
  pruned: "pruned",
  finished: "finished",
  chosen: "on the best output's path",
  greedy: "reached by greedy search only",
};

class SearchTree {
  /** @param {Search} search @param {Direction} direction */
  constructor(search, direction) {
    this.direction = direction;
    this.showsPruned = true;
    this.nodes = linkNodes(search.nodes);
    this.box = element("div", { class: "tree scroll" });
    this.hint = element("p", { class: "note more" }, "The tree goes on to the right \u2192 scroll, or press the arrow key.");
    this.panel = element("div", { class: "panel", "aria-live": "polite" });
    this.selected = this.nodes[0];
    this.draw();
    const chosen = this.nodes.filter((node) => node.fact.state === "chosen");
    this.select(chosen[chosen.length - 1] ?? this.nodes[0]);
  }

  /** @param {TreeNode} node @returns {boolean} */
  isShown(node) {
    if (this.showsPruned || node.fact.state !== "pruned" || node.fact.greedy) return true;
    return node.children.some((child) => this.isShown(child));
  }

  /** @param {TreeNode} node */
  children(node) {
    return node.children.filter((child) => this.isShown(child));
  }

  draw() {
    const shown = this.nodes.filter((node) => this.isShown(node));
    const rows = placeRows(shown);
    const width = placeColumns(shown);
    const height = rows * ROW_HEIGHT + 2 * MARGIN;
    const picture = drawing("svg", { width, height, role: "tree", "aria-label": "Search tree" });
    for (const node of [...shown].sort((one, other) => edgeRank(one) - edgeRank(other))) picture.append(...edges(node));
    for (const node of shown) picture.append(this.drawNode(node));
    this.box.replaceChildren(picture);
    this.select(shown.includes(this.selected) ? this.selected : this.nodes[0]);
    this.hint.hidden = this.box.clientWidth === 0 || width <= this.box.clientWidth;
  }

  /** @param {TreeNode} node */
  drawNode(node) {
    const { fact, width } = node;
    const y = rowMiddle(node) - NODE_HEIGHT / 2;
    const frame = { x: node.x, y, width, height: NODE_HEIGHT, rx: NODE_HEIGHT / 2 };
    const ring = { x: node.x - 3, y: y - 3, width: width + 6, height: NODE_HEIGHT + 6, rx: NODE_HEIGHT / 2 + 3 };
    const label = drawing(
      "text",
      { x: node.x + width / 2, y: rowMiddle(node) + 5, "text-anchor": "middle", direction: this.direction },
      nodeLabel(fact),
    );
    const attributes = {
      class: nodeClass(node),
      role: "treeitem",
      tabindex: -1,
      "data-node": fact.id,
      "aria-level": node.depth + 1,
      "aria-label": `${nodeLabel(fact)}, ${STATE_NAMES[fact.state]}`,
    };
    node.element = drawing("g", attributes, drawing("rect", { class: "ring", ...ring }), drawing("rect", { class: "box", ...frame }), label);
    node.element.addEventListener("click", () => this.select(node, true));
    node.element.addEventListener("focus", () => this.select(node));
    node.element.addEventListener("keydown", (event) => this.move(event, node));
    return node.element;
  }

  /** @param {TreeNode} node @param {boolean} [takesFocus] */
  select(node, takesFocus = false) {
    for (const other of this.nodes) {
      other.element?.classList.toggle("is-selected", other === node);
      other.element?.setAttribute("aria-selected", String(other === node));
      other.element?.setAttribute("tabindex", other === node ? "0" : "-1");
    }
    if (this.selected !== node || !this.panel.hasChildNodes()) this.panel.replaceChildren(...this.details(node.fact));
    this.selected = node;
    if (takesFocus) {
      node.element?.focus({ preventScroll: true });
      this.reveal(node);
    }
  }

  /** @param {KeyboardEvent} event @param {TreeNode} node */
  move(event, node) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = this.neighbour(event.key, node);
    if (target === undefined) return;
    event.preventDefault();
    if (target) this.select(target, true);
  }

  /** The node an arrow key leads to; null at an end, undefined for other keys. @param {string} key @param {TreeNode} node */
  neighbour(key, node) {
    if (key === "ArrowLeft") return node.parent;
    if (key === "ArrowRight") return this.children(node)[0] ?? null;
    if (key === "Home") return this.nodes[0];
    if (key !== "ArrowUp" && key !== "ArrowDown") return undefined;
    const siblings = node.parent ? this.children(node.parent) : [node];
    const sibling = siblings[siblings.indexOf(node) + (key === "ArrowUp" ? -1 : 1)];
    return sibling ?? this.nextInColumn(node, key === "ArrowUp" ? -1 : 1);
  }

  /** Beyond the last sibling, the next node of the same step. @param {TreeNode} node @param {number} way */
  nextInColumn(node, way) {
    const column = this.nodes.filter((other) => other.depth === node.depth && this.isShown(other));
    column.sort((one, other) => one.row - other.row);
    return column[column.indexOf(node) + way] ?? null;
  }

  /** @param {TreeNode} node */
  reveal(node) {
    const { box } = this;
    const middle = rowMiddle(node);
    box.scrollLeft = Math.min(Math.max(box.scrollLeft, node.x + node.width + 48 - box.clientWidth), Math.max(node.x - 48, 0));
    box.scrollTop = Math.min(Math.max(box.scrollTop, middle + 40 - box.clientHeight), Math.max(middle - 40, 0));
    box.scrollIntoView({ block: "nearest" });
  }

  /** @param {SearchNode} fact @returns {HTMLElement[]} */
  details(fact) {
    const isRoot = fact.parent === null;
    const sentence = element("p", { class: "sentence", dir: this.direction }, fact.text || (isRoot ? "(nothing yet)" : "(empty)"));
    const state = STATE_NAMES[fact.state] + (fact.greedy && fact.state !== "greedy" ? ", also greedy's" : "");
    const chance = fact.log_probability === null ? null : Math.exp(fact.log_probability);
    /** @type {[string, string][]} */
    const entries = [
      ["Token", isRoot ? "begin" : tokenText(fact.token)],
      ["Step", String(fact.step)],
      ["Token probability", isRoot ? "–" : probability(chance)],
      ["Running log-probability", fixed(fact.total, 2)],
      ["Score", fixed(fact.score, 3)],
    ];
    return [
      element("p", { class: "label" }, "Output so far"),
      sentence,
      element("dl", {}, ...pairs(entries)),
      element("p", { class: "note" }, `${state[0].toUpperCase()}${state.slice(1)}.`),
    ];
  }
}

/** The nodes as a tree, root first; of children, the one on the best path comes first, then by score.
 * @param {SearchNode[]} facts @returns {TreeNode[]} */
function linkNodes(facts) {
  /** @type {TreeNode[]} */
  const nodes = facts.map((fact) => ({ fact, children: [], parent: null, depth: 0, row: 0, x: 0, width: 0, element: null }));
  const byId = new Map(nodes.map((node) => [node.fact.id, node]));
  for (const node of nodes) {
    node.parent = node.fact.parent === null ? null : (byId.get(node.fact.parent) ?? null);
    node.parent?.children.push(node);
  }
  const root = nodes.find((node) => node.fact.parent === null) ?? nodes[0];
  const ordered = [root];
  for (const node of ordered) {
    node.children.sort((one, other) => rank(other) - rank(one) || (other.fact.score ?? -1e9) - (one.fact.score ?? -1e9));
    for (const child of node.children) child.depth = node.depth + 1;
    ordered.push(...node.children);
  }
  return ordered;
}

/** @param {TreeNode} node */
function rank({ fact }) {
  if (fact.state === "chosen") return 3;
  return fact.state === "pruned" ? 0 : 1;
}

/**
 * Give every node a row. In each column nodes stand in the order of their parents, so no two lines cross; a first child
 * stays in its parent's row where there is room for those below.
 * @param {TreeNode[]} nodes in breadth-first order
 * @returns {number} how many rows there are
 */
function placeRows(nodes) {
  /** @type {TreeNode[][]} */
  const columns = [];
  for (const node of nodes) (columns[node.depth] ??= []).push(node);
  const rows = Math.max(...columns.map((column) => column.length));
  for (const column of columns) {
    let free = 0;
    column.forEach((node, index) => {
      const lowest = rows - (column.length - index);
      node.row = Math.max(free, Math.min(node.parent?.row ?? 0, lowest));
      free = node.row + 1;
    });
  }
  return rows;
}

/** Columns as wide as their widest label. @param {TreeNode[]} nodes @returns {number} the width of all */
function placeColumns(nodes) {
  const context = document.createElement("canvas").getContext("2d");
  if (context) context.font = `14px ${getComputedStyle(document.body).fontFamily}`;
  /** @type {number[]} */
  const widths = [];
  for (const node of nodes) {
    node.width = Math.max(Math.ceil(context?.measureText(nodeLabel(node.fact)).width ?? 60) + 20, NODE_HEIGHT);
    widths[node.depth] = Math.max(widths[node.depth] ?? 0, node.width);
  }
  let x = MARGIN;
  const starts = widths.map((width) => {
    const start = x;
    x += width + COLUMN_GAP;
    return start;
  });
  for (const node of nodes) node.x = starts[node.depth];
  return x - COLUMN_GAP + MARGIN;
}

/** @param {TreeNode} node */
function rowMiddle(node) {
  return MARGIN + node.row * ROW_HEIGHT + ROW_HEIGHT / 2;
}

/** @param {SearchNode} fact */
function nodeLabel(fact) {
  const text = fact.parent === null && !fact.token ? "begin" : tokenText(fact.token);
  return [...text].length > 16 ? `${[...text].slice(0, 15).join("")}…` : text;
}

/** @param {TreeNode} node */
function nodeClass({ fact, children }) {
  const isFinished = fact.state === "finished" || (fact.state === "chosen" && children.every((child) => child.fact.state !== "chosen"));
  const names = ["node", `is-${fact.state === "chosen" ? "best" : fact.state === "greedy" ? "greedy-alone" : fact.state}`];
  return isFinished ? [...names, "is-finished"].join(" ") : names.join(" ");
}

/** Faint lines are drawn first. @param {TreeNode} node */
function edgeRank({ fact }) {
  return rank(/** @type {TreeNode} */ ({ fact })) + (fact.greedy ? 0.5 : 0);
}

/** The line from a node's parent, and a second one where greedy search went. @param {TreeNode} node */
function edges(node) {
  const { parent, fact } = node;
  if (!parent) return [];
  const line = (/** @type {number} */ shift) => {
    const [x, y] = [parent.x + parent.width, rowMiddle(parent) + shift];
    const [u, v] = [node.x, rowMiddle(node) + shift];
    // The bend lies in the gap before the node's column, beyond the longer labels of the parent's.
    const bend = u - COLUMN_GAP;
    return y === v ? `M${x},${y} H${u}` : `M${x},${y} H${bend} C${bend + 22},${y} ${u - 12},${v} ${u},${v}`;
  };
  const state = fact.state === "chosen" ? " is-chosen" : fact.state === "pruned" ? " is-pruned" : "";
  const greedy = drawing("path", { class: "edge is-greedy", d: line(fact.state === "greedy" ? 0 : 6) });
  if (fact.state === "greedy") return [greedy];
  const usual = drawing("path", { class: `edge${state}`, d: line(0) });
  return fact.greedy ? [usual, greedy] : [usual];
}

function searchLegend() {
  const sample = (/** @type {string} */ text, /** @type {SVGElement[]} */ ...shapes) => {
    const picture = drawing("svg", { width: 30, height: 18, "aria-hidden": "true" }, ...shapes);
    return element("span", { class: "sample" }, picture, text);
  };
  const pill = (/** @type {string} */ state) => {
    const ring = drawing("rect", { class: "ring", x: 1, y: 0, width: 28, height: 18, rx: 9 });
    const frame = drawing("rect", { class: "box", x: 4, y: 3, width: 22, height: 12, rx: 6 });
    return drawing("g", { class: `node ${state}` }, ring, frame);
  };
  const word = drawing("g", { class: "node is-pruned" }, drawing("text", { x: 15, y: 13, "text-anchor": "middle" }, "abc"));
  const legend = element("div", { class: "legend" });
  legend.append(
    sample("best output", drawing("path", { class: "edge is-chosen", d: "M0,9 H30" }), pill("is-best")),
    sample("in the beam", pill("is-active")),
    sample("finished", pill("is-finished")),
    sample("pruned", word),
    sample("greedy search", drawing("path", { class: "edge is-greedy", d: "M0,9 H30" })),
  );
  return legend;
}

/** @param {Search} search @param {Direction} direction */
function searchSection(search, direction) {
  const tree = new SearchTree(search, direction);
  const hide = switchFor("Hide pruned", false, (checked) => {
    tree.showsPruned = !checked;
    tree.draw();
  });
  const explanation =
    `What beam search (size ${search.size}, length penalty ${search.length_penalty}) tried, one step to the right for each token; ` +
    "each place is an output so far.";
  const keys = element("p", { class: "note" }, "Arrow keys: left to the parent, right to the first child, up and down to the others.");
  const figure = element("div", {}, element("div", { class: "controls" }, hide), tree.hint, tree.box, searchLegend(), keys);
  const result = section("search", "Search", explanation, besidePanel(figure, tree.panel));
  // Labels can be measured only once the page's font is in use.
  requestAnimationFrame(() => tree.draw());
  return result;
}
