"use strict";
// What all parts of a page use: elements, numbers as people read them, words. Names that a person gave only ever become
// text nodes; no text is ever read as HTML.
const data = JSON.parse(document.getElementById("data").textContent);

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "style")
      Object.assign(element.style, value);
    else if (key.startsWith("on"))
      element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(key, value);
  }
  for (const child of children.flat(9)) {
    if (child !== null && child !== undefined && child !== false)
      element.append(child instanceof Node ? child : String(child));
  }
  return element;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// Numbers.
const grouped = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
const seconds = (v) => (v >= 1000 ? v.toFixed(0) :
    v >= 100                      ? v.toFixed(1) :
    v >= 0.1 || v === 0           ? v.toFixed(2) :
                                    v.toPrecision(2));
const GIB = 1024 ** 3;
// A whole number; of two equally near the even one, as the program prints.
const roundedEven = (v) => {
  const near = Math.round(v);
  return String(Math.abs(v % 1) === 0.5 && near % 2 !== 0 ? near - 1 : near);
};
const gib = (bytes) => (bytes / GIB).toFixed(2);
const percent = (share, digits = 1) => (100 * share).toFixed(digits) + " %";
// Never 0 % or 100 %: a model that works out exactly 0 or 1 is not that sure.
const probability = (p) => (p > 0.999 ? "> 99.9 %" : p < 0.001 ? "< 0.1 %" : percent(p));
const usd = (v) => (v >= 1000 ? grouped(v) : v.toFixed(2));
const count = (n, one, many) => grouped(n) + " " + (n === 1 ? one : many || one + "s");
const known = (v) => v !== null && v !== undefined;
const sum = (list) => list.reduce((a, b) => a + b, 0);

// Words.
const CORE = (data.machine && data.machine.core_word) || data.core_word || "core";
const GPU = CORE === "GPU";
const CATEGORIES = [
  "compute", "tensor_parallel", "context_parallel", "expert_parallel", "pipeline", "bubble", "data_parallel",
  "optimizer", "overhead"
];
const CAUSE = {
  compute: "compute",
  tensor_parallel: "tensor parallel",
  context_parallel: "context parallel",
  expert_parallel: "expert parallel",
  pipeline: "pipeline sends",
  bubble: "pipeline bubble",
  data_parallel: "data parallel",
  optimizer: "optimizer",
  overhead: "overhead"
};
const RESOURCE = {
  tensor: GPU ? "matrix products (tensor cores)" : "the tensor engine",
  vector: GPU ? "element-wise kernels" : "the vector engines",
  hbm: "memory bandwidth (HBM)",
  dma: GPU ? "the copy engines" : "the DMA engines",
  link: "links inside a node",
  efa: "the network between nodes",
  latency: "latency of collectives and messages",
  launch: GPU ? "launching kernels" : "launching graphs"
};
const STARTS = GPU ? "fits and starts" : "fits, compiles and starts";
const IS_DURATION = {
  latency: true,
  launch: true
};

function degrees(s) {
  const parts = [
    ["TP", s.tensor_parallel], ["PP", s.pipeline_parallel], ["CP", s.context_parallel], ["EP", s.expert_parallel],
    ["DP", s.data_parallel]
  ].filter(([,
     n]) => n > 1).map(([name, n]) => name + " " + n);
  return (parts.join(" x ") || "one " + CORE) +
    (s.virtual_pipeline > 1 ? `, ${s.virtual_pipeline} virtual stages each` : "");
}
const layout = (s) => degrees(s) + (s.micro_batch > 1 ? ", micro-batch " + s.micro_batch : "");
const recompute = (s) => s.recomputed;
function whole(s) {
  let text = layout(s);
  if (s.tensor_parallel > 1 && !s.sequence_parallel) text += ", no sequence parallel";
  if (s.sharding_words !== "ZeRO-1") text += ", " + s.sharding_words;
  if (!s.flash_attention) text += ", plain attention";
  text += ", " + recompute(s);
  if (s.schedule !== "1f1b" && s.schedule !== "interleaved") text += ", schedule " + s.schedule;
  const cuts = s.pipeline_cuts;
  if (cuts.length > 0) text += ", cuts " + (cuts.length > 8 ? cuts.slice(0, 8).join("/") + "/…" : cuts.join("/"));
  return text;
}
const some = (list, most, of = (x) => x) =>
  list.slice(0, most).map(of).join(", ") + (list.length > most ? ` and ${list.length - most} more` : "");

// Parts of a page.
const page = document.getElementById("page");
const para = (...children) => h("p", null, ...children);
const strong = (text) => h("strong", null, text);
const code = (text) => h("code", null, text);
// Where sections are appended: the page, or a part of it that is drawn anew.
let partsGo = page;
function drawnIn(box, draw) {
  box.replaceChildren();
  partsGo = box;
  draw();
  partsGo = page;
}
function section(id, title, ...children) {
  const part = h("section", {id}, h("h2", null, title), ...children);
  partsGo.append(part);
  return part;
}
// A number that stands for an answer: what it is, the number, what to know about it.
const tile = (id, label, value, note) => h("div", {class: "tile", id}, h("div", {class: "label"}, label),
  h("div", {class: "value"}, value), note ? h("div", {class: "note"}, note) : null);

function copied(text) {
  const old = () => {  // for pages opened from a file where the clipboard is not offered
    const area = h("textarea", null, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };
  if (navigator.clipboard)
    navigator.clipboard.writeText(text).catch(old);
  else
    old();
}
// A command, and the button that copies it.
function commandBox(command) {
  const button = h("button", {
    type: "button",
    class: "copy",
    onclick: () => {
      copied(command);
      button.textContent = "copied";
      setTimeout(() => {
        button.textContent = "copy";
      }, 1500);
    }
  },
    "copy");
  return [h("pre", null, command), button];
}
const commands = (list) => h("ol", {class: "commands"},
  list.map((c) => h("li", null, h("span", null, c.what), h("div", {class: "command"}, commandBox(c.command)))));
// A strategy in a table: its line may break after a comma or a plus.
const grammar = (words) => h("code", null, words.split(/(?<=[,+])/).map((part) => [part, h("wbr")]));
// Scrolls in its box where it is wider than the page.
function table(head, rows, numeric = []) {
  const cell = (tag, value, i) => h(tag, {class: numeric.includes(i) ? "n" : null}, value);
  return h("div", {class: "scroll", tabindex: 0},
    h("table", null, h("thead", null, h("tr", null, head.map((x, i) => cell("th", x, i)))),
      h("tbody", null, rows.map((row) => h("tr", {class: row.mark || null}, row.map((x, i) => cell("td", x, i)))))));
}
const numbers = (label, ...children) => h("details", null, h("summary", null, label), ...children);
const capped = (shown, all, what) => shown < all ?
  h("p", {class: "capped"}, `${grouped(shown)} of ${grouped(all)} ${what} are shown; --format json lists all.`) :
  null;
function remarks() {
  if (data.remarks.length === 0) return;
  section("remarks", "What was assumed, and what to know",
    h("ul", {class: "remarks"}, data.remarks.map((r) => h("li", null, r))));
}
function footer(...more) {
  page.append(h("footer", null, "trnplan " + data.version, more.filter(known).map((m) => [" · ", m]),
    ". This file is complete: it needs no network."));
}
