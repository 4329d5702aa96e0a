// The step as it runs: stages down, time across. Drag moves it, the buttons and the wheel with Ctrl zoom.
function timelinePart(step) {
  const t = step && step.timeline;
  if (!t || t.slices.length === 0) {
    section("timeline", "The step on a timeline", para("This step has too many passes to be drawn one by one."));
    return;
  }
  const busy = new Set(t.slices.map((s) => s[0]));
  const tracks = t.tracks.map((track, i) => track && {...track, i}).filter((x) => x && busy.has(x.i));
  const rows = new Map(tracks.map((x, row) => [x.i, row]));
  const stages = new Set(tracks.map((x) => x.stage)).size;
  const rowHeight = tracks.length > 40 ? 12 : tracks.length > 12 ? 18 : 26, left = tracks.length > 40 ? 34 : 76;
  const view = {from: 0, to: t.end_microseconds};
  const said = h("p", {class: "readout", "aria-live": "polite"}, "Point at a slice, or tap it, to read what it is.");
  const depth = depths(t.slices);
  const words = ([track, start, length, name, batch, chunk]) =>
    `${t.names[name][0]} (${CAUSE[t.names[name][1]] || t.names[name][1]})${
      batch >= 0 ? ", micro-batch " + (batch + 1) : ""}${chunk >= 0 ? ", chunk " + (chunk + 1) : ""}, ` +
    `${t.tracks[track].cores}${t.tracks[track].name === "compute" ? "" : ", " + t.tracks[track].name}: ` +
    `${seconds(length / 1e6)} s from ${seconds(start / 1e6)} s`;
  let moved = null, redraw = null;
  const box = chart("Timeline of the step", (width) => {
    const right = width - 4, height = tracks.length * rowHeight, span = right - left;
    const pixel = span / t.end_microseconds, moving = svg("g");
    const axis = svg("g");
    const place = () => {
      // Places are pixels of the whole step: browsers cut off coordinates of millions.
      const k = t.end_microseconds / (view.to - view.from);
      moving.setAttribute("transform", `translate(${left - view.from * pixel * k} 0) scale(${k} 1)`);
      const x = scale(view.from / 1e6, view.to / 1e6, left, right);
      axis.replaceChildren(
        ...ticks(view.from / 1e6, view.to / 1e6, span / 90)
          .flatMap((v) => [line(x(v), 0, x(v), height, {class: "grid over"}),
                     text(x(v), height + 14, tickText(v), {"text-anchor": "middle", class: "tick"})]),
        text(right, height + 30, "seconds", {"text-anchor": "end", class: "tick"}));
    };
    redraw = place;
    const marks = t.slices.map((s, i) => {
      const category = t.names[s[3]][1], y = rows.get(s[0]) * rowHeight, inner = depth[i] > 0;
      return svg("rect", {
        x: (s[1] * pixel).toFixed(5),
        width: (s[2] * pixel).toFixed(5),
        y: y + (inner ? rowHeight * 0.3 : 1),
        height: inner ? rowHeight * 0.6 : rowHeight - 2,
        class: `mark-slice ${partClass(category)}${inner ? "" : " pass"}${
          t.names[s[3]][0].includes("backward") ? " back" : ""}`
      });
    });
    marks.forEach((mark, i) => {
      mark.slice = t.slices[i];
    });
    moving.addEventListener("pointerover", (e) => {
      if (e.target.slice) said.textContent = words(e.target.slice);
    });
    moving.append(...marks);
    place();
    const clip = svg("clipPath", {id: "span"}, svg("rect", {x: left, y: 0, width: span, height}));
    const area = svg("g", {"clip-path": "url(#span)", class: "zoomable"},
      svg("rect", {x: left, y: 0, width: span, height, class: "ground"}), moving);
    area.addEventListener("pointerdown", (e) => {
      moved = {x: e.clientX, from: view.from, to: view.to};
    });
    area.addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      const at = (e.offsetX - left) / span;
      zoom(e.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, at)));
    }, {passive: false});
    box.span = span;
    return [
      height + 36, clip, area, axis,
      tracks.map((x, row) => rowHeight >= 18 || row % Math.ceil(tracks.length / 32) === 0 ?
          text(left - 5, row * rowHeight + rowHeight / 2 + 4, rowHeight < 18 ? String(x.stage) : rowName(x, stages),
            {"text-anchor": "end", class: "tick"}) :
          null)
    ];
  });
  const set = (from, to) => {
    const least = t.end_microseconds / 20000;
    const span = Math.min(t.end_microseconds, Math.max(least, to - from));
    view.from = Math.min(Math.max(0, from), t.end_microseconds - span);
    view.to = view.from + span;
    if (redraw) redraw();
  };
  const zoom = (factor, at = 0.5) => {
    const middle = view.from + (view.to - view.from) * at, span = (view.to - view.from) * factor;
    set(middle - span * at, middle + span * (1 - at));
  };
  const move = (share) => {
    const by = (view.to - view.from) * share;
    set(view.from + by, view.to + by);
  };
  addEventListener("pointermove", (e) => {
    if (!moved) return;
    const by = (moved.x - e.clientX) / box.span * (moved.to - moved.from);
    set(moved.from + by, moved.to + by);
  });
  addEventListener("pointerup", () => {
    moved = null;
  });
  const button = (words, hint, onclick) =>
    h("button", {type: "button", title: hint, "aria-label": hint, onclick}, words);
  const used = [...new Set(t.slices.map((s) => t.names[s[3]][1]))];
  const partial = t.listed_micro_batches < t.micro_batches ?
    ` Of ${count(t.micro_batches, "micro-batch", "micro-batches")} ` +
      `the first ${t.listed_micro_batches} are drawn, and the end of ` +
      `the step; ${grouped(t.left_out)} slices are left out.` :
    t.told_micro_batches < t.micro_batches ? ` All ${t.micro_batches} micro-batches are drawn, messages of the first ` +
      `${t.told_micro_batches} only; trnplan simulate --trace writes more.` :
    t.detailed_micro_batches < t.micro_batches ? ` All ${t.micro_batches} micro-batches are drawn, ` +
      `${t.detailed_micro_batches > 0 ? `those of the first ${t.detailed_micro_batches}` : "some of the first"} ` +
      "broken down into operators; trnplan simulate --trace writes more." :
                                        "";
  section("timeline", "The step on a timeline", step.scenario ? para(drawnWords(step, t)) : null,
    para(`${
           stages > 1 ? `${stages} pipeline stages` :
             t.kinds > 1 ? `What the ${CORE}s do` :
                           `What every ${CORE} does`}, from ` +
      "the first micro-batch to the new weights: light blocks are forward and " +
      "backward passes, darker ones the operators and collectives inside them." + partial),
    h("div", {class: "buttons"}, button("−", "zoom out", () => zoom(1.6)), button("+", "zoom in", () => zoom(0.625)),
      button("◀", "earlier", () => move(-0.4)), button("▶", "later", () => move(0.4)),
      button("whole step", "the whole step", () => set(0, t.end_microseconds)),
      button("start", "the first micro-batch", () => set(0, firstPass(t) * 2.5)),
      button("end", "the end of the step", () => set(t.end_microseconds * 0.94, t.end_microseconds))),
    legend(used.map((c) => [partClass(c), CAUSE[c] || c])), box, said);
}

// How many slices of its track each one lies inside of.
function depths(slices) {
  const open = new Map();
  return slices.map(([track, start, length]) => {
    const stack = (open.get(track) || []).filter((end) => end > start && end >= start + length);
    open.set(track, [...stack, start + length]);
    return stack.length;
  });
}
const firstPass = (t) =>
  Math.max(...t.slices.filter((s) => s[4] === 0).slice(0, 1).map((s) => s[1] + s[2]), t.end_microseconds / 500);
// The name of a row, short.
function rowName(track, stages) {
  const part = track.core !== null ? track.core : stages > 1 ? track.stage : null;
  if (track.name !== "compute") return part === null ? "comm." : "comm. " + part;
  return track.core !== null ? `${CORE} ${part}` : stages > 1 ? "stage " + part : track.name;
}
// What the rows are on a machine that is not ideal.
function drawnWords(step, t) {
  const run = step.of_runs ? `, the run in the middle of ${step.of_runs}` : "";
  if (t.kinds === 1) return `Drawn with ${step.scenario}${run}.`;
  const some = t.kinds > t.kinds_drawn ? ` (${t.kinds_drawn} of ${t.kinds} kinds)` : "";
  return `Drawn with ${step.scenario}${run}. A row is the ${CORE}s that do the same at the same time${some}.`;
}
