// The settings of whatif's page: price, tokens, deadline, failure rate and nodes, for which the page answers itself.
// Their values are those of a command of the program, which is shown.
const POSITIONS = 200;  // of a slider

// A number with a slider on a logarithmic scale from `low` to `high`; any number from `least` to `most` can be typed.
// `value`: the first one, or null if none is stated, for which the slider stands at `usual`.
function numberControl({id, label, unit, value, usual, low, high, least, most, changed}) {
  const at = (v) => Math.round(POSITIONS * Math.log(v / low) / Math.log(high / low));
  const inside = (i) => Math.min(Math.max(i, 0), POSITIONS);
  const of = (i) =>
    (known(value) && i === inside(at(value)) ? value : +(low * (high / low) ** (i / POSITIONS)).toPrecision(3));
  const number = h("input", {type: "number", id, min: least, max: most, step: "any", value: known(value) ? value : ""});
  const range = h("input", {type: "range", min: 0, max: POSITIONS, step: 1, "aria-label": `${label}, ${unit}`});
  const show = (v) => {
    range.value = inside(at(known(v) ? v : usual));
    range.setAttribute("aria-valuetext", known(v) ? `${v} ${unit}` : "not stated");
  };
  const set = (v) => {
    number.value = known(v) ? v : "";
    number.removeAttribute("aria-invalid");
    show(v);
  };
  number.addEventListener("input", () => {
    const v = number.value === "" ? null : Number(number.value);
    const right =
      known(v) ? number.validity.valid && v >= least && v <= most : !known(value) && !number.validity.badInput;
    number.setAttribute("aria-invalid", !right);
    if (!right) return;
    show(v);
    changed(v);
  });
  range.addEventListener("input", () => {
    const v = of(Number(range.value));
    set(v);
    changed(v);
  });
  show(value);
  const words = h("label", {for: id
  }, label);
  return {
    set,
    element: h("div", {class: "control"}, words, h("div", {class: "entry"}, number, h("span", null, unit)), range)
  };
}

// One of a list, by a slider.
function choiceControl({id, label, list, value, changed}) {
  const range = h("input", {type: "range", id, min: 0, max: list.length - 1, step: 1});
  const said = h("output", {for: id
  });
  const set = (v) => {
    range.value = list.indexOf(v);
    said.textContent = count(v, "node");
    range.setAttribute("aria-valuetext", count(v, "node"));
  };
  range.addEventListener("input", () => changed(list[Number(range.value)]));
  set(value);
  return {
    set,
    element: h("div", {class: "control"},
      h("label",
        {for: id
        },
        label),
      h("div", {class: "entry"}, said), range)
  };
}

// Failures of a node as the program took them: stated, or its hosts' together; null if the types' differ.
function firstRate() {
  const own = R.reliability.failure_rate[0], hosts = new Set(R.types.map((t) => t.failing_hosts));
  if (R.rate_is_stated) return own;
  return hosts.size === 1 ? own * [...hosts][0] : null;
}
const statesRate = (s) => R.rate_is_stated || known(s.rate) && s.rate !== firstRate();

function firstSettings() {
  const q = data.question, nodes = data.points.map((p) => p.nodes);
  return {
    tokens: q.tokens,
    deadline: known(q.deadline_days) ? q.deadline_days * DAY : null,
    rate: firstRate(),
    prices: {},
    nodes: [Math.min(...nodes), Math.max(...nodes)]
  };
}

// The program's command for the settings. Every word added here is safe in a shell as it stands.
function commandFor(s) {
  const words = [R.command];
  const nodes = [...new Set(data.points.map((p) => p.nodes))].filter((n) => n >= s.nodes[0] && n <= s.nodes[1]);
  words.push("--nodes " + nodes.sort((a, b) => a - b).join(","));
  if (s.tokens > 0) {
    const [unit, letter] = s.tokens >= 1e12 ? [1e12, "T"] : [1e9, "B"];
    const amount = s.tokens / unit;
    words.push("--tokens " + (amount * unit === s.tokens ? amount + letter : s.tokens));
  }
  if (known(s.deadline)) words.push(`--deadline ${s.deadline / DAY}d`);
  if (statesRate(s)) words.push("--failures-per-node-day " + s.rate);
  if (Object.keys(s.prices).length === 0) return [...words, R.price_words].filter(Boolean).join(" ");
  const prices =
    R.types.map((t) => [t.word, known(s.prices[t.instance]) ? s.prices[t.instance] : t.is_stated && t.usd_per_hour]);
  return [
    ...words, "--price " + prices.filter(([, usd]) => usd !== false).map(([word, usd]) => `${word}=${usd}`).join(",")
  ].join(" ");
}

// The controls, each with reset(). `get` gives the settings, `change` merges others into them.
function controlsOf(get, change) {
  const first = firstSettings(), all = [];
  const add = (control, value) => all.push({element: control.element, reset: () => control.set(value)});
  const number = (options) => add(numberControl(options), options.value);
  const around = (v, factor) => ({value: v, usual: v, low: v / factor, high: v * factor});
  if (R.tokens) {
    const [low, high] = R.tokens.map((t) => t / 1e9);
    const value = first.tokens / 1e9, changed = (v) => change({tokens: v * 1e9});
    number({
      id: "set-tokens",
      label: "Tokens",
      unit: "billion",
      value,
      usual: value,
      low,
      high,
      least: low,
      most: high,
      changed
    });
  }
  const usual = known(first.deadline) ? first.deadline / DAY : data.points.find((p) => p.strategy).days;
  number({
    ...around(usual, 8),
    id: "set-deadline",
    label: "Deadline",
    unit: "days",
    value: known(first.deadline) ? usual : null,
    least: 0.01,
    most: 1e5,
    changed: (v) => change({deadline: known(v) ? v * DAY : null})
  });
  const [least, most] = R.rate_limits;
  number({
    ...around(first.rate ?? R.reliability.failure_rate[0], 20),
    value: first.rate,
    id: "set-rate",
    label: "Failures",
    unit: "per node and day",
    least,
    most,
    changed: (v) => change({rate: v})
  });
  R.types.forEach((type, i) => {
    const price = type.usd_per_hour;
    number({
      ...around(known(price) && price > 0 ? price : 20, 4),
      id: "set-price-" + i,
      label: R.types.length > 1 ? "Price of " + type.instance : "Price of a node",
      unit: "USD/h",
      value: price,
      least: 0.01,
      most: 1e6,
      changed: (v) => {
        const prices = {...get().prices, [type.instance]: v};
        if (v === price || !known(v)) delete prices[type.instance];
        change({prices});
      }
    });
  });
  const list = [...new Set(data.points.map((p) => p.nodes))].sort((a, b) => a - b);
  if (list.length > 1) {
    const ends = [["set-fewest", "Fewest nodes"], ["set-most", "Most nodes"]].map(([id, label], end) => choiceControl({
      id,
      label,
      list,
      value: first.nodes[end],
      changed: (n) => {
        const nodes = [...get().nodes];
        nodes[end] = n;
        nodes[1 - end] = end === 0 ? Math.max(n, nodes[1]) : Math.min(n, nodes[0]);
        ends.forEach((c, i) => c.set(nodes[i]));
        change({nodes});
      }
    }));
    ends.forEach((c, end) => add(c, first.nodes[end]));
  }
  return all;
}

// The section with the controls; `draw` shows an answer to settings; null is that of the page's data.
function settingsPart(draw) {
  if (R.why_not) return section("settings", "Other settings", para(`This page holds one answer only: ${R.why_not}.`));
  let s = firstSettings(), running = 0;
  const said = h("p", {role: "status"}), shown = h("div", {class: "command"});
  const part = h("section", {id: "settings", "data-state": "done", "data-changed": false});
  const say = (answer) => {
    part.dataset.changed = answer !== null;
    const a = answer || data, best = a.recommended >= 0 ? a.points[a.recommended] : null;
    said.textContent = (answer ? "Recomputed in this page. " : "") +
      (best ? spoken(best, s) :
              `No cluster keeps the limits: ${a.reason}.${answer ? " The command also tries larger ones." : ""}`);
    shown.replaceChildren(...commandBox(commandFor(s)));
  };
  const change = (more) => {
    s = {...s, ...more};
    const mine = ++running, work = recomputed(s);
    part.dataset.state = "running";
    said.textContent = "Recomputing …";
    const go = () => {
      if (mine !== running) return;
      for (const end = performance.now() + 40; performance.now() < end;) {
        const {done, value} = work.next();
        if (!done) continue;
        part.answer = value;
        draw(value, s);
        say(value);
        part.dataset.state = "done";
        return;
      }
      setTimeout(go);
    };
    setTimeout(go);
  };
  const controls = controlsOf(() => s, change);
  const reset = () => {
    ++running;
    s = firstSettings();
    for (const c of controls) c.reset();
    part.answer = null;
    draw(null);
    say(null);
    part.dataset.state = "done";
  };
  part.append(h("h2", null, "Other settings"),
    para("What changes here is recomputed in this page, by the program's formulas, for the clusters it compared. " +
      "Prices are per node and hour" + (R.discounted ? ", before discounts" : "") + "; " +
      (R.term_seconds > 0 ? "whole terms are paid; " : "") + "the spread of the failure rate stays."),
    h("div", {class: "controls"}, controls.map((c) => c.element)),
    h("div", {class: "buttons"}, h("button", {type: "button", class: "reset", onclick: reset}, "reset")), said,
    para("The program says the same:"), shown);
  say(null);
  page.append(part);
  return part;
}

// What the answer is, in a line.
function spoken(best, s) {
  const far = data.question.asks_for_tokens;
  return `Take ${place(best)}: ` + (far ? `${tokensText(best.tokens_50)} tokens` : `${best.days.toFixed(1)} days`) +
    (known(best.usd) ? `, ${usd(best.usd)} USD` : "") +
    (known(s.deadline) && !far ? `; in time with ${probability(worksOf(best) * best.deadline_probability)}` : "") + ".";
}
