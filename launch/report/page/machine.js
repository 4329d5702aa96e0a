// The chips of a node with their links, coloured by the groups that their cores are in.
const KIND = {
  tp: "tensor parallel",
  pp: "pipeline stage",
  dp: "data parallel",
  cp: "context parallel",
  kv: "copies of KV heads"
};

function places(machine) {
  const n = machine.chips, per = machine.rows * machine.columns;
  if (per > 0 && per * machine.depth === n) {  // one torus next to the other
    const across = Math.ceil(Math.sqrt(machine.depth));
    return {
      columns: across * (machine.columns + 0.6) - 0.6,
      rows: Math.ceil(machine.depth / across) * (machine.rows + 0.6) - 0.6,
      torus: true,
      at: (c) => {
        const k = Math.floor(c / per), i = c % per;
        return [
          (k % across) * (machine.columns + 0.6) + (i % machine.columns),
          Math.floor(k / across) * (machine.rows + 0.6) + Math.floor(i / machine.columns)
        ];
      }
    };
  }
  const columns = n > 8 ? Math.ceil(Math.sqrt(n)) : n;
  return {columns, rows: Math.ceil(n / columns), torus: false, at: (c) => [c % columns, Math.floor(c / columns)]};
}

function nodePicture(machine, label, cellClass, cellWords, red) {
  const p = places(machine);
  return chart(label, (width) => {
    const cell = Math.min(p.torus ? 84 : 76, (width - 50) / p.columns), box = cell * 0.62, pad = 24;
    const bar = machine.switches > 0 ? 34 : 0;
    const x = (c) => pad + p.at(c)[0] * cell + (cell - box) / 2,
          y = (c) => bar + pad + p.at(c)[1] * cell + (cell - box) / 2;
    const height = bar + pad * 2 + p.rows * cell, middle = box / 2;
    const links = machine.links.slice(0, 600).map(([a, b]) => {
      if (a >= machine.chips || b >= machine.chips) {  // to a switch, which is drawn as one bar
        const c = Math.min(a, b);
        return c < machine.chips && p.at(c)[1] === 0 ? line(x(c) + middle, 24, x(c) + middle, y(c), {class: "link"}) :
                                                       null;
      }
      const [ax, ay] = p.at(a), [bx, by] = p.at(b), dx = bx - ax, dy = by - ay;
      if (Math.abs(dx) + Math.abs(dy) <= 1.01)
        return line(x(a) + middle, y(a) + middle, x(b) + middle, y(b) + middle, {class: "link"});
      if (dx !== 0 && dy !== 0) return null;  // between two tori
      // Around the end: a stub on each side.
      const [ux, uy] = [Math.sign(dx), Math.sign(dy)], reach = cell * 0.42;
      return [[a, -1], [b, 1]].map(
        ([c, s]) => line(x(c) + middle, y(c) + middle, x(c) + middle + s * ux * (middle + reach),
          y(c) + middle + s * uy * (middle + reach), {class: "link around"}));
    });
    const cores = machine.cores_per_chip, across = Math.ceil(Math.sqrt(cores)), down = Math.ceil(cores / across);
    const chips = [...Array(machine.chips).keys()].map(
      (c) => svg("g", {class: "mark-chip" + (red && red.includes(c) ? " mark-red" : "")}, title(cellWords(c)),
        rect(x(c), y(c), box - 1, box - 1, {class: "under", rx: 3}),
        [...Array(cores).keys()].map(
          (k) => rect(x(c) + (k % across) * box / across, y(c) + Math.floor(k / across) * box / down, box / across - 1,
            box / down - 1, {class: "core " + cellClass(c * cores + k)})),
        rect(x(c), y(c), box - 1, box - 1, {class: "chip", rx: 3}),
        text(x(c) + middle, y(c) + middle + 4, String(c), {"text-anchor": "middle", class: "chip-name"})));
    const pair = red && red.length === 2 ?
      line(x(red[0]) + middle, y(red[0]) + middle, x(red[1]) + middle, y(red[1]) + middle, {class: "refused-pair"}) :
      null;
    return [
      height,
      bar > 0 ?
        [
          rect(pad, 6, Math.max(80, p.columns * cell), 18, {class: "switch", rx: 4}),
          text(pad + 8, 19, "switch", {class: "tick"})
        ] :
        null,
      links, chips, pair
    ];
  });
}

function machinePart(machine, refused) {
  const holder = h("div"), kinds = machine.kinds.filter((k) => k.ranks > 1);
  const words = h("p"), chip = GPU ? "GPU" : "chip";
  const node = machine.nodes > 1 ? `The first of ${machine.nodes} nodes` : "The node";
  const devices = machine.cores_per_chip === 1 ? "GPUs" : "devices";
  let what = `${machine.chips} ${GPU ? devices : "chips"}`;
  if (machine.cores_per_chip > 1) what += ` of ${machine.cores_per_chip} ${CORE}s`;
  if (machine.switches > 0) {
    what += " behind a switch";
  } else if (machine.rows > 0) {
    what += `, a ${machine.rows} x ${machine.columns} torus`;
    if (machine.depth > 1) what += `, ${machine.depth} of them`;
    what += "; short line ends wrap around to the other side";
  }
  const show = (k, button) => {
    for (const b of buttons) b.setAttribute("aria-pressed", String(b === button));
    const colour = (core) => (k.cores[core] < 0 ? "none" : "g-" + (k.cores[core] % 8));
    const per = machine.cores_per_chip;
    const group = k.kind === "pp" ? "stage " : "group ";
    const groups = (c) => [...new Set(k.cores.slice(c * per, (c + 1) * per))].map((g) => group + g).join(", ");
    holder.replaceChildren(nodePicture(machine, "Groups on a node", colour, (c) => `${chip} ${c}: ${groups(c)}`));
    const meaning = k.kind === "pp" ?
      "Colours are pipeline stages. Messages between them" :
      `${count(k.groups, KIND[k.kind] + " group")} of ${k.ranks} ${CORE}s, one colour each`;
    words.textContent = `${meaning}: ${k.verdict} (${k.rule}: ${k.message}).`;
    drawAll();
  };
  const buttons = kinds.map((k) => {
    const b = h("button", {type: "button", onclick: () => show(k, b)}, KIND[k.kind]);
    return b;
  });
  const pair = refused.find((r) => r.rule === "replica-group" && r.chips.length > 0);
  if (kinds.length === 0 && !pair) return;
  section("machine", "Who talks to whom", para(`${node}, ${machine.instance}: ${what}.`),
    h("div", {class: "side-by-side"},
      kinds.length > 0 ? h("div", null, h("div", {class: "buttons"}, buttons), holder, words) : null,
      pair ?
        h("div", null,
          h("h3", null, pair.doubtful ? "Doubtful: " + degrees(pair.strategy) : "Refused: " + degrees(pair.strategy)),
          para(`In red, the ${GPU ? "GPUs" : "chips"} ${some(pair.chips, 16)}: ${pair.message}`,
            pair.fix ? h("span", {class: "fix"}, " Fix: " + pair.fix) : null),
          nodePicture(machine, "A refused group", () => "plain", (c) => `${chip} ${c}`, pair.chips)) :
        null));
  if (kinds.length > 0) show(kinds[0], buttons[0]);
}
