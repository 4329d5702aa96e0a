// The parts of a page about one plan: its step's seconds, its memory, what was refused.
const partClass = (category) => "c-" + category;

// Where the seconds of a step go, a bar for each plan; hovering over a part names its operators.
function secondsPart(plans, step, intro) {
  const operators = new Map();
  for (const [name, value, category] of (step && step.operators) || []) {
    const key = category || "other";
    operators.set(key, [...(operators.get(key) || []), [name, value]]);
  }
  const list = (category) =>
    (operators.get(category) || []).slice(0, 8).map(([name, value]) => `  ${name} ${seconds(value)} s`).join("\n");
  const rows = plans.map((p) => ({
    label: p.title,
    note: seconds(p.step_seconds) + " s",
    parts: p.breakdown_seconds.map((v, i) => ({
      value: v,
      class: partClass(CATEGORIES[i]),
      hover: `${CAUSE[CATEGORIES[i]]}: ${seconds(v)} s, ${percent(v / p.step_seconds)}` +
        (p.best && list(CATEGORIES[i]) ? "\n" + list(CATEGORIES[i]) : "")
    }))
  }));
  const used = CATEGORIES.map((c, i) => [c, i]).filter(([,
    i]) => plans.some((p) => p.breakdown_seconds[i] > 5e-4 * p.step_seconds));
  const best = plans.find((p) => p.best);
  const parts = used.map(([c, i]) => [c, best.breakdown_seconds[i]])
                  .filter(([, v]) => v >= 5e-4 * best.step_seconds)
                  .sort((a, b) => b[1] - a[1]);
  section("seconds", "Where the seconds go", para(intro),
    para(
      parts.map(([c, v], i) => [i > 0 ? ", " : "", `${CAUSE[c]} ${seconds(v)} s (${percent(v / best.step_seconds)})`]),
      "."),
    legend(used.map(([c]) => [partClass(c), CAUSE[c]])),
    stackedRows("Seconds of a step by cause", "seconds a step", rows, "mark-part"),
    step && step.operators.length > 0 ?
      numbers("The operators" + (plans.length > 1 ? " of the recommended plan" : ""),
        table(["operator", "part", "seconds", "share"], step.operators.slice(0, 40).map(([name, value,
          category]) => [name, category ? CAUSE[category] : "", seconds(value), percent(value / best.step_seconds)]),
          [2, 3]),
        capped(Math.min(40, step.operators.length), step.operators.length, "operators")) :
      null);
}

// Memory of each stage against the limit.
const COMPONENTS = [
  ["parameters", "parameters"], ["gradients", "gradients"], ["optimizer", "optimizer states"],
  ["activations", "activations"], ["logits", "logits of the loss"],
  ["staging", GPU ? "temporary buffers" : "buckets and gathered inputs"],
  ["runtime", GPU ? "allocator, libraries, context" : "runtime"]
];
function memoryPart(memory, strategy) {
  const limit = memory.limit_bytes, runs = [];
  const key = (m) => COMPONENTS.map(([k]) => gib(m[k])).concat(m.layers, m.in_flight).join();
  for (const m of memory.stages) {
    const last = runs[runs.length - 1];
    if (last && key(last.m) === key(m))
      last.end = m.stage;
    else
      runs.push({m, start: m.stage, end: m.stage});
  }
  const most = 24;
  const shown = runs.length <= most ? runs :
                                      runs.filter((r, i) => i < most - 8 || i >= runs.length - 7 ||
                                          (r.start <= memory.fullest && memory.fullest <= r.end));
  const name = (r) => (memory.stages.length === 1 ? "every " + CORE :
      r.start === r.end                           ? "stage " + r.start :
                                                    `stages ${r.start} to ${r.end}`);
  const passes = strategy.virtual_pipeline > 1 ? ["pass", "passes"] : ["micro-batch", "micro-batches"];
  const full = memory.stages[memory.fullest];
  const left = limit - full.peak;
  const where = memory.stages.length === 1 ? `Each ${CORE}` : `A ${CORE} of the fullest stage, ${full.stage},`;
  section("memory", "Memory of a " + CORE,
    para(`${where} needs `, strong(`${gib(full.peak)} of ${gib(limit)} GiB`),
      left >= 0 ? `: ${gib(left)} GiB are left. ` : `: ${gib(-left)} GiB too much. `,
      "Bars count every byte that the program keeps. Whiskers show where the peak " +
        "really is, with a probability of 90 %: a compiler may drop or add activations, " +
        `${GPU ? "allocator and libraries" : "buffers and the runtime"} may take more or less. `,
      `That is between ${gib(full.bytes_90[0])} and ${gib(full.bytes_90[1])} ` +
        `GiB${memory.stages.length === 1 ? "" : " on that stage"}` +
        `${full.peak > full.bytes_90[1] ? ", less than the bar: known runs kept fewer activations than all" : ""}` +
        ", so that fitting has a probability of " +
        `${probability(Math.min(...memory.stages.map((m) => m.fit_probability)))}.`),
    legend(COMPONENTS.map(([k, words]) => ["m-" + k, words])),
    stackedRows("Memory by stage", `GiB of a ${CORE}`, shown.map((r) => ({
      label: `${name(r)}: ${count(r.m.layers, "layer")}, ${count(r.m.in_flight, ...passes)} held`,
      note: gib(r.m.peak) + " GiB",
      whisker: r.m.bytes_90.map((b) => b / GIB),
      mark: "mark-stage",
      parts:
        COMPONENTS.map(([k, words]) => ({value: r.m[k] / GIB, class: "m-" + k, hover: `${words}: ${gib(r.m[k])} GiB`}))
    })),
      "mark-memory", {value: limit / GIB, words: `limit ${gib(limit)} GiB`}),
    shown.length < runs.length ?
      h("p", {class: "capped"}, `${shown.length} of ${runs.length} rows of equal stages are shown.`) :
      null,
    numbers("The bytes",
      table(["stage", ...COMPONENTS.map(([, w]) => w), "peak", "90 %", "reached in", "fits"],
        shown.map(
          (r) => [name(r), ...COMPONENTS.map(([k]) => gib(r.m[k])), gib(r.m.peak),
            `${gib(r.m.bytes_90[0])} - ${gib(r.m.bytes_90[1])}`, r.m.instant, probability(r.m.fit_probability)]),
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]),
      para("GiB.")));
}

// What would not run, and how to mend it.
const RULES = {
  "replica-group": "The runtime refuses a group of ranks",
  memory: "Does not fit",
  divisibility: "Does not divide",
  heads: "Attention heads do not divide",
  vocabulary: "The vocabulary does not divide",
  layers: "Layers do not divide",
  batch: "The batch does not divide",
  "not-modelled": "Not modelled"
};
function refusal(r) {
  return h("li", {class: "mark-refused"}, h("div", null, strong(layout(r.strategy)), ", " + recompute(r.strategy)),
    h("div", null,
      (r.doubtful ? "Doubtful: " : "") + (RULES[r.rule] ? RULES[r.rule] + " (" : "Rule ") + r.rule +
        (RULES[r.rule] ? ")" : "") + ": " + r.message),
    r.fix ? h("div", {class: "fix"}, "Fix: " + r.fix) : null);
}
function refusedPart() {
  const all = data.refused.concat(data.doubtful), first = [], more = [], ofRule = {};
  for (const r of all) {
    ofRule[r.rule] = (ofRule[r.rule] || 0) + 1;
    (ofRule[r.rule] <= 2 && first.length < 6 ? first : more).push(r);
  }
  const c = data.space;
  section("refused", "What would not run, and why",
    para(`${grouped(c.enumerated)} strategies were searched: ${grouped(c.refused)} ` +
      `break a rule, ${grouped(c.too_large)} are too large for memory, ` +
      `${grouped(c.bounded)} cannot be faster, ${grouped(c.simulated)} were simulated.` +
      (c.inexpressible > 0 ?
          ` ${grouped(c.inexpressible)} more cannot be expressed in the config of the stack that trains them.` :
          "")),
    all.length === 0 ? para("None of the refused ones could have been faster.") :
                       para(data.plans.length > 0 ? "These might have been faster if they ran:" : "What came closest:"),
    h("ul", {class: "refused"}, first.map(refusal)),
    more.length > 0 ? numbers(`${grouped(more.length) + " more"}`, h("ul", {class: "refused"}, more.map(refusal))) :
                      null,
    capped(all.length, data.refused_found + data.doubtful_found, "refused strategies"));
}
