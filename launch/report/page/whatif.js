// The page of whatif: clusters by days and dollars, and how they scale.
const colourOf = (names) => (name) => "g-" + (names.indexOf(name) % 8);
const tokensText = (n) =>
  (n >= 1e12 ? +(n / 1e12).toPrecision(4) + " trillion" : +(n / 1e9).toPrecision(4) + " billion");
const place = (p) => `${grouped(p.nodes)} x ${p.instance}`;

function clusterTiles(p, q) {
  return h("div", {class: "tiles wide"}, tile("cluster", "Cluster", place(p), layout(p.strategy)),
    q.asks_for_tokens ?
      tile("reached", "Tokens reached", tokensText(p.tokens_50), `90 % likely: ${tokensText(p.tokens_90)}`) :
      tile("days", "Days", p.days.toFixed(1), `90 %: ${p.days_90[0].toFixed(1)} to ${p.days_90[1].toFixed(1)}`),
    known(p.usd) && tile("cost", "USD", usd(p.usd), known(p.usd_at_90) && `90 % likely at most ${usd(p.usd_at_90)}`),
    known(p.usd_per_1e9_tokens) &&
      tile(
        "price", "A billion tokens cost", usd(p.usd_per_1e9_tokens) + " USD", `${q.pricing.replace(/_/g, " ")} price`),
    tile("speed", "Throughput", grouped(p.tokens_per_second) + " tokens/s", `MFU ${percent(p.mfu)}`),
    tile("goodput", "Goodput", percent(p.goodput),
      `a checkpoint every ${seconds(p.checkpoint_interval_seconds / 60)} min`),
    known(q.deadline_days) &&
      tile("intime", "Keeps the deadline", probability(p.deadline_probability),
        `of ${+ q.deadline_days.toFixed(1)} days, if it runs`),
    known(q.budget_usd) &&
      tile(
        "inbudget", "Keeps the budget", probability(p.budget_probability), `of ${usd(q.budget_usd)} USD, if it runs`),
    known(p.works_probability) && tile("works", "Chance that it runs", probability(p.works_probability), STARTS));
}

// The answer: to take one, or why none.
function answerPart(a, q) {
  const best = a.recommended >= 0 ? a.points[a.recommended] : null;
  const why = a.because || a.reason;
  const answer = section("answer", best ? `Take ${place(best)}` : "No cluster keeps the limits",
    h("p", {class: "lead"}, why[0].toUpperCase() + why.slice(1)));
  if (best) answer.append(clusterTiles(best, q));
  if (!best && a.would_do)
    answer.append(para(`${place(a.would_do)} is enough: ${a.would_do.days.toFixed(1)} days` +
      (known(a.would_do.usd) ? `, ${usd(a.would_do.usd)} USD.` : ".")));
  if (!best && a.reaches)
    answer.append(para(`Within the limits ${place(a.reaches)} gets farthest: ` +
      `${tokensText(a.reaches.tokens_50)} tokens.`));
  if (a.surer >= 0) answer.append(para(`To be 90 % likely to keep the limits, take ${place(a.points[a.surer])}.`));
}

function whatifTables(a, q) {
  section("points", "All clusters",
    table(
      [
        "", "nodes", "instance", "step\u00a0s", "tokens/s", "MFU", "goodput", "scaling",
        q.asks_for_tokens ? "tokens" : "days", "USD", "USD per billion tokens", "strategy"
      ],
      a.points.map((p, i) => p.strategy ?
          [
            (i === a.recommended ? "*" : "") + (p.pareto ? "f" : ""), grouped(p.nodes), p.instance,
            seconds(p.step_seconds), grouped(p.tokens_per_second), percent(p.mfu), percent(p.goodput),
            percent(p.efficiency), q.asks_for_tokens ? tokensText(p.tokens_50) : p.days.toFixed(1),
            known(p.usd) ? usd(p.usd) : "", known(p.usd_per_1e9_tokens) ? usd(p.usd_per_1e9_tokens) : "",
            grammar(p.grammar)
          ] :
          ["", grouped(p.nodes), p.instance, "", "", "", "", "", "", "", "", p.why + (p.fix ? " Fix: " + p.fix : "")]),
      [1, 3, 4, 5, 6, 7, 8, 9, 10]),
    para("*: recommended; f: on the front: no other cluster is as fast, as cheap and as small."),
    capped(data.points.length, data.points_found, "clusters"));
  const priced = a.instances.filter((s) => known(s.usd_per_hour));
  if (a.instances.length > 1 && priced.length > 0)
    section("instances", "Types compared",
      table(["instance", "represented by", "USD per hour and node", "likely the cheapest", "as cheap as the next at"],
        a.instances.map(
          (s) => [s.instance, h("span", {class: "place"}, place(a.points[s.point])),
            known(s.why_unpriced) ? h("span", {class: "words"}, s.why_unpriced) : usd(s.usd_per_hour),
            s.why_unpriced ? "" : probability(s.cheapest_probability),
            known(s.break_even_usd_per_hour) ? `${usd(s.break_even_usd_per_hour)} USD (${s.against})` : ""]),
        [2, 3, 4]));
}

function whatifPage() {
  const q = data.question, top = h("div"), rest = h("div");
  // The answer to the page's own settings, or to others of settingsPart().
  const draw = (answer, s) => {
    const a = answer || data, asked = s ? {...q, deadline_days: known(s.deadline) ? s.deadline / DAY : null} : q;
    drawnIn(top, () => answerPart(a, asked));
    drawnIn(rest, () => {
      if (a.points.some((p) => p.strategy)) whatifCharts(a, asked);
      whatifTables(a, asked);
    });
    const next = document.getElementById("next");  // plans the cluster of the page's own settings
    if (next) next.hidden = answer !== null;
    drawAll();
  };
  heading(q.scenario ? `what if, with ${q.scenario}: clusters compared` : "what if: clusters compared");
  page.append(top);
  settingsPart(draw);
  if (data.commands.length > 0) nextPart();
  page.append(rest);
  draw(null);
  const notes = data.points.filter((p) => p.remark).map((p) => `${place(p)}: ${p.remark}`);
  data.remarks.push(...notes,
    `Failures and checkpoints: ${q.reliability} reliability, ${q.recovery} recovery. The time ` +
      "a job waits for its nodes, planned maintenance and slow nodes are not counted.");
  remarks();
  footer(`${q.scaling} scaling`, `${q.pricing.replace(/_/g, " ")} prices`);
}

function whatifCharts(a, q) {
  const points = a.points.filter((p) => p.strategy), best = a.recommended >= 0 ? a.points[a.recommended] : null;
  const names = [...new Set(data.points.map((p) => p.instance))], colour = colourOf(names);
  const hover = (p) => `${place(p)}: ${whole(p.strategy)}\n` +
    (q.asks_for_tokens ? `${tokensText(p.tokens_50)} tokens` : `${p.days.toFixed(1)} days`) +
    (known(p.usd) ? `, ${usd(p.usd)} USD` : "") +
    `\n${grouped(p.tokens_per_second)} tokens/s, goodput ${percent(p.goodput)}`;
  const of = (p) => ({
    hover: hover(p),
    line: p.instance,
    class: colour(p.instance) + (p === best ? " chosen" : "") + (p.pareto ? "" : " off")
  });
  const key = names.length > 1 ? legend(names.map((n) => [colour(n), n])) : null;
  const paid = points.filter((p) => known(p.usd));
  if (paid.length > 0) {
    const bands = [];
    if (known(q.budget_usd)) bands.push({value: q.budget_usd, class: "limit", hover: "the budget"});
    section("front", q.asks_for_tokens ? "Tokens and dollars" : "Days and dollars", key,
      para(`Full dots are on the front: no other cluster is as ${q.asks_for_tokens ? "far" : "fast"}, ` +
        "as cheap and as small. The ring is the recommended one. Both axes are logarithmic."),
      plane("Clusters by days and dollars", paid.map((p) => ({
        ...of(p),
        x: q.asks_for_tokens ? p.tokens_50 / 1e9 : p.days,
        y: p.usd,
        label: paid.length <= 40 ? String(p.nodes) : ""
      })),
        {
          log: true,
          xUnit: q.asks_for_tokens ? "billion tokens, median" : "days, median",
          yUnit: "USD; a dot's number is its nodes",
          mark: "mark-front",
          radius: 5,
          levels:
            bands.filter((x) => paid.some((p) => p.usd * 1.1 > x.value) && paid.some((p) => p.usd < x.value * 1.1))
        }));
  }
  const nodes = [...new Set(points.map((p) => p.nodes))].sort((a, b) => a - b);
  const by = (label, yUnit, mark, value, low, more) => plane(label,
    points.filter((p) => known(value(p)))
      .map((p) => ({...of(p), x: p.nodes, y: value(p), ...(low ? {low: low(p)[0], high: low(p)[1]} : {})})),
    {
      logX: true,
      xUnit: "nodes",
      yUnit,
      mark,
      join: true,
      height: 230,
      xTicks: nodes.filter((n, i) => nodes.length <= 9 || i % Math.ceil(nodes.length / 8) === 0),
      ...more
    });
  section("scaling", "How it scales", key, para("By the number of nodes; whiskers are 90 % intervals."),
    h("div", {class: "pairs"},
      by("Tokens per second by nodes", "tokens/s", "mark-speed", (p) => p.tokens_per_second,
        (p) => p.tokens_per_second_90, {zero: true}),
      by("Goodput by nodes", "goodput, %", "mark-goodput", (p) => 100 * p.goodput,
        (p) => p.goodput_90.map((g) => 100 * g)),
      by("Scaling efficiency by nodes", "tokens/s a node, % of the smallest cluster's", "mark-efficiency",
        (p) => 100 * p.efficiency, null, {zero: true}),
      paid.length > 0 ? by("Dollars per billion tokens by nodes", "USD per billion tokens", "mark-price",
                          (p) => p.usd_per_1e9_tokens, null, {zero: true}) :
                        null));
}
