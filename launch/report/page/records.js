// The pages of validate and watch: predictions beside what was measured.
const signed = (e) => (e >= 0 ? "+" : "−") + percent(Math.abs(e));

function errorRows(label, groups, mark) {
  const all = [...groups].sort((a, b) => b.rows - a.rows), shown = all.slice(0, 24);
  return [dotRows(label, "% too long (right) or too short (left)", shown.map((g) => ({
    label: `${g.name}, ${count(g.rows, "row")}`, value: 100 * g.median_error, low: 100 * g.error_90[0], high: 100 * g.error_90[1], note: signed(g.median_error),
    hover: `${g.name}: ${count(g.rows, "row")}, median ${signed(g.median_error)}, nine of ten from ${signed(g.error_90[0])} to ${signed(g.error_90[1])}` +
      (known(g.coverage_90) ? `; ${percent(g.coverage_90)} within their 90 % interval` : "")})), mark),
    shown.length < all.length ? h("p", {class: "capped"}, `${shown.length} of ${all.length} are drawn, those with most rows; the table has all.`) : null,
    numbers("The numbers", table(["", "rows", "median error", "5 % to 95 %", "median |error|", "within 90 %"], all.map((g) =>
      [g.name, grouped(g.rows), signed(g.median_error), `${signed(g.error_90[0])} to ${signed(g.error_90[1])}`, percent(g.median_ape), known(g.coverage_90) ? percent(g.coverage_90) : ""]), [1, 2, 3, 4, 5]))];
}

function validatePage() {
  const s = data.summary;
  document.title = "trnplan validate: " + data.table;
  page.append(h("header", null, h("p", {class: "kind"}, "validate: predicted against measured"), h("h1", null, data.table), h("p", {class: "job"}, `profile ${data.profile}`)));
  page.append(h("section", {id: "answer"},
    h("p", {class: "lead"}, `Half of the predictions are within `, strong(percent(s.median_ape)), ` of the measured step` +
      (known(s.coverage_90) ? `, and ${percent(s.coverage_90)} of the measured steps lie in their 90 % interval` : "") + "."),
    known(data.leave_out) ? para(data.leave_out === "none" ? "The profile predicts as it is, rows that it was fitted to among them." : `Each row is predicted by a fit that has not seen its ${data.leave_out.replace(/_/g, " ")}.`) : null,
    h("div", {class: "tiles"}, tile("rows", "Rows", grouped(s.rows), s.skipped > 0 ? `${grouped(s.skipped)} ${known(data.leave_out) ? "others" : "of them"} not predicted` : null),
      tile("median", "Median |error|", percent(s.median_ape), "half are smaller"), tile("mean", "Mean |error|", percent(s.mape), null),
      tile("bias", "Bias", signed(s.bias), s.bias >= 0 ? "predicted too long" : "predicted too short"),
      known(s.coverage_90) ? tile("covered", "Within 90 %", percent(s.coverage_90), `median half-width ${percent(s.half_width_90)}`) : null,
      known(s.constant_mfu_mape) ? tile("mfu", "One MFU for all", percent(s.constant_mfu_mape), `mean error so; noise of repeated runs ${percent(s.oracle_mape)}`) : null,
      data.fit && data.fit.rows > 0 ? tile("fits", "Fits or not", `${grouped(data.fit.right)} of ${grouped(data.fit.rows)} right`, `${grouped(data.fit.oom_caught)} of ${grouped(data.fit.oom)} out-of-memory runs foreseen`) : null,
      data.regret ? tile("regret", "Choosing by it costs", percent(data.regret.mean), `mean over ${count(data.regret.groups, "group")} of layouts; blindly ${percent(data.regret.random)}`) : null)));
  if (data.rows.length > 0) {
    const most = 1500, stride = Math.ceil(data.rows.length / most), drawn = data.rows.filter((_, i) => i % stride === 0);
    const whiskers = drawn.length <= 400, few = data.sources.length <= 8;
    section("pairs", "Predicted against measured", few && data.sources.length > 1 ? legend(data.sources.map((n, i) => ["g-" + i, n])) : null,
      para("A dot is a row; on the dashed line the prediction is exact. Both axes are logarithmic." + (whiskers ? " Whiskers are 90 % intervals." : " There are too many rows to show their intervals.")),
      plane("Predicted against measured steps", drawn.map(([id, source, measured, predicted, low, high]) => ({x: measured, y: predicted, ...(whiskers && known(low) ? {low, high} : {}), class: few ? "g-" + source : "g-0",
        hover: `${id} (${data.sources[source]}): measured ${seconds(measured)} s, predicted ${seconds(predicted)} s` + (known(low) ? `, 90 % ${seconds(low)} to ${seconds(high)} s` : "") + `, ${signed(predicted / measured - 1)}`})),
        {log: true, diagonal: true, xUnit: "measured, seconds a step", yUnit: "predicted, seconds a step", mark: "mark-row", radius: 3, height: 420}),
      drawn.length < data.rows_found ? h("p", {class: "capped"}, `${grouped(drawn.length)} of ${grouped(data.rows_found)} rows are drawn, evenly taken; all count in the numbers. --format json lists all.`) : null);
    section("sources", "Errors by " + data.source_is, para("Dots are median errors, whiskers hold nine of ten rows."), errorRows("Errors by source", data.by_source, "mark-source"));
    if (data.by_mechanism.length > 0)
      section("mechanisms", "Errors by what a layout uses", para("A row counts with each mechanism that its layout uses. Where one stands apart, look for what is modelled wrongly there."), errorRows("Errors by mechanism", data.by_mechanism, "mark-mechanism"));
    if (data.by_model.length > 1) section("models", "Errors by model", errorRows("Errors by model", data.by_model, "mark-model"));
  }
  if (data.skipped.length > 0)
    section("skipped", "Rows that are not predicted", table(["rows", "why"], [...data.skipped].sort((a, b) => b[1] - a[1]).map(([why, n]) => [grouped(n), why]), [0]));
  remarks();
  footer(`profile ${data.profile}`);
}
