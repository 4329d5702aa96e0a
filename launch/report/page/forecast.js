// Days, dollars and their probabilities of each cluster, the front and the recommendation, by the formulas of
// planner/cost/run_forecast.cpp, prices.cpp and whatif.cpp. `R` holds what they need beyond the page's numbers.
const R = data.recompute;

// The standard normal distribution: the series of erf near 0, the continued fraction of erfc elsewhere.
function normalProbability(z) {
  const x = Math.abs(z) / Math.SQRT2;
  if (x > 27) return z > 0 ? 1 : 0;
  let tail;  // of both sides
  if (x < 2) {
    let term = x, total = x;
    for (let n = 1; Math.abs(term) > 1e-18 * total; ++n) {
      term *= -x * x / n;
      total += term / (2 * n + 1);
    }
    tail = 1 - 2 / Math.sqrt(Math.PI) * total;
  } else {
    let fraction = 0;
    for (let n = 120; n > 0; --n) fraction = n / 2 / (x + fraction);
    tail = Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + fraction);
  }
  return z > 0 ? 1 - tail / 2 : tail / 2;
}

// A node's price: the type's as it is paid, or as stated in the page.
function billOf(type, nodes, stated) {
  const list = known(stated) ? stated : type.usd_per_hour;
  if (!known(list)) return {spot: type.stated.spot, known: false};
  const terms = known(stated) ? type.stated : type.paid, node = nodes * (list * terms.factor);
  return {known: true, spot: terms.spot, node, hourly: R.other_usd_per_hour.reduce((all, usd) => all + usd, node)};
}
function usdOf(bill, time) {
  const term = R.term_seconds;
  if (!(term > 0)) return bill.hourly * time / HOUR;
  return (bill.node * (Math.ceil(time / term) * term) + (bill.hourly - bill.node) * time) / HOUR;
}
// The longest run that costs at most so much.
function timeFor(bill, most) {
  const term = R.term_seconds;
  if (!(bill.hourly > 0)) return Infinity;
  if (!(term > 0)) return most / bill.hourly * HOUR;
  const hours = term / HOUR, other = bill.hourly - bill.node, whole = Math.floor(most / (bill.hourly * hours));
  const left = most - whole * bill.hourly * hours - bill.node * hours;
  return whole * term + (left < 0 || !(other > 0) ? 0 : Math.min(left / other, hours) * HOUR);
}

// The middle of a range at which a rising function passes a value, to the last digits.
function bisected(low, high, isBelow) {
  for (;;) {
    const middle = low + (high - low) / 2;
    if (!(low < middle && middle < high)) return middle;
    if (isBelow(middle))
      low = middle;
    else
      high = middle;
  }
}
const normalQuantile = (p) => bisected(-10, 10, (z) => normalProbability(z) < p);

// Probability that the logarithm of a token's seconds is at most x, and the x of a probability.
function probabilityIn(states, x) {
  return states.reduce((sum, s) => {
    const distance = x - s.logTime, sd = distance > 0 ? s.above : s.below;
    return sum + s.weight * (sd > 0 ? normalProbability(distance / sd) : distance >= 0 ? 1 : 0);
  }, 0);
}
function quantileIn(states, p) {
  const low = Math.min(...states.map((s) => s.logTime - 12 * s.below - 1));
  const high = Math.max(...states.map((s) => s.logTime + 12 * s.above + 1));
  return bisected(low, high, (x) => probabilityIn(states, x) < p);
}

// The same with an independent variable added that has a normal's halves with these sds, by slices of them.
function plusHalves(states, below, above) {
  if (!(below > 0) && !(above > 0)) return states;
  const weight = 1 / (2 * R.slices.length);
  return states.flatMap((s) => R.slices.flatMap(([mean, sd]) => [-below, above].map((width) => ({
    weight: s.weight * weight,
    logTime: s.logTime + mean * width,
    below: Math.hypot(s.below, sd * width),
    above: Math.hypot(s.above, sd * width)
  }))));
}

// Time and tokens of a run that are reached with a probability, given as the standard deviations `z`.
function stretch(f, z) {
  if (z === 0) return 1;
  if (f.states.length > 0) return Math.exp(quantileIn(f.states, normalProbability(z))) * f.rate;
  return Math.exp(z * (z > 0 ? f.longer : f.shorter) / R.ninety_z);
}
const timeOf = (f, tokens, z) => tokens / f.rate * stretch(f, z);
const tokensIn = (f, time, z) => time * f.rate / stretch(f, z);
function probabilityOf(f, tokens, time) {
  if (time <= 0) return 0;
  if (f.states.length > 0) return probabilityIn(f.states, Math.log(time / tokens));
  const distance = Math.log(time / timeOf(f, tokens, 0)), width = distance > 0 ? f.longer : f.shorter;
  if (!(width > 0)) return distance >= 0 ? 1 : 0;
  return normalProbability(distance / (width / R.ninety_z));
}

// Estimates of the settings before, so that another price or deadline costs nothing.
const goodputs = new Map();
function* goodputFor(parameters, run) {
  const key = JSON.stringify([parameters.failure_rate, run]);
  if (!goodputs.has(key)) {
    const estimate = yield* estimatedGoodput(parameters, run, R.draws, R.seed);
    if (goodputs.size >= 1000) goodputs.clear();
    goodputs.set(key, estimate);
  }
  return goodputs.get(key);
}

// One cluster at the page's settings {prices, tokens, deadline (seconds), rate, nodes}; pauses while it simulates.
function* answeredPoint(p, s) {
  const type = R.types.find((t) => t.instance === p.instance), bill = billOf(type, p.nodes, s.prices[p.instance]);
  const stated = statesRate(s), own = R.reliability.failure_rate;
  const parameters = {...R.reliability, failure_rate: [stated ? s.rate : own[0], ...own.slice(1)]};
  const run = {
    nodes: p.nodes,
    hosts: stated ? 1 : type.failing_hosts,
    storageNodes: Math.max(p.nodes, R.fewest_storage_nodes),
    step: p.step_seconds,
    checkpoint: p.checkpoint_bytes,
    work: s.tokens / p.tokens_per_second,
    manual: R.manual,
    asynchronous: R.asynchronous,
    everySteps: R.checkpoint_steps,
    spot: bill.spot
  };
  const budget = data.question.budget_usd, far = data.question.asks_for_tokens;
  const within = known(budget) && bill.known ? timeFor(bill, budget) : Infinity;
  const left = Math.min(known(s.deadline) ? s.deadline : Infinity, within);
  const none = (why) => ({...bare(p), why, fix: ""});
  if (far && known(budget) && !bill.known)
    return none("price: no price of a node is known, so the budget does not say how long the run may be");
  if (far && !(left < Infinity)) return none("price: the cluster costs nothing, so no budget limits the run");
  if (far) run.work = left * closedGoodput(parameters, run).goodput;
  const g = yield* goodputFor(parameters, run), f = forecastOf(p, g);
  const out = {
    ...p,
    goodput: g.goodput,
    goodput_90: [g.low, g.high],
    checkpoint_interval_seconds: g.interval,
    forecast: f,
    ...(far ? reached(f, left, p) : ended(f, s, within, bill))
  };
  if (out.why) return none(out.why);
  out.days = out.time / DAY;
  out.days_at_90 = out.time_at_90 / DAY;
  out.usd = bill.known ? usdOf(bill, out.time) : null;
  out.usd_at_90 = bill.known ? usdOf(bill, out.time_at_90) : null;
  if (far && known(budget) && bill.known) out.usd = out.usd_at_90 = Math.min(out.usd, budget);
  out.usd_per_1e9_tokens = bill.known ? out.usd / (out.tokens_50 > 0 ? out.tokens_50 : s.tokens) * 1e9 : null;
  return out;
}
function forecastOf(p, g) {
  const width = (wide, narrow) => (narrow > 0 ? Math.log(wide / narrow) : Infinity), [low, high] = p.step_seconds_90;
  const better = width(g.high, g.goodput), worse = width(g.goodput, g.low);
  const f = {
    rate: p.tokens_per_second * g.goodput,
    shorter: Math.hypot(width(p.step_seconds, low), better),
    longer: Math.hypot(width(high, p.step_seconds), worse),
    states: []
  };
  if (!(f.rate > 0) || !(Math.max(f.shorter, f.longer) < Infinity)) return f;
  // Weight, logarithm of the step, its sd below and above in each state of the network.
  const steps = R.states[data.points.indexOf(p)], tokens = Math.log(f.rate * p.step_seconds);
  f.states = plusHalves(
    steps.map(([weight, mean, below, above]) => ({weight, logTime: mean - tokens, below, above})), better / R.ninety_z,
    worse / R.ninety_z);
  const median = quantileIn(f.states, 0.5);
  f.rate = Math.exp(-median);
  f.shorter = median - quantileIn(f.states, 0.05);
  f.longer = quantileIn(f.states, 0.95) - median;
  return f;
}
const bare = (p) => ({instance: p.instance, nodes: p.nodes, global_batch: p.global_batch, remark: ""});

function reached(f, left, p) {
  const step = data.job.sequence * p.global_batch, whole = (tokens) => Math.floor(tokens / step) * step;
  const found = {
    time: left,
    time_at_90: left,
    days_90: [left / DAY, left / DAY],
    tokens_50: whole(tokensIn(f, left, 0)),
    tokens_90: whole(tokensIn(f, left, R.sure_z)),
    deadline_probability: 1,
    budget_probability: 1
  };
  if (!(found.tokens_50 > 0)) found.why = `time: ${+ left.toPrecision(4)} s is less than one step`;
  return found;
}
function ended(f, s, within, bill) {
  const time = timeOf(f, s.tokens, 0);
  if (!(time < Infinity)) return {why: "goodput: failures come more often than a checkpoint is reached"};
  return {
    time,
    time_at_90: timeOf(f, s.tokens, R.sure_z),
    days_90: [time * Math.exp(-f.shorter) / DAY, time * Math.exp(f.longer) / DAY],
    tokens_50: 0,
    tokens_90: 0,
    deadline_probability: known(s.deadline) ? probabilityOf(f, s.tokens, s.deadline) : 1,
    budget_probability: !known(data.question.budget_usd) ? 1 :
      !bill.known                                        ? 0 :
      within < Infinity                                  ? probabilityOf(f, s.tokens, within) :
                                                           1
  };
}

// Time (or that of a token), dollars and nodes: smaller is better.
function measures(p) {
  const tokens = p.tokens_50 > 0 ? p.tokens_50 : 1;
  return [(p.tokens_50 > 0 ? 1 : p.time) / tokens, known(p.usd) ? p.usd / tokens : Infinity, p.nodes];
}
function dominates(a, b) {
  const x = measures(a), y = measures(b);
  return x.every((v, i) => v <= y[i]) && x.some((v, i) => v !== y[i]);
}
function preferenceOf(s) {
  if (R.preference !== "fitting") return R.preference;
  return data.question.asks_for_tokens || (known(data.question.budget_usd) && !known(s.deadline)) ? "fastest" :
                                                                                                    "cheapest";
}
function orderOf(p, preference) {
  const [run, price, nodes] = measures(p);
  if (preference === "fastest") return [run, price, nodes];
  if (preference === "smallest") return [nodes, price, run];
  return price < Infinity ? [price, run, nodes] : [price, nodes, run];
}
function isBefore(a, b) {
  const i = a.findIndex((v, k) => v !== b[k]);
  return i >= 0 && a[i] < b[i];
}

// Both are of clusters with a plan.
const worksOf = (p) => (known(p.works_probability) ? p.works_probability : 1);
function keeps(p, s) {
  const q = data.question;
  if (q.asks_for_tokens) return p.tokens_50 > 0;
  if (known(R.confidence)) {
    const limited = known(s.deadline) || known(q.budget_usd);
    return worksOf(p) * (limited ? Math.min(p.deadline_probability, p.budget_probability) : 1) >= R.confidence;
  }
  if (known(s.deadline) && p.time > s.deadline) return false;
  return !known(q.budget_usd) || (known(p.usd) && p.usd <= q.budget_usd);
}
function keepsSurely(p, s) {
  const q = data.question;
  if (q.asks_for_tokens) return true;
  if (known(s.deadline) && p.time_at_90 > s.deadline) return false;
  return !known(q.budget_usd) || (known(p.usd_at_90) && p.usd_at_90 <= q.budget_usd);
}

// The page's answer at other settings, in the form of its data: points, front and recommendation. Pauses now and then.
function* recomputed(s) {
  const points = [];
  for (const p of data.points.filter((x) => x.nodes >= s.nodes[0] && x.nodes <= s.nodes[1]))
    points.push(p.strategy ? yield* answeredPoint(p, s) : p);
  return compared(points, s);
}
function compared(points, s) {
  const rates = new Map();
  const planned = points.filter((p) => p.strategy), preference = preferenceOf(s);
  for (const p of planned) {
    const rate = p.tokens_per_second / p.nodes;
    if (!rates.has(p.instance)) rates.set(p.instance, rate);
    p.efficiency = rate / rates.get(p.instance);
    p.pareto = !planned.some((o) => dominates(o, p));
    p.keeps = keeps(p, s);
  }
  const first = (list) =>
    list.reduce((best, p) => (best && !isBefore(orderOf(p, preference), orderOf(best, preference)) ? best : p), null);
  const best = first(planned.filter((p) => p.keeps));
  const surer = best && !keepsSurely(best, s) ? first(planned.filter((p) => keepsSurely(p, s))) : null;
  const reason = best ? reasonFor(best, s, preference) : reasonForNone(planned, s), standings = standingsOf(points, s);
  return {
    points,
    recommended: points.indexOf(best),
    surer: points.indexOf(surer),
    reason,
    because: best ? because(best, reason, standings, points, s) : "",
    instances: standings,
    would_do: null,
    reaches: null
  };
}

function reasonFor(best, s, preference) {
  const q = data.question, far = q.asks_for_tokens;
  const word = preference === "fastest"           ? far ? "the most tokens" : "the fastest" :
    preference === "smallest" || !known(best.usd) ? "the smallest" :
    far                                           ? "the most tokens per dollar" :
                                                    "the cheapest";
  const limits = [
    known(s.deadline) ? ` within ${figures(s.deadline / DAY)} days` : "",
    known(q.budget_usd) ? `${known(s.deadline) ? " and" : " within"} ${grouped(q.budget_usd)} USD` : ""
  ].join("");
  const sure = known(R.confidence) ? `${limits ? "" : " that works"} with ${figures(100 * R.confidence)} %` : "";
  return word + limits + sure;
}
function reasonForNone(planned, s) {
  const least = (list, of) => list.reduce((a, p) => (a && of(a) <= of(p) ? a : p), null), q = data.question;
  if (planned.length === 0) return "on none of these clusters does a run make progress";
  const fastest = least(planned, (p) => p.time), cheapest = least(planned.filter((p) => known(p.usd)), (p) => p.usd);
  const missed = [];
  if (known(s.deadline) && fastest.time > s.deadline)
    missed.push(`the fastest, ${place(fastest)}, takes ${figures(fastest.days)} days; the deadline is ` +
      figures(s.deadline / DAY));
  if (known(q.budget_usd) && !cheapest)
    missed.push("no price of a node is known, so no cluster keeps the budget");
  else if (known(q.budget_usd) && cheapest.usd > q.budget_usd)
    missed.push(
      `the cheapest, ${place(cheapest)}, costs ${grouped(cheapest.usd)} USD; the budget is ` + grouped(q.budget_usd));
  if (missed.length > 0) return missed.join("; ");
  const limited = known(s.deadline) || known(q.budget_usd);
  return known(R.confidence) ?
    `no cluster ${limited ? "keeps the limits" : "works"} with ${figures(100 * R.confidence)} %` :
    "some clusters keep the deadline, others the budget, none both";
}
const figures = (v, digits = 4) => (v >= 10 ** digits ? grouped(v) : String(+v.toPrecision(digits)));
