"use strict";
// Everything here works on what the page already shows, or on the JSON in #data. Texts from results only
// ever become text nodes and attributes, never HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const percent = (share, digits = 2) => (100 * share).toFixed(digits).replace("-", "−");

function make(name, attributes = {}, ...children) {
  const drawn = /^(svg|g|path|circle|rect|text|line)$/.test(name);
  const made = drawn ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function save(name, text) {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const csvCell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
const csv = (rows) => rows.map((row) => row.map(csvCell).join(",")).join("\n") + "\n";
const csvName = (...words) => `${words.join(" ").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "")}.csv`;

// Tables: a button in each head sorts by its column; blanks stay last.
function number(text) {
  const found = text.replaceAll("−", "-").replaceAll(",", "").match(/^[<>≥]?\s*([-+]?\d+(\.\d+)?)/);
  return found ? Number(found[1]) : NaN;
}

function sort(table, column, down) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, text: row.cells[column].textContent.trim() }));
  const blank = (text) => text === "" || text.startsWith("–");
  const numeric = rows.every(({ text }) => blank(text) || !Number.isNaN(number(text)));
  const order = (a, b) => (numeric ? number(a) - number(b) : a.localeCompare(b, "en", { numeric: true }));
  rows.sort((a, b) => blank(a.text) - blank(b.text) || (down ? -1 : 1) * (blank(a.text) ? 0 : order(a.text, b.text)));
  body.append(...rows.map(({ row }) => row));
}

for (const table of all("table")) {
  const heads = all("thead th", table);
  heads.forEach((head, column) => {
    const button = make("button", { type: "button" }, head.textContent || "name");
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      // Scores are first sorted from the top, names from A.
      const words = [...table.tBodies[0].rows].some((row) => /^[^\d+−–<]/.test(row.cells[column].textContent.trim()));
      const now = head.getAttribute("aria-sort");
      const down = now ? now === "ascending" : !words;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(table, column, down);
    });
  });
}

// Figures: the nearest mark says its value, under the pointer or stepped to by arrow keys.
const tip = byId("tip");

function values(svg) {
  if (!svg.values) {
    svg.values = all(".value, .node", svg).map((mark) => ({ mark, text: mark.dataset.tip, box: () => mark.getBoundingClientRect() }));
    for (const cloud of all(".cloud", svg)) {
      for (const [, x, y] of cloud.getAttribute("d").matchAll(/M([\d.-]+) ([\d.-]+)/g)) {
        const box = ({ a, d, e, f }) => ({ left: a * x + e, right: a * x + e, top: d * y + f, bottom: d * y + f });
        svg.values.push({ text: cloud.dataset.name, box });
      }
    }
  }
  return svg.values;
}

function tell(svg, value) {
  all(".near", svg).forEach((mark) => mark.classList.remove("near"));
  tip.hidden = !value;
  if (!value) return;
  value.mark?.classList.add("near");
  if (tip.textContent !== value.text) tip.textContent = value.text;
  const box = value.box(svg.getScreenCTM());
  const wide = tip.offsetWidth, high = tip.offsetHeight;
  const left = Math.min(Math.max((box.left + box.right - wide) / 2, 6), innerWidth - wide - 6);
  tip.style.transform = `translate(${left}px, ${box.top > high + 14 ? box.top - high - 8 : box.bottom + 8}px)`;
}

function nearest(svg, x, y) {
  let best = null, least = 26 ** 2;
  const scale = svg.getScreenCTM();
  for (const value of values(svg)) {
    if (value.mark?.hasAttribute("hidden")) continue;
    const box = value.box(scale);
    const inside = x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
    const away = (x - (box.left + box.right) / 2) ** 2 + (y - (box.top + box.bottom) / 2) ** 2;
    const far = inside ? Math.min(away, least - 1e-3) : away;
    if (far < least) [best, least] = [value, far];
  }
  return best;
}

function watch(svg) {
  let step = -1, waiting = false;
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "application");
  svg.setAttribute("aria-roledescription", "figure, arrow keys step through its values");
  svg.addEventListener("pointermove", (event) => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      tell(svg, nearest(svg, event.clientX, event.clientY));
    });
  });
  svg.addEventListener("pointerleave", () => requestAnimationFrame(() => tell(svg, null)));
  svg.addEventListener("blur", () => tell(svg, null));
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") tell(svg, null);
    if (event.key === "Enter") svg.querySelector(".near")?.dispatchEvent(new Event("click"));
    const marks = values(svg).filter(({ mark }) => mark && !mark.matches(".faded, [hidden]"));
    if (!by || !marks.length) return;
    event.preventDefault();
    step = (step + by + marks.length) % marks.length;
    tell(svg, marks[step]);
  });
}

for (const kind of ["scroll", "resize"]) { // the mark is elsewhere then
  addEventListener(kind, () => { tip.hidden = true; }, { capture: true, passive: true });
}

for (const title of all("figure title")) { // else the browser would show a second one
  title.parentNode.dataset.tip = title.textContent;
  title.remove();
}
for (const figure of all("figure")) {
  watch(figure.querySelector(":scope > svg"));
  if (!(figure.id in data.csv)) continue;
  const caption = figure.querySelector("figcaption");
  const button = make("button", { type: "button", class: "save", "aria-label": `Save the data of “${caption.textContent}” as CSV` }, "CSV");
  button.addEventListener("click", () => save(figure.dataset.file, data.csv[figure.id]));
  figure.prepend(button);
}

// Pickers: a dataset hides what is about others, a model stands out.
const pickers = byId("pickers"), pickDataset = byId("pick-dataset"), pickModel = byId("pick-model");
let follow = () => {}; // what the edge browser does with a chosen dataset

function pick() {
  const dataset = pickDataset.value, model = pickModel.value;
  for (const part of all("figure[data-dataset], .study, tr[data-dataset]")) {
    const other = part.matches("figure[data-model]") && model && part.dataset.model !== model;
    part.hidden = Boolean((dataset && part.dataset.dataset !== dataset) || other);
  }
  for (const part of all("figure[data-model]:not([data-dataset])")) part.hidden = Boolean(model && part.dataset.model !== model);
  for (const table of all(".columns table")) {
    const heads = all("thead th", table).map((head) => head.textContent);
    const chosen = heads.indexOf(dataset);
    for (const row of table.rows) {
      [...row.cells].forEach((cell, k) => { cell.hidden = chosen > 0 && k > 0 && k !== chosen; });
    }
  }
  for (const row of all("main tbody tr")) {
    const name = row.cells[0].textContent;
    row.classList.toggle("picked", Boolean(model) && (name === model || name.startsWith(`${model} …`)));
  }
  for (const mark of all("[data-model]", byId("main"))) {
    if (!mark.matches("figure, tr")) mark.classList.toggle("faded", Boolean(model) && mark.dataset.model !== model);
  }
  for (const mark of all("figure .value[data-dataset]")) mark.toggleAttribute("hidden", Boolean(dataset) && mark.dataset.dataset !== dataset);
  for (const section of all("section[id^=study-]")) section.hidden = all(".study", section).every((part) => part.hidden);
  for (const link of all("nav a")) link.parentNode.hidden = byId(link.hash.slice(1)).hidden;
  const chosen = [model, dataset].filter(Boolean).join(" on ");
  byId("picked").replaceChildren(...(chosen ? ["Shown: ", byId("cell") ? make("a", { href: "#cell" }, chosen) : chosen] : []));
  showCell();
  follow(dataset);
  giveRoom();
}

// A table that is too wide for its place among the figures has a row of its own.
function giveRoom() {
  const tables = all(".beside > .wide");
  tables.forEach((table) => table.parentNode.classList.remove("own"));
  const tight = tables.filter((table) => table.scrollWidth > table.clientWidth);
  tight.forEach((table) => table.parentNode.classList.add("own"));
}

addEventListener("resize", giveRoom);
addEventListener("beforeprint", () => all("details.legend").forEach((legend) => { legend.open = true; }));
pickers.addEventListener("change", pick);
pickers.addEventListener("submit", (event) => event.preventDefault());
pickers.addEventListener("reset", () => setTimeout(pick));
byId("table1")?.addEventListener("click", (event) => {
  const cell = event.target.closest("td");
  if (!cell?.textContent) return;
  const heads = all("thead th", cell.closest("table"));
  pickDataset.value = heads[cell.cellIndex].textContent;
  pickModel.value = cell.parentNode.cells[0].textContent.split(" …")[0];
  pick();
  byId("cell").scrollIntoView();
});

// One cell: the chosen one; of what is not chosen, HDP or the first there is.
function showCell() {
  const card = byId("cell-card");
  if (!card) return;
  const fits = data.cells.filter((cell) => (!pickDataset.value || cell.dataset === pickDataset.value) && (!pickModel.value || cell.model === pickModel.value));
  const cell = fits.find(({ model }) => model === "HDP") ?? fits[0];
  if (!cell) {
    card.replaceChildren(make("p", { class: "missing" }, "There is no cell of this model on this dataset."));
    return;
  }
  const spread = cell.std === null ? "" : ` ± ${percent(cell.std)}`;
  const paper = cell.paper === null ? "The paper has no number for it."
    : `The paper: ${percent(cell.paper)}; the difference is ${percent(cell.mean - cell.paper)} points`
      + (cell.errors === null ? "." : `, ${cell.errors.toFixed(1).replace("-", "−")} standard errors of our mean.`);
  const pairs = (facts) => Object.entries(facts).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, String(value))]);
  const settings = Object.entries(cell.config).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  const words = make("div", {},
    make("h3", {}, `${cell.model} on ${cell.dataset}`),
    make("p", { class: "big" }, `${percent(cell.mean)}${spread} %`),
    make("p", {}, `Mean ${cell.metric} on the test nodes of ${cell.splits.length} splits. ${paper}`),
    make("p", {}, cell.chosen),
    make("dl", {}, ...pairs(cell.facts)));
  card.replaceChildren(
    make("div", { class: "card" }, splitFigure(cell), words),
    make("details", {}, make("summary", {}, "All settings"), make("dl", { class: "settings" }, ...settings)));
}

// Two to six round numbers between two others.
function ticks(low, high) {
  const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((k) => k * power >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(10)));
}

function splitFigure(cell) {
  const svg = make("svg", { viewBox: "0 0 400 250", "aria-label": `Test and validation scores of ${cell.model} on ${cell.dataset}, by split` });
  const found = cell.splits.flatMap(([, test, validation]) => [test, validation]);
  const least = Math.min(...found), room = 0.06 * (Math.max(...found) - least) || 0.01;
  const low = least - room, high = Math.max(...found) + room;
  const y = (score) => 200 - (190 * (score - low)) / (high - low);
  const x = (k) => 52 + (340 * (k + 0.5)) / cell.splits.length;
  const axes = make("g", { class: "axes" });
  for (const score of ticks(100 * low, 100 * high)) {
    const at = y(score / 100);
    axes.append(make("path", { d: `M46 ${at}H394` }), make("text", { "text-anchor": "end", x: 40, y: at + 4 }, String(score)));
  }
  svg.append(axes, make("path", { class: "rule", d: `M46 ${y(cell.mean)}H394` }));
  cell.splits.forEach(([split, test, validation], k) => {
    axes.append(make("text", { "text-anchor": "middle", x: x(k), y: 222 }, split));
    for (const [name, score, color, aside] of [["validation", validation, "#4477aa", 4], ["test", test, "#d95f02", -4]]) {
      const shape = name === "test" ? make("circle", { class: "mark", r: 4.6 }) : make("path", { class: "mark hollow", d: "M-4-4H4V4H-4Z" });
      svg.append(make("g", { class: "value", style: `--k:${color}`, "data-tip": `split ${split}: ${name} ${percent(score)} %` },
        make("g", { transform: `translate(${x(k) + aside} ${y(score)})` }, shape)));
    }
  });
  axes.append(make("text", { class: "label", "text-anchor": "middle", x: 220, y: 243 }, "split; round: test, square: validation, dashed: mean"));
  const button = make("button", { type: "button", class: "save", "aria-label": "Save these scores as CSV" }, "CSV");
  button.addEventListener("click", () => save(csvName("cell", cell.dataset, cell.model), csv([["split", "test", "validation"], ...cell.splits])));
  watch(svg);
  return make("figure", {}, button, make("figcaption", {}, `Scores by split: ${cell.metric} in %`), svg);
}

// Edge browser.
function browseEdges() {
  const [chosen, among, input] = ["e-dataset", "e-among", "e-node"].map(byId);
  const MOST = 24; // neighbors that are drawn
  const ONE = "#d95f02", TWO = "#4477aa";
  let graph, order, at = 0;
  const name = (k) => (graph.labels[k] < 0 ? "unknown" : graph.classes[graph.labels[k]]);
  const color = (k) => (graph.labels[k] < 0 ? "#999999" : graph.colors[graph.labels[k]]);
  const best = (k) => graph.predicted[k].indexOf(Math.max(...graph.predicted[k]));
  const truth = (a, b) => (graph.labels[a] < 0 || graph.labels[b] < 0 ? "unknown" : graph.labels[a] === graph.labels[b] ? "one class" : "two classes");
  const verdict = (marked) => (marked ? "homophilous" : "heterophilous");
  const probable = (p) => (p < 0.0001 ? "<0.0001" : p.toFixed(4));
  const wrong = (k) => graph.labels[k] >= 0 && best(k) !== graph.labels[k];
  const rows = (i) => graph.neighbors[i].map((k, j) => ({ k, p: graph.probability[i][j], marked: graph.homophilous[i][j] }));
  const misjudged = (i) => rows(i).some(({ k, marked }) => truth(graph.centers[i], k) === (marked ? "two classes" : "one class"));
  const kinds = { all: () => true, test: (i) => graph.parts[graph.part[graph.centers[i]]] === "test", wrong: (i) => wrong(graph.centers[i]), mixed: misjudged };

  function choose() {
    graph = data.edges[chosen.value];
    order = graph.centers.map((k, i) => i).filter(kinds[among.value]).sort((a, b) => graph.centers[a] - graph.centers[b]);
    at = Math.max(0, order.findIndex((i) => graph.neighbors[i].length > 3));
    show();
  }

  function go(id) {
    const place = order.findIndex((i) => graph.ids[graph.centers[i]] === id);
    if (place >= 0) at = place;
    show(place >= 0 ? "" : `Node ${id} is not in this choice. Still shown: `);
  }

  function show(said = "") {
    const here = graph.centers.length, whole = graph.total.nodes;
    const some = here < whole ? `a random sample of ${here.toLocaleString("en")} of ${whole.toLocaleString("en")} nodes` : `all ${whole.toLocaleString("en")} nodes`;
    if (!order.length) {
      byId("e-said").textContent = `No such node among ${some}.`;
      for (const part of ["e-graph", "e-facts"]) byId(part).replaceChildren();
      byId("e-table").tBodies[0].replaceChildren();
      return;
    }
    const i = order[at], center = graph.centers[i], id = graph.ids[center], found = rows(i);
    input.value = id;
    byId("e-said").textContent = `${said}Node ${id}, ${at + 1} of ${order.length} in this choice. ${graph.dataset}, split ${graph.split}: ${some} of the graph.`;
    draw(center, found);
    facts(center, found);
    byId("e-table").tBodies[0].replaceChildren(...found.map((row) => line(center, row)));
    all("#e-table th").forEach((head) => head.removeAttribute("aria-sort"));
  }

  function node(k, x, y, r, text) {
    const made = make("g", { class: "node", style: `--k:${color(k)}`, transform: `translate(${x} ${y})`, "data-tip": text },
      make("circle", { r }), make("text", { style: `font-size:${Math.min(Math.max(0.85 * r, 8), 11)}px` }, name(k).slice(0, 3)));
    if (order.some((i) => graph.centers[i] === k)) {
      made.classList.add("go");
      made.addEventListener("click", () => go(graph.ids[k]));
    }
    return made;
  }

  // Homophilous neighbors stand to the left, the others to the right. How far a neighbor is says its
  // probability and nothing else, so a crowd is made of smaller ones.
  function draw(center, found) {
    const svg = byId("e-graph"), shown = found.length > MOST ? [...found.slice(0, MOST / 2), ...found.slice(-MOST / 2)] : found;
    const sides = [shown.filter((row) => row.marked), shown.filter((row) => !row.marked)];
    const lines = [], nodes = [], far = (p) => 80 + 100 * (1 - p);
    sides.forEach((side, right) => side.forEach(({ k, p, marked }, j) => {
      const angle = (right ? 0 : Math.PI) + 0.94 * Math.PI * ((j + 0.5) / side.length - 0.5);
      const x = 200 + far(p) * Math.cos(angle), y = 205 + far(p) * Math.sin(angle);
      const size = Math.min(13, (0.46 * Math.PI * far(Math.max(...side.map((row) => row.p)))) / side.length);
      lines.push(make("path", { class: marked ? "edge" : "edge other", style: `--k:${marked ? ONE : TWO}`, d: `M200 205L${x} ${y}` }));
      nodes.push(node(k, x, y, size, `node ${graph.ids[k]}, class ${name(k)}: called ${verdict(marked)}, P ${p < 0.0001 ? "" : "= "}${probable(p)}; truth: ${truth(center, k)}`));
    }));
    tell(svg, null);
    svg.values = null;
    svg.setAttribute("aria-label", `Node ${graph.ids[center]} and ${shown.length} of its neighbors; the table below has the same`);
    const heads = ["homophilous", "heterophilous"].map((text, k) => make("text", { class: "note", x: k ? 396 : 4, y: 8, style: `--k:${k ? TWO : ONE};text-anchor:${k ? "end" : "start"}` }, `${graph.called[center][k]} called ${text}`));
    svg.replaceChildren(...lines, ...nodes, node(center, 200, 205, 19, `node ${graph.ids[center]}, class ${name(center)}`), ...heads);
  }

  function facts(center, found) {
    const [same, other] = graph.called[center], whole = same + other, part = graph.parts[graph.part[center]];
    const bars = graph.predicted[center].map((p, k) => [
      make("dt", {}, `${graph.classes[k]}${k === graph.labels[center] ? " (true)" : ""}`),
      make("dd", {}, make("span", { class: "bar", style: `--k:${graph.colors[k]};width:${70 * p}%` }), ` ${percent(p, 1)} %`)]);
    const left = found.length < whole ? ` Here is a sample of ${found.length}.` : "";
    const drawn = found.length > MOST ? ` Drawn are the ${MOST / 2} most and the ${MOST / 2} least probable.` : "";
    byId("e-facts").replaceChildren(
      make("h3", {}, `Node ${graph.ids[center]}`),
      make("p", {}, `A ${{ train: "training ", none: "" }[part] ?? `${part} `}node of class ${name(center)}, `
        + `${graph.labels[center] < 0 ? "predicted" : wrong(center) ? "wrongly predicted" : "rightly predicted"}: ${graph.classes[best(center)]}.`),
      make("p", {}, `${whole} neighbors: ${same} called homophilous, ${other} heterophilous.${left}${drawn}`
        + (graph.threshold === null ? "" : ` The threshold is P = ${graph.threshold.toFixed(4)}.`)),
      make("h3", {}, "Probability of each class"), make("dl", {}, ...bars.flat()));
  }

  function line(center, { k, p, marked }) {
    const there = order.some((i) => graph.centers[i] === k);
    const link = there ? make("button", { type: "button", "aria-label": `Go to node ${graph.ids[k]}` }, String(graph.ids[k])) : String(graph.ids[k]);
    if (there) link.addEventListener("click", () => { go(graph.ids[k]); byId("e-node").focus(); });
    const right = truth(center, k) === "unknown" ? "" : (truth(center, k) === "one class") === Boolean(marked) ? " ✓" : " ✗";
    const guess = `${graph.classes[best(k)]} (${percent(Math.max(...graph.predicted[k]), 0)} %)`;
    return make("tr", {}, make("th", { scope: "row" }, link), make("td", { "data-value": p }, probable(p)),
      make("td", { class: "word" }, make("span", { class: "verdict", style: `--k:${marked ? ONE : TWO}` }, verdict(marked) + right)),
      ...[truth(center, k), name(k), guess, graph.parts[graph.part[k]]].map((text) => make("td", { class: "word" }, text)));
  }

  const turn = (by) => { if (order.length) { at = (at + by + order.length) % order.length; show(); } };
  chosen.addEventListener("change", choose);
  among.addEventListener("change", choose);
  input.addEventListener("change", () => (input.value === "" ? show() : go(Number(input.value))));
  byId("e-back").addEventListener("click", () => turn(-1));
  byId("e-on").addEventListener("click", () => turn(1));
  byId("e-any").addEventListener("click", () => turn(1 + Math.floor(Math.random() * Math.max(order.length - 1, 1))));
  byId("e-save").addEventListener("click", () => {
    const body = [...byId("e-table").tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.dataset.value ?? cell.textContent));
    save(csvName("edges", graph.dataset, "node", input.value), csv([all("#e-table thead th").map((head) => head.textContent), ...body]));
  });
  follow = (dataset) => {
    const place = data.edges.findIndex((edges) => edges.dataset === dataset);
    byId("e-none").hidden = !dataset || place >= 0;
    byId("e-browser").hidden = !byId("e-none").hidden;
    if (place >= 0 && String(place) !== chosen.value) { chosen.value = place; choose(); }
  };
  choose();
}

if (data.edges.length) browseEdges();
pick();
