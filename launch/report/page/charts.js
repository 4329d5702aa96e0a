// Charts as SVG, drawn again when the width changes. Marks have classes, which tests count.
let charts = [];
function chart(label, draw) {
  const box = h("div", {class: "chart"});
  const again = () => {
    const width = Math.max(260, Math.round(box.clientWidth || 700));
    if (box.drawn === width) return;
    box.drawn = width;
    const [height, ...marks] = draw(width);
    box.replaceChildren(
      svg("svg", {viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": label}, ...marks));
  };
  charts.push({box, again});
  return box;
}
function drawAll() {
  charts = charts.filter((c) => c.box.isConnected);
  for (const c of charts) c.again();
}
addEventListener("resize", drawAll);
// Charts are drawn for paper at its width, so that their letters stay as large as the text.
for (const when of ["beforeprint", "afterprint"])
  addEventListener(when, () => {
    document.documentElement.classList.toggle("paper", when === "beforeprint");
    drawAll();
  });

const text = (x, y, words, more) => svg("text", {x, y, ...more}, words);
const title = (words) => svg("title", null, words);
const line = (x1, y1, x2, y2, more, ...children) => svg("line", {x1, y1, x2, y2, ...more}, ...children);
const rect = (x, y, width, height, more, ...children) =>
  svg("rect", {x: x.toFixed(2), y, width: Math.max(0, width).toFixed(2), height, ...more}, ...children);
// Letters of the charts' size are some 6.3 pixels wide.
const fitting = (words, width, letter = 6.3) =>
  words.length * letter <= width ? words : words.slice(0, Math.max(1, Math.floor(width / letter) - 1)) + "…";

// Round numbers from `low` to `high`, some `most` of them.
function ticks(low, high, most) {
  const raw = (high - low) / Math.max(1, most) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || 10 * power;
  const all = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step)
    all.push(Math.abs(v) < step / 1e6 ? 0 : v);
  return all;
}
const tickText = (v) => (v >= 1e6 ? +(v / 1e6).toPrecision(4) + " M" :
    v >= 1e4                      ? grouped(v) :
                                    String(+v.toPrecision(6)));
// Powers of ten, with twos and fives where there is room; of less than a factor of six round numbers.
function logTicks(low, high, width) {
  if (high < 6 * low) return ticks(low, high, width / 90);
  const all = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); ++p)
    for (const m of width / Math.max(0.3, Math.log10(high / low)) > 160 ? [1, 2, 5] : [1]) all.push(m * 10 ** p);
  return all.filter((v) => v >= low * 0.999 && v <= high * 1.001);
}
function scale(low, high, from, to, log) {
  const f = log ? Math.log10 : (v) => v;
  const span = f(high) - f(low) || 1;
  return (v) => from + ((f(v) - f(low)) / span) * (to - from);
}
function bottomAxis(x, low, high, width, top, bottom, unit) {
  return ticks(low, high, width / 80)
    .map((v) => [line(x(v), top, x(v), bottom, {class: "grid"}),
           text(x(v), bottom + 14, tickText(v), {"text-anchor": "middle", class: "tick"})])
    .concat([text(width, bottom + 30, unit, {"text-anchor": "end", class: "tick"})]);
}

// Rows with a label above, a dot for the value and a whisker for its interval.
//   rows: {label, value, low, high, note, hover, mark}
function dotRows(label, unit, rows, marks) {
  return chart(label, (width) => {
    const low = Math.min(...rows.map((r) => r.low)), high = Math.max(...rows.map((r) => r.high));
    const pad = (high - low) * 0.03 || Math.abs(high) * 0.05 || 1, step = 38, right = width - 8;
    const from = Math.max(low >= 0 ? 0 : -Infinity, low - pad);
    const x = scale(from, high + pad, 8, right);
    const bottom = rows.length * step + 4;
    const zero = from < 0 ? line(x(0), 0, x(0), bottom, {class: "zero"}) : null;
    return [
      bottom + 36, bottomAxis(x, from, high + pad, right, 0, bottom, unit), zero, rows.map((r, i) => {
        const y = i * step;
        const note = r.note || "";
        return svg("g", {class: "row " + (r.mark || "")}, title(r.hover || r.label),
          text(8, y + 14, fitting(r.label, width - 24 - note.length * 6.3)),
          text(right, y + 14, note, {"text-anchor": "end", class: "note"}),
          line(x(r.low), y + 26, x(r.high), y + 26, {class: "whisker " + marks + "-whisker"}),
          line(x(r.low), y + 21, x(r.low), y + 31, {class: "whisker"}),
          line(x(r.high), y + 21, x(r.high), y + 31, {class: "whisker"}),
          svg("circle", {cx: x(r.value).toFixed(2), cy: y + 26, r: 5, class: "dot " + marks}));
      })
    ];
  });
}

// Rows of stacked parts. rows: {label, note, parts: [{value, class, hover}], whisker: [low, high]}; `limit`: {value,
// words}.
function stackedRows(label, unit, rows, marks, limit) {
  return chart(label, (width) => {
    const ends = rows.map((r) => Math.max(sum(r.parts.map((p) => p.value)), r.whisker ? r.whisker[1] : 0));
    const high = Math.max(...ends, limit ? limit.value * 1.02 : 0), step = 42, right = width - 8;
    const x = scale(0, high, 8, right);
    const top = limit ? 18 : 0, bottom = top + rows.length * step + 4;
    const drawn = rows.map((r, i) => {
      const y = top + i * step, note = r.note || "";
      let at = 0;
      return svg("g", {class: "row " + (r.mark || "")},
        text(8, y + 13, fitting(r.label, width - 24 - note.length * 6.3), null),
        text(right, y + 13, note, {"text-anchor": "end", class: "note"}),
        r.parts.filter((p) => p.value > 0).map((p) => {
          const start = x(at);
          at += p.value;
          return rect(start, y + 18, x(at) - start, 16, {class: marks + " " + p.class}, title(p.hover));
        }),
        r.whisker ?
          [
            line(x(r.whisker[0]), y + 26, x(r.whisker[1]), y + 26, {class: "whisker " + marks + "-whisker"}),
            line(x(r.whisker[0]), y + 21, x(r.whisker[0]), y + 31, {class: "whisker"}),
            line(x(r.whisker[1]), y + 21, x(r.whisker[1]), y + 31, {class: "whisker"})
          ] :
          null);
    });
    return [
      bottom + 36, bottomAxis(x, 0, high, right, top, bottom, unit), drawn,
      limit ?
        [
          rows.map(
            (r, i) => line(x(limit.value), top + i * step + 16, x(limit.value), top + i * step + 36, {class: "limit"})),
          text(x(limit.value) - 4, 11, limit.words, {"text-anchor": "end", class: "limit-words"})
        ] :
        null
    ];
  });
}
const legend = (entries) =>
  h("ul", {class: "legend"}, entries.map(([cls, words]) => h("li", null, h("span", {class: "swatch " + cls}), words)));

// Points in a plane. points: {x, y, label, hover, class, low, high, right, left}; options: {log, xUnit, yUnit, join,
// diagonal, height}
function plane(label, points, options) {
  return chart(label, (width) => {
    const height = options.height || Math.min(340, Math.max(220, width * 0.6)), left = 58, right = width - 12, top = 24,
          bottom = height - 40;
    const xs = points.map((p) => p.x),
          ys = points.flatMap((p) => [p.y, ...(known(p.low) ? [p.low, p.high] : [])])
                 .concat((options.bands || []).flatMap((b) => [b.low, b.high]));
    let [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    if (options.diagonal) [x0, y0, x1, y1] = [Math.min(x0, y0), Math.min(x0, y0), Math.max(x1, y1), Math.max(x1, y1)];
    const room = (a, b) => (options.log ? [a / 1.12, b * 1.12] : [
      options.zero ? 0 : a - (b - a) * 0.06 - (b === a ? b * 0.1 : 0), b + (b - a) * 0.06 + (b === a ? b * 0.1 : 0)
    ]);
    const [xl, xh] = options.logX ? [x0 / 1.15, x1 * 1.15] : room(x0, x1), [yl, yh] = room(y0, y1);
    const x = scale(xl, xh, left, right, options.log || options.logX), y = scale(yl, yh, bottom, top, options.log);
    const xTicks = options.xTicks ||
      (options.log || options.logX ? logTicks(xl, xh, right - left) : ticks(xl, xh, (right - left) / 80));
    const yTicks = options.log ? logTicks(yl, yh, bottom - top) : ticks(yl, yh, (bottom - top) / 40);
    const groups = new Map();
    for (const p of points) groups.set(p.line || "", [...(groups.get(p.line || "") || []), p]);
    return [
      height,
      xTicks.map((v) => [line(x(v), top, x(v), bottom, {class: "grid"}),
                   text(x(v), bottom + 14, tickText(v), {"text-anchor": "middle", class: "tick"})]),
      yTicks.map((v) => [line(left, y(v), right, y(v), {class: "grid"}),
                   text(left - 5, y(v) + 4, tickText(v), {"text-anchor": "end", class: "tick"})]),
      text(right, height - 8, options.xUnit, {"text-anchor": "end", class: "tick"}),
      text(4, 12, options.yUnit, {class: "tick"}),
      options.diagonal ? line(x(xl), y(xl), x(xh), y(xh), {class: "diagonal"}) : null,
      (options.bands || [])
        .map((b) => rect(left, y(b.high), right - left, y(b.low) - y(b.high), {class: b.class}, title(b.hover))),
      (options.levels || []).map((b) => line(left, y(b.value), right, y(b.value), {class: b.class}, title(b.hover))),
      (options.moments || []).map((m) => line(x(m.at), top, x(m.at), bottom, {class: m.class}, title(m.hover))),
      options.join ? [...groups.values()].map((g) => svg("polyline", {
        class: "join " + g[0].class,
        points: g.map((p) => `${x(p.x).toFixed(1)},${y(p.y).toFixed(1)}`).join(" ")
      })) :
                     null,
      points.map(
        (p) => svg("g", {class: p.class}, title(p.hover),
          known(p.low) ? line(x(p.x), y(p.low), x(p.x), y(p.high), {class: "whisker thin"}) : null,
          svg("circle",
            {cx: x(p.x).toFixed(1), cy: y(p.y).toFixed(1), r: options.radius || 4, class: "dot " + options.mark}),
          p.label ? text(x(p.x) > right - 90 ? x(p.x) - 7 : x(p.x) + 7, y(p.y) - 6, p.label,
                      {class: "tick", "text-anchor": x(p.x) > right - 90 ? "end" : "start"}) :
                    null))
    ];
  });
}
