// What pages say first of a plan: its heading, its numbers, how sure they are and what limits it.
const by = (p) => (data.job.by_cost ? p.usd_per_1e9_tokens : p.step_seconds);
const better = () => (data.job.by_cost ? "cheaper" : "faster");
const interval = (p) => `${seconds(p.step_seconds_90[0])} to ${seconds(p.step_seconds_90[1])} s`;
const works = (p) => (p.outlook ? p.outlook.works : p.works_probability);
const left = (p) => p.limit_bytes - p.peak_bytes;

// "Llama-3 70B on 8 to 64 nodes of four types".
const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
function jobWords(j) {
  const fewest = Math.min(...j.nodes), most = Math.max(...j.nodes), types = j.instances.length;
  return `${j.title || j.model} on ${fewest < most ? `${grouped(fewest)} to ` : ""}${count(most, "node")} of ` +
    (types === 1 ? j.instances[0] : `${NUMBERS[types] || types} types`);
}
function heading(what) {
  const j = data.job, m = data.machine;
  document.title = `trnplan ${data.kind}: ${jobWords(j)}`;
  page.append(h("header", null, h("p", {class: "kind"}, what), h("h1", null, jobWords(j)), h("p", {class: "job"}, [
    j.title && j.title !== j.model ? j.model : null,
    m ? `${grouped(m.nodes * m.chips * m.cores_per_chip)} ${CORE}s` : null,
    j.nodes.length > 2 ? `${some(j.nodes, 8)} nodes` : null, j.instances.length > 1 ? some(j.instances, 6) : null,
    `sequence ${grouped(j.sequence)}`, `global batch ${grouped(j.global_batch)}`, j.precision,
    j.tokens > 0 ? `${(+(j.tokens / 1e9).toPrecision(6)).toLocaleString("en")} billion tokens` : null
  ].filter(known).join(", "))));
}

function tilesOf(p) {
  const price = p.usd_per_hour > 0 ? tile("cost", "A billion tokens cost", usd(p.usd_per_1e9_tokens) + " USD",
                                       `${usd(p.usd_per_hour)} USD per hour, ${p.price_kind.replace(/_/g, " ")}`) :
                                     null;
  const full = data.memory ? data.memory.stages[data.memory.fullest] : null;
  return h("div", {class: "tiles"},
    tile("layout", "Layout", layout(p.strategy), whole(p.strategy).slice(layout(p.strategy).length + 2)),
    tile("step", "A step takes", seconds(p.step_seconds) + " s", `90 %: ${interval(p)}`),
    tile("speed", "Throughput", grouped(p.tokens_per_second) + " tokens/s", `MFU ${percent(p.mfu)}`),
    tile("left", `Memory left per ${CORE}`, left(p) >= 0 ? gib(left(p)) + " GiB" : "none",
      `${gib(p.peak_bytes)} of ${gib(p.limit_bytes)} GiB needed` +
        (full && data.memory.stages.length > 1 ? `, on stage ${full.stage}` : "")),
    known(works(p)) && !(data.broken || []).some((v) => !v.doubtful) ?
      tile("works", "Chance that it runs", probability(works(p)), STARTS) :
      null,
    price);
}

// How sure: of running, of its time, of being the best.
function surePart(p) {
  const o = p.outlook, items = [], broken = (data.broken || []).filter((v) => !v.doubtful);
  if (broken.length > 0) {
    items.push([
      strong("That it runs: it does not. "),
      `${some(broken.map((v) => v.rule), 5)}: ` +
        `${broken.length === 1 ? "the rule refuses" : "the rules refuse"} it.`
    ]);
  } else if (o) {
    items.push([
      strong("That it runs: " + probability(o.works) + ". "),
      `It is ${probability(o.fits)} likely to fit, ` +
        (o.compiles < 0.9995 ? `${probability(o.compiles)} likely to compile, ` : "") +
        `and ${probability(o.runs)} likely to run into nothing else that stops it. ` +
        (o.nearest ? `The nearest recorded run: ${o.nearest}` +
              (o.differs.length > 0 ? `, which differs in ${some(o.differs, 5)}` : "") + ". " :
                                      "No run of such a model is recorded. ") +
        (o.untested.length > 0 ? `No recorded run has: ${some(o.untested, 5)}.` : "")
    ]);
  } else if (known(p.works_probability)) {
    items.push([
      strong("That it runs: " + probability(p.works_probability) + ". "),
      `By its bytes it is ${probability(p.fit_probability)} likely to fit; ` +
        "the rest is the doubt from its distance to recorded runs."
    ]);
  }
  items.push([
    strong("How long a step takes: "),
    `${interval(p)} with a probability of 90 %, given that it runs, on healthy nodes that do nothing else` +
      (data.profile ? ` (parameters: profile ${data.profile}).` : ".") +
      (p.extrapolated ? " Not each of so many micro-batches is simulated; " +
            "the step is extrapolated from fewer." :
                        "")
  ]);
  if (data.kind === "plan") {
    const c = data.comparison;
    if (c && !c.told_apart) {
      items.push([
        strong("That it is the best: "),
        c.equal ? `plans ${c.first} and ${c.second} are the same to the model.` :
                  `plan ${c.first}${named(c.first)} is ${better()} than plan ` +
            `${c.second}${named(c.second)} with a probability of ` +
            `${probability(c.probability_first_is_better)}: the two are too close to ` +
            `call with the ${percent(c.sure, 0)} that was asked for.` +
            (known(c.measurement_node_hours) ?
                ` A measurement of ${c.measurement_node_hours.toFixed(1)} node-hours (measure.sh of ` +
                  `--out) would make the choice ${probability(c.probability_after)} likely to be right.` :
                "")
      ]);
    } else if (c) {
      items.push([
        strong("That it is the best: "),
        `plan ${c.first}${named(c.first)} is ${better()} than plan ` +
          `${c.second}${named(c.second)} with a probability of ` +
          `${probability(c.probability_first_is_better)}` +
          (c.probability_first_is_better < 0.5 && recommendedRank() === c.first ?
              ": it is recommended because it is more likely to run." :
              ".")
      ]);
    }
    if (!data.proven)
      items.push([
        strong("The search was stopped: "),
        data.gap > 0 ? `the first plan is at most ${percent(data.gap)} above the best that is possible.` :
                       "the first plan is not proven to be the best."
      ]);
  }
  if (data.known)
    items.push([
      strong("Nearest published case for memory: "),
      `${data.known.job}, which ${data.known.known}` +
        (data.known.differences.length > 0 ? `; here ${some(data.known.differences, 4)}` : "") + "."
    ]);
  section("sure", "How sure is that?", h("ul", null, items.map((i) => h("li", null, i))));
}

const recommendedRank = () => data.plans.find((p) => p.recommended).rank;
function named(rank) {
  if (rank === recommendedRank()) return " (the recommended one)";
  return rank === 1 ? ` (the ${data.job.by_cost ? "cheapest" : "fastest"})` : "";
}

// What would make the step shorter.
function limitPart(best) {
  const s = data.sensitivity;
  if (!s) return;
  const less = (then) => (best.step_seconds - then < 5e-4 * best.step_seconds ?
      "no faster" :
      `${seconds(then)} s, ${seconds(best.step_seconds - then)} s less`);
  section("limit", "What limits it",
    para(strong(RESOURCE[s.resource][0].toUpperCase() + RESOURCE[s.resource].slice(1)),
      `: 1 % ${IS_DURATION[s.resource] ? "less" : "faster"} makes the ` +
        `step ${Math.abs(s.elasticity).toFixed(2)} % shorter.`),
    table(["If", "a step takes"], [
      ["kernels were 10 % more efficient", less(s.step_seconds_with_faster_kernels)],
      ...(known(s.step_seconds_with_twice_the_nics) ?
          [["the network between nodes were twice as fast", less(s.step_seconds_with_twice_the_nics)]] :
          []),
      [
        `a ${CORE} had 1 GiB more memory, with the plan that would then be best`,
        less(s.step_seconds_with_one_more_gibibyte)
      ]
    ]));
}

function why(best) {
  const first = data.plans[0], c = data.space;
  const limit = data.sensitivity ? ` What limits it is ${RESOURCE[data.sensitivity.resource]}.` : "";
  const of = `Of ${count(c.enumerated, "strategy", "strategies")} ` +
    `it is ${data.proven ? "" : "so far "}the `;
  if (best === first)
    return of + `${data.job.by_cost ? "cheapest" : "fastest"} that is allowed and fits` +
      (known(works(best)) ? `, and it is ${probability(works(best))} likely to run` : "") + "." + limit;
  const other = layout(first.strategy) === layout(best.strategy) ? "the same layout, " + recompute(first.strategy) +
      (first.strategy.pipeline_cuts.length > 0 ? ", cuts by hand" : "") :
                                                                   layout(first.strategy);
  return of + `best bet: the ${data.job.by_cost ? "cheapest" : "fastest"}, ` +
    `${other}, would be ${percent(by(best) / by(first) - 1)} ` +
    `${better()} but is only ${probability(works(first))} likely to run, ` +
    `this one ${probability(works(best))}, and a failed try is not free.` + limit;
}
