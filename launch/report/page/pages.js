// The pages, each a list of parts; the last line draws the one that the data is for.
function rankingPart(best) {
  const plans = data.plans;
  if (plans.length < 2) return;
  // Steps compare where they are steps of the same batch; else what a token takes, in the job's own measure.
  const first = plans[0], alike = plans.every((p) => p.nodes === first.nodes && p.instance === first.instance);
  const measure = data.job.by_cost && plans.every((p) => p.usd_per_hour > 0) ?
    {
      unit: "USD per billion tokens",
      what: "prices per billion tokens",
      of: (p) => p.usd_per_1e9_tokens,
      text: (v) => usd(v) + " USD"
    } :
    plans.every((p) => p.global_batch === first.global_batch) ?
    {unit: "seconds a step", what: "steps", of: (p) => p.step_seconds, text: (v) => seconds(v) + " s"} :
    {
      unit: "seconds per million tokens",
      what: "seconds per million tokens",
      of: (p) => 1e6 / p.tokens_per_second,
      text: (v) => seconds(v) + " s"
    };
  const most = 16, shown = plans.filter((p, i) => i < most || p === best);
  section("ranking", "The ranked strategies",
    para(`Dots are predicted ${measure.what}, whiskers 90 % intervals; plans whose whiskers overlap ` +
      "may be ranked wrongly, but much of the doubt is common to all. The axis " +
      "does not start at 0. The filled row is the recommended one."),
    dotRows("Predictions with 90 % intervals", measure.unit, shown.map((p) => ({
      label: `${p.rank}  ${whole(p.strategy)}${alike ? "" : `, on ${p.nodes} x ${p.instance}`}`,
      value: measure.of(p),
      low: measure.of(p) * p.step_seconds_90[0] / p.step_seconds,
      high: measure.of(p) * p.step_seconds_90[1] / p.step_seconds,
      note: measure.text(measure.of(p)),
      mark: p === best ? "best" : "",
      hover: `${whole(p.strategy)}\n${seconds(p.step_seconds)} s, 90 % ${interval(p)}\n${p.grammar}`
    })),
      "mark-plan"),
    numbers("The numbers",
      table(["", "strategy", "step\u00a0s", "90 % s", "tokens/s", "MFU", `GiB per ${CORE}`, "runs", `1 is ${better()}`],
        plans.map(
          (p) => [(p === best ? "* " : "") + p.rank, [whole(p.strategy), " ", grammar(p.grammar)],
            seconds(p.step_seconds), interval(p).replace(" s", "").replace(" to ", " - "), grouped(p.tokens_per_second),
            percent(p.mfu), gib(p.peak_bytes), known(works(p)) ? probability(works(p)) : "",
            known(p.first_is_better) ? probability(p.first_is_better) : ""]),
        [2, 3, 4, 5, 6, 7, 8])),
    shown.length < plans.length ?
      h("p", {class: "capped"}, `${shown.length} of ${plans.length} are drawn; the table has all of them.`) :
      null,
    capped(plans.length, data.plans_found, "plans"));
}

// The whole run, where a limit of it was stated.
function runPart() {
  const r = data.run;
  if (!r) return;
  if (r.why) return section("run", "The whole run", para(r.why));
  const limits = [
    known(r.deadline_days) ? `it keeps the deadline of ${+ r.deadline_days.toFixed(1)} ` +
        `days with a probability of ${probability(r.deadline_probability)}` :
                             null,
    known(r.budget_usd) ? `it keeps the budget of ${usd(r.budget_usd)} USD ` +
        `with a probability of ${probability(r.budget_probability)}` :
                          null
  ].filter(known);
  section("run", "The whole run",
    para("With failures, restarts and checkpoints (goodput ", percent(r.goodput), "), given that the plan works: ",
      r.asks_for_tokens ?
        [
          strong(tokensText(r.tokens_50) + " tokens"),
          " are 50 % likely to be reached, " +
            `${tokensText(r.tokens_90)} 90 % likely, in ${r.days.toFixed(1)} days` +
            (known(r.usd) ? ` and for ${usd(r.usd)} USD.` : ".")
        ] :
        [
          strong(r.days.toFixed(1) + " days"),
          ` (90 % interval: ${r.days_90[0].toFixed(1)} to ${r.days_90[1].toFixed(1)})` +
            (known(r.usd) ? ` and ${usd(r.usd)} USD for ` : " for ") + tokensText(r.tokens) + " tokens",
          limits.length > 0 ? `; ${limits.join(", ")}.` : "."
        ]));
}

function clustersPart() {
  if (data.clusters.length < 2) return;
  const run = data.clusters.every((c) => known(c.run_days));
  section("clusters", "Other clusters",
    para("The best plan for each; * marks those that no other " +
      "beats in speed, price and size at once" +
      (data.clusters.every((c) => c.within_limits) ? "." : ", and ! those that miss the limits.")),
    table(
      [
        "", "nodes", "instance", "step\u00a0s", "tokens/s", "USD per billion tokens", ...(run ? ["days"] : []),
        "strategy"
      ],
      data.clusters.map((c) => [(c.on_front ? "*" : "") + (c.within_limits ? "" : "!"), grouped(c.nodes), c.instance,
                          seconds(c.step_seconds),
                          grouped(c.tokens_per_second), usd(c.usd_per_1e9_tokens),
                          ...(run ? [c.run_days.toFixed(1)] : []), grammar(c.grammar)]),
      run ? [1, 3, 4, 5, 6] : [1, 3, 4, 5]));
}

function barsOf(best) {
  const rows = [{...best, title: "recommended: " + layout(best.strategy), best: true}];
  if (data.baseline) rows.push({...data.baseline.plan, title: "today: " + layout(data.baseline.plan.strategy)});
  for (const p of data.layouts || [])
    if (layout(p.strategy) !== layout(best.strategy) && rows.length < 6)
      rows.push({
        ...p,
        title: layout(p.strategy) +
          (p.nodes === best.nodes && p.instance === best.instance ? "" : `, on ${p.nodes} x ${p.instance}`)
      });
  return rows;
}

function wordsPart() {
  page.lastElementChild.append(numbers("What the words mean", h("ul", null, [
    [
      strong("TP, PP, CP, EP, DP"),
      `: over how many ${CORE}s the products of a layer (tensor parallel), the layers ` +
        "(pipeline), the tokens of a sequence (context), the experts and the sequences " +
        `of a batch (data) are spread; their product is the number of ${CORE}s.`
    ],
    [
      strong("micro-batch"),
      ": the sequences that pass through the model at the same time. A step, from " +
        "one update of the weights to the next, has many of them."
    ],
    [
      strong("recomputed"),
      ": results that are not kept for the backward pass but " +
        "computed again, which saves memory and costs time."
    ],
    [
      strong("ZeRO-1"),
      ": the optimizer's states are spread over the data-parallel " +
        "ranks; ZeRO-3 (FSDP) spreads the weights, too."
    ],
    [
      strong("MFU"),
      ": the share of the peak rate that training's own " +
        "arithmetic uses, recomputing not counted."
    ],
    [strong("90 % interval"), ": the value lies in it with a probability of 90 %, as far as the model knows."]
  ].map((x) => h("li", null, x)))));
}
function nextPart() {
  section("next", "What to type next",
    data.unwritten ? para(`No config is written for this plan: ${data.unwritten}.`) : null,
    data.save_as ? para("The job is not in a file: save it as ", code(data.save_as), " first.") : null,
    commands(data.commands));
}

function planPage() {
  const best = data.plans.find((p) => p.recommended);
  heading("plan");
  if (!best) return noPlanPage();
  page.append(h("section", {id: "answer"},
    h("p", {class: "lead"}, "Train with ", strong(layout(best.strategy)), ", ", recompute(best.strategy), ` (`,
      code(best.grammar),
      `): a step takes ${seconds(best.step_seconds)} s (90 % interval: ` +
        `${interval(best)}), which is ${grouped(best.tokens_per_second)} tokens/s` +
        (data.clusters.length > 1 ? ` on ${best.nodes} x ${best.instance}` : "") + "."),
    h("p", {class: "lead"}, why(best)), tilesOf(best),
    data.doubts.map((d) => h("p", {class: "warning"}, `Doubtful: ${d.message} Fix: ${d.fix}`)),
    data.baseline ?
      para(`Today, by ${data.baseline.file}: ` +
        `${layout(data.baseline.plan.strategy)}, ` +
        `${seconds(data.baseline.plan.step_seconds)} s a step` + (data.baseline.runs ? "." : "; it cannot run.")) :
      null));
  wordsPart();
  nextPart();
  surePart(best);
  limitPart(best);
  rankingPart(best);
  runPart();
  clustersPart();
  secondsPart(barsOf(best), data.step,
    "Along the critical path of a step; the parts add up to " +
      "it. Other layouts are below for comparison.");
  memoryPart(data.memory, best.strategy);
  machinePart(data.machine, data.refused.concat(data.doubtful));
  timelinePart(data.step);
  refusedPart();
  remarks();
  footer(`profile ${data.profile}`);
}

// One strategy: the parts of a plan's page that are of it alone.
function simulatePage() {
  const p = data.plan,
        broken = data.broken.map(
          (v) => h("p", {class: "warning"}, strong(`${v.doubtful ? "Doubtful" : "Refused"} (${v.rule}): `), v.message,
            v.fix ? " Fix: " + v.fix : ""));
  heading("simulate: one strategy");
  if (!p) {
    page.append(h("section", {id: "answer"},
      h("p", {class: "lead"}, strong(layout(data.strategy)), " cannot be simulated."), broken));
    nextPart();
    remarks();
    return footer();
  }
  const limits = Object.entries(p.elasticities).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  page.append(h("section", {id: "answer"},
    h("p", {class: "lead"}, strong(layout(p.strategy)), ", ", recompute(p.strategy), " (", code(p.grammar),
      `): a step takes ${seconds(p.step_seconds)} s (90 % interval: ` +
        `${interval(p)}), which is ${grouped(p.tokens_per_second)} tokens/s.`),
    h("p", {class: "lead"},
      data.refused ? "It breaks a rule and would not run: the following is what it would do if it ran." :
                     "No rule refuses it, and it is " +
          `${probability(works(p))} likely to run. What limits it is ${RESOURCE[limits[0][0]]}.`),
    tilesOf(p), broken));
  wordsPart();
  nextPart();
  surePart(p);
  section("limit", "What limits it",
    para(strong(RESOURCE[limits[0][0]][0].toUpperCase() + RESOURCE[limits[0][0]].slice(1)),
      `: 1 % ${IS_DURATION[limits[0][0]] ? "less" : "faster"} makes the ` +
        `step ${Math.abs(limits[0][1]).toFixed(2)} % shorter.`),
    table(["1 % better", "shortens the step by"],
      limits.filter(([, e]) => Math.abs(e) >= 5e-4).map(([r, e]) => [RESOURCE[r], Math.abs(e).toFixed(3) + " %"]),
      [1]));
  secondsPart([{...p, title: layout(p.strategy), best: true}], data.step,
    "Along the critical path of a step; the parts add up to it.");
  memoryPart(data.memory, p.strategy);
  const fix = (data.broken.find((v) => v.rule === "replica-group") || {}).fix || "";
  machinePart(data.machine,
    data.machine.kinds.filter((k) => k.chips.length > 0)
      .sort((a, b) => (a.verdict === "refused" ? 0 : 1) - (b.verdict === "refused" ? 0 : 1))
      .map((k) => ({
        rule: "replica-group",
        strategy: p.strategy,
        chips: k.chips,
        message: `${KIND[k.kind]}: ${k.message}`,
        fix,
        doubtful: k.verdict !== "refused"
      })));
  timelinePart(data.step);
  remarks();
  footer(`profile ${data.profile}`);
}

function noPlanPage() {
  const w = data.infeasible;
  const c = data.space;
  const say = [];
  if (!w)
    say.push("Stopped before a plan was found; allow more time.");
  else if (w.too_slow)
    say.push(`The fastest takes ${w.too_slow.run_days.toFixed(1)} days ` +
      `(${layout(w.too_slow.strategy)}), the deadline is ` +
      `${w.deadline_days.toFixed(1)}. More nodes, fewer tokens or a later deadline would help.`);
  else if (w.too_expensive)
    say.push(`The cheapest costs ${usd(w.too_expensive.usd_per_hour * w.too_expensive.run_days * 24)} ` +
      `USD (${layout(w.too_expensive.strategy)}), the budget is ` +
      `${usd(w.budget_usd)}. Fewer tokens or a larger budget would help.`);
  else {
    if (w.target) say.push(`Refused by ${w.target}'s rule ${w.target_rule}: ${w.target_message}`);
    if (w.closest)
      say.push(`The closest, ${layout(w.closest)}, ${recompute(w.closest)}, needs ` +
        `${gib(w.closest_peak_bytes)} of ${gib(w.limit_bytes)} GiB of a ${CORE}` +
        (w.closest_peak_bytes <= w.limit_bytes ? `, which fits with ${probability(w.closest_fit_probability)} only.` :
                                                 "."));
    if (w.closest)
      say.push(w.nodes_that_would_do > 0 ? `${grouped(w.nodes_that_would_do)} nodes would do.` :
                                           "No cluster of up to 1,875 nodes would do.");
    if (w.nearest_global_batch > 0)
      say.push(`The nearest global batch that has a plan is ${grouped(w.nearest_global_batch)}.`);
  }
  page.append(h("section", {id: "answer"},
    h("p", {class: "lead"}, strong("No plan: "),
      `of ${count(c.enumerated, "strategy", "strategies")} none may be run.`),
    say.map((x) => h("p", null, x))));
  nextPart();
  runPart();
  if (w && w.rules.length > 0)
    section("rules", "Rules that were broken",
      table(["strategies", "rule", "for example", "why", "fix"],
        w.rules.map((r) => [grouped(r.strategies), r.rule, layout(r.example), r.message, r.fix]), [0]));
  refusedPart();
  machinePart(data.machine, data.refused.concat(data.doubtful));
  remarks();
  footer();
}

({plan: planPage, simulate: simulatePage, whatif: whatifPage, validate: validatePage, watch: watchPage})[data.kind]();
drawAll();
