// The pages of validate and watch: predictions next to measurements.
const signed = (e) => (e >= 0 ? "+" : "−") + percent(Math.abs(e));

function errorRows(label, groups, mark) {
  const all = [...groups].sort((a, b) => b.rows - a.rows), shown = all.slice(0, 24);
  return [
    dotRows(label, "% too long (right) or too short (left)", shown.map((g) => ({
      label: `${g.name}, ${count(g.rows, "row")}`,
      value: 100 * g.median_error,
      low: 100 * g.error_90[0],
      high: 100 * g.error_90[1],
      note: signed(g.median_error),
      hover: `${g.name}: ${count(g.rows, "row")}, median ${signed(g.median_error)}, nine ` +
        `of ten from ${signed(g.error_90[0])} to ${signed(g.error_90[1])}` +
        (known(g.coverage_90) ? `; ${percent(g.coverage_90)} within their 90 % interval` : "")
    })),
      mark),
    shown.length < all.length ?
      h("p", {class: "capped"},
        `${shown.length} of ${all.length} are drawn, those with most rows; the table has all of them.`) :
      null,
    numbers("The numbers",
      table(["", "rows", "median error", "5 % to 95 %", "median |error|", "within 90 %"],
        all.map((g) => [g.name, grouped(g.rows), signed(g.median_error),
                  `${signed(g.error_90[0])} to ${signed(g.error_90[1])}`, percent(g.median_ape),
                  known(g.coverage_90) ? percent(g.coverage_90) : ""]),
        [1, 2, 3, 4, 5]))
  ];
}

function validatePage() {
  const s = data.summary, against = "Predictions against " + data.table;
  document.title = "trnplan validate: " + data.table;
  page.append(h("header", null, h("p", {class: "kind"}, "validate: predicted against measured"), h("h1", null, against),
    h("p", {class: "job"}, `profile ${data.profile}`)));
  page.append(h("section", {id: "answer"},
    known(s.median_ape) ?
      h("p", {class: "lead"}, `Half of the predictions are within `, strong(percent(s.median_ape)),
        ` of the measured step` +
          (known(s.coverage_90) ? `, and ${percent(s.coverage_90)} of the measured steps lie in their 90 % interval` :
                                  "") +
          ".") :
                                  h("p", {class: "lead"}, "No measured step could be predicted."),
    known(data.leave_out) ?
                                  para(data.leave_out === "none" ? "The profile predicts as it is, rows that it was fitted to among them." :
                                                                   "Each row is predicted by a fit that has not seen " +
                                        `its ${data.leave_out.replace(/_/g, " ")}.`) :
                                                                   null,
                                h("div", {class: "tiles"},
                                  tile("rows", "Rows", grouped(s.rows),
        s.skipped > 0 ? `${grouped(s.skipped)} ${known(data.leave_out) ? "others" : "of them"                            } not predicted` : null),
      known(s.median_ape) ? tile("median", "Median |error|", percent(s.median_ape), "half are smaller") : null,
      known(s.mape) ? tile("mean", "Mean |error|", percent(s.mape), null) : null,
      known(s.bias) ? tile("bias", "Bias", signed(s.bias), s.bias >= 0 ? "predicted too long" : "predicted too short") :
                                                  null,
      known(s.coverage_90) ?
                                    tile("covered", "Within 90 %", percent(s.coverage_90), `median half-width ${percent(s.half_width_90)}`) :
                                    null,
      known(s.constant_mfu_mape) ? tile("mfu", "One MFU for all", percent(s.constant_mfu_mape),
                                                                 `its mean error; noise of repeated runs ${percent(s.oracle_mape)}`) :
                                                               null,
      data.fit && data.fit.rows > 0 ?
                                    tile("fits", "Fits or not", `${grouped(data.fit.right)} of ${grouped(data.fit.rows)} right`,
          `${grouped(data.fit.oom_caught)} of ${grouped(data.fit.oom)} out-of-memory runs foreseen`) :
                                    null,
      data.regret ? tile("regret", "Choosing by it costs", percent(data.regret.mean),
                                                  `mean over ${count(data.regret.groups, "group")} of ` +
                        `layouts; blindly ${percent(data.regret.random)}`) :
                                                null)));
  if (data.rows.length > 0) {
    const most = 1500, stride = Math.ceil(data.rows.length / most),
          drawn = data.rows.filter((_, i) => i % stride === 0);
    const whiskers = drawn.length <= 400, few = data.sources.length <= 8;
    section("pairs", "Predicted against measured",
      few && data.sources.length > 1 ? legend(data.sources.map((n, i) => ["g-" + i, n])) : null,
      para("A dot is a row; on the dashed line the prediction is exact. Both axes are logarithmic." +
        (whiskers ? " Whiskers are 90 % intervals." : " There are too many rows to show their intervals.")),
      plane("Predicted against measured steps", drawn.map(([id, source, measured, predicted, low, high]) => ({
        x: measured,
        y: predicted,
        ...(whiskers && known(low) ? {low, high} : {}),
        class: few ? "g-" + source : "g-0",
        hover: `${id} (${data.sources[source]}): measured ` +
          `${seconds(measured)} s, predicted ${seconds(predicted)} s` +
          (known(low) ? `, 90 % ${seconds(low)} to ${seconds(high)} s` : "") + `, ${signed(predicted / measured - 1)}`
      })),
        {
          log: true,
          diagonal: true,
          xUnit: "measured, seconds a step",
          yUnit: "predicted, seconds a step",
          mark: "mark-row",
          radius: 3,
          height: 420
        }),
      drawn.length < data.rows_found ? h("p", {class: "capped"},
                                         `${grouped(drawn.length)} of ${grouped(data.rows_found)} rows are drawn, ` +
                                           "evenly chosen; all count in the numbers. --format json lists all.") :
                                       null);
    section("sources", "Errors by " + data.source_is, para("Dots are median errors, whiskers hold nine of ten rows."),
      errorRows("Errors by source", data.by_source, "mark-source"));
    if (data.by_mechanism.length > 0)
      section("mechanisms", "Errors by what a layout uses",
        para("A row counts with each mechanism that its layout uses. If one " +
          "differs from the others, look for what is modelled wrongly there."),
        errorRows("Errors by mechanism", data.by_mechanism, "mark-mechanism"));
    if (data.by_model.length > 1)
      section("models", "Errors by model", errorRows("Errors by model", data.by_model, "mark-model"));
  }
  if (data.skipped.length > 0)
    section("skipped", "Rows that are not predicted",
      table(["rows", "why"], [...data.skipped].sort((a, b) => b[1] - a[1]).map(([why, n]) => [grouped(n), why]), [0]));
  remarks();
  footer(`profile ${data.profile}`);
}

const duration = (s) => (s >= 86400 ? (s / 86400).toFixed(1) + " days" :
    s >= 3600                       ? (s / 3600).toFixed(1) + " h" :
    s >= 60                         ? (s / 60).toFixed(1) + " min" :
                                      s.toFixed(0) + " s");

function watchVerdict() {
  const d = data;
  if (!known(d.step_seconds)) return "No step time is known yet.";
  const text = `A step takes ${seconds(d.step_seconds)} s, the median of ${count(d.timed_steps, "step")}`;
  if (!known(d.predicted_seconds))
    return text + ". It is not stated what ran, so there is no prediction to compare with.";
  const [low, high] = d.predicted_seconds_90, share = d.step_seconds / d.predicted_seconds - 1;
  const how = d.step_seconds > high ? "slower than it should be" :
    d.step_seconds < low            ? "faster than predicted" :
                                      "as predicted";
  return `${text}: ${how}. The prediction is ${seconds(d.predicted_seconds)} s (90 ` +
    `% interval: ${seconds(low)} to ${seconds(high)} s); the run takes ` +
    `${percent(Math.abs(share))} ${share > 0 ? "longer" : "less"}.`;
}

function watchPage() {
  const d = data, c = d.losses;
  const what = d.job ? jobWords(d.job) : d.source;
  document.title = "trnplan watch: " + what;
  page.append(h("header", null, h("p", {class: "kind"}, "watch: a run compared with its plan"), h("h1", null, what),
    h("p", {class: "job"},
      (d.job ? `${d.source}, ${d.job.model}, ${layout(d.strategy)}` : "no plan to compare with") +
        (d.state ? `, ${d.state}` : ""))));
  const failed = d.how_failed ? `Failed: ${d.how_failed}. ` : "";
  const done = d.total > 0 ? `Step ${grouped(d.step)} of ${grouped(d.total)}` :
    d.step > 0 ? `Step ${grouped(d.step)}` :
                 "No step yet";
  page.append(h("section", {id: "answer"},
    h("p", {class: "lead"}, strong(failed + done), d.finished ? ", finished. " : ". ", watchVerdict()),
    d.failures.map(
      (f) => h("div", {class: "warning mark-failure"},
        para(strong(`Failure: ${f.kind}`),
          `, ${count(f.count, "line")}, first ` +
            `${f.file}:${f.line}${f.went_on ? "; the run went on" : ""}`),
        h("pre", null, f.text), para((f.rule ? `Rule ${f.rule}: ` : "") + f.problem), para("Fix: " + f.fix),
        f.next ? para(`The next plan: ${f.next}` +
                   (known(f.next_step_seconds) ? `, ${seconds(f.next_step_seconds)} s a step` : "")) :
                                                 null)),
    d.alarms.map((a) => h("div", {class: "warning mark-alarm"},
                   para(strong(a.kind + ": "), a.message, a.line > 0 ? ` (line ${a.line})` : ""),
                   a.cause ? para("Cause: " + a.cause) : null, a.fix ? para("Fix: " + a.fix) : null)),
    h("div", {class: "tiles"},
      known(d.recent_seconds) ?
        tile("recent", "Last 20 steps", seconds(d.recent_seconds) + " s", "mean, without pauses") :
        null,
      known(d.tokens_per_second) ? tile("speed", "Throughput", grouped(d.tokens_per_second) + " tokens/s") : null,
      known(d.goodput) ? tile("goodput", "Goodput", percent(d.goodput),
                           known(d.wall_seconds) ? `of ${duration(d.wall_seconds)}` : null) :
                                                   null,
      tile("restarts", "Restarts", grouped(d.restarts),
        d.lost_steps > 0 ? `${count(d.lost_steps, "step")} repeated` : "no step repeated"),
      known(d.eta_seconds) ? tile("eta", "Left", duration(d.eta_seconds), "at this goodput") : null,
      known(d.loss) ?
        tile("loss", "Loss", d.loss_lost ? "NaN" : String(+d.loss.toPrecision(5)),
          d.loss_lost    ? `${+ d.loss.toPrecision(5)} before` :
          known(c.lowest) ? `lowest ${+ c.lowest.toPrecision(5)} at step ${grouped(c.lowest_step)}` : null) :
        null,
      known(d.memory_bytes) ?
        tile("memory", `Memory of the fullest ${CORE}`, gib(d.memory_bytes) + " GiB",
          known(d.predicted_memory_bytes) ? `predicted ${gib(d.predicted_memory_bytes)} GiB` : null) :
        known(d.predicted_memory_bytes)   ? tile("memory", `Memory of the fullest ${CORE}`, "not in the log",
                                            `predicted ${gib(d.predicted_memory_bytes)} GiB`) :
                                            null,
      known(d.usd_so_far) ?
          tile("cost", d.steps_before > 0 ? "USD of this log" : "USD so far", usd(d.usd_so_far),
            known(d.usd_total) ? `of ${usd(d.usd_total)}${d.steps_before > 0 ? " for the whole run" : ""}` : null) :
                                                                             null)));
  if (d.commands.length > 0) nextPart();
  stepsPart();
  if (c.points.length > 1) curvePart("loss", "Loss", c, "mark-loss");
  if (d.gradient_norms.points.length > 1) curvePart("norms", "Gradient norm", d.gradient_norms, "mark-norm");
  if (d.events.length > 0)
    section("events", "What happened",
      table(["line", "what", "in the log's words"], d.events.map((e) => [grouped(e.line), e.kind, e.text]), [0]),
      capped(d.events.length, d.events_found, "events"));
  d.remarks.push(...d.notes);
  remarks();
  footer();
}

function stepsPart() {
  const d = data, points = d.stretches.flatMap((s, i) => s.points.map(([step, middle, most]) => ({
    x: step,
    y: middle,
    low: middle,
    high: most,
    line: String(i),
    class: "g-0",
    hover: `${d.steps_a_point > 1 ? `${d.steps_a_point} steps from ` : "step "}${grouped(step)}: ` +
      `${seconds(middle)} s` + (most > middle ? `, the longest ${seconds(most)} s` : "")
  })));
  if (points.length === 0) return;
  const band = known(d.predicted_seconds) ? [{
    low: d.predicted_seconds_90[0],
    high: d.predicted_seconds_90[1],
    class: "band mark-band",
    hover: "90 % interval of the prediction"
  }] :
                                            [];
  section("steps", "Steps over time",
    para((band.length > 0 ? "The band is the prediction's 90 % interval, the line in it the prediction. " : "") +
      (d.stretches.length > 1 ? "Dashed lines are restarts. " : "") +
      (d.steps_a_point > 1 ? `A dot is the median of ${d.steps_a_point} steps, its whisker their ` +
            `longest; ${grouped(d.steps_found)} steps are in the log.` :
                             `${count(d.steps_found, "step")} with a time are in the log.`)),
    plane("Seconds of each step", points, {
      xUnit: "step",
      yUnit: "seconds",
      mark: "mark-step",
      radius: points.length > 400 ? 1.5 : 3,
      join: true,
      bands: band,
      levels: band.length > 0 ? [{value: d.predicted_seconds, class: "level", hover: "the prediction"}] : [],
      moments: d.stretches.slice(1).map((s) => ({
        at: s.first,
        class: "restart mark-restart",
        hover: `started again at step ${grouped(s.first)} (line ${s.line})`
      }))
    }));
}

function curvePart(id, name, curve, mark) {
  section(id, name,
    para(
      (known(curve.lowest) ? `Lowest: ${+ curve.lowest.toPrecision(5)} at step ${grouped(curve.lowest_step)}. ` : "") +
      (curve.spikes > 0 ? `${count(curve.spikes, "long spike")}. ` : "") +
      (curve.every > 1 ? `One value of ${curve.every} is drawn; the log has ${grouped(curve.values)}.` : "")),
    plane(name + " by step", curve.points.map(([step,
      value]) => ({x: step, y: value, class: "g-2", hover: `step ${grouped(step)}: ${+ value.toPrecision(6)}`})),
      {xUnit: "step", yUnit: name.toLowerCase(), mark, radius: curve.points.length > 400 ? 1.5 : 3}));
}
