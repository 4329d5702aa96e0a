// Goodput by the formulas and draws of planner/cost/goodput.cpp, in the same order of operations. Times are seconds.
const DAY = 86400, HOUR = 3600;

function failureModel(r, run) {
  const storage = r.storage_throughput > 0 ? r.storage_throughput : r.storage_per_node * run.storageNodes;
  const write = run.checkpoint / storage;
  const interruptions = run.spot ? r.spot_interruption || 0 : 0, rate = r.failure_rate * run.hosts + interruptions;
  const m = {
    mtbf: DAY / (run.nodes * rate),
    recovery: r.restart + r.load_ratio * write,
    replacement: 0,
    replacementShare: 0,
    person: r.manual_response,
    personShare: 1,
    stall: run.asynchronous ? r.asynchronous_stall : write,
    unsafe: run.asynchronous ? write : 0
  };
  if (run.manual) return m;
  m.recovery += r.detection;
  m.replacement = r.replacement;
  m.replacementShare = r.replacement_share;
  if (run.spot) m.replacementShare += (1 - m.replacementShare) * interruptions / rate;
  m.personShare = r.manual_share;
  return m;
}

function uptimeOf(m) {
  const survives = (s) => Math.exp(-(s / m.mtbf)), mixed = (share, s) => 1 - share + share * survives(s);
  return survives(m.recovery) * mixed(m.replacementShare, m.replacement) * mixed(m.personShare, m.person);
}
function goodputOf(m, interval) {
  const period = Math.max(interval, m.unsafe) + m.stall;
  return uptimeOf(m) * Math.exp(-(m.unsafe / m.mtbf)) * (interval / m.mtbf) / Math.expm1(period / m.mtbf);
}

// Steps between checkpoints that lose least.
function bestSteps(m, step) {
  const delta = m.stall / m.mtbf, most = 1e9;
  let low = 0, high = 1;
  for (let i = 0; i < 200 && low < high; ++i) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) break;
    if (Math.log1p(-middle) + middle + delta > 0)
      low = middle;
    else
      high = middle;
  }
  const wanted = Math.max(low * m.mtbf, m.unsafe) / step, within = (n) => Math.min(Math.max(n, 1), most);
  const below = within(Math.floor(wanted)), above = within(Math.ceil(wanted));
  if (below * step < m.unsafe) return above;
  return goodputOf(m, below * step) >= goodputOf(m, above * step) ? below : above;
}

// One run, event by event: the share of its time that is progress.
class RunSimulation {
  constructor(m, interval, work, random) {
    Object.assign(this, {m, interval, work, random, clock: 0, done: 0, resumed: 0, safe: 0, written: null});
    this.nextFailure = random.exponential(m.mtbf);
  }

  goodput() {
    while (this.done < this.work) {
      this.workUntilFailure();
      const stop = Math.min(this.resumed + this.interval, this.work);
      if (!this.pass(stop - this.done)) continue;
      this.done = stop;
      if (this.done < this.work) this.save();
    }
    return this.work / this.clock;
  }

  pass(time) {
    const end = this.clock + time;
    if (this.nextFailure < end) {
      this.fail();
      return false;
    }
    this.clock = end;
    this.settle();
    return true;
  }

  // Skips whole intervals up to the last before a failure or the end.
  workUntilFailure() {
    const stop = this.resumed + this.interval, saved = this.clock + (stop - this.done) + this.m.stall;
    const waits = this.m.unsafe > this.interval || (this.written && this.written.at > saved - this.m.stall);
    if (waits || this.nextFailure < saved || stop >= this.work) return;
    if (this.written) this.safe = this.written.work;
    const each = this.interval + this.m.stall;
    let whole =
      Math.min(Math.floor((this.nextFailure - saved) / each), Math.ceil((this.work - stop) / this.interval) - 1);
    while (whole > 0 && (saved + whole * each > this.nextFailure || stop + whole * this.interval >= this.work)) --whole;
    whole = Math.max(whole, 0);
    this.clock = saved + whole * each;
    this.done = this.resumed = stop + whole * this.interval;
    if (whole > 0) this.safe = this.done - this.interval;
    this.written = {at: this.clock + this.m.unsafe, work: this.done};
    this.settle();
  }

  settle() {
    if (!this.written || this.clock < this.written.at) return;
    this.safe = this.written.work;
    this.written = null;
  }

  save() {
    if (this.written && !this.pass(this.written.at - this.clock)) return;
    if (!this.pass(this.m.stall)) return;
    this.resumed = this.done;
    this.written = {at: this.clock + this.m.unsafe, work: this.done};
    this.settle();
  }

  recovery() {
    const {m, random} = this;
    let length = m.recovery;
    if (random.uniform() < m.replacementShare) length += m.replacement;
    if (random.uniform() < m.personShare) length += m.person;
    return length;
  }

  fail() {
    this.clock = this.nextFailure;
    this.settle();
    this.written = null;
    this.done = this.resumed = this.safe;
    for (let recovered = false; !recovered;) {
      const end = this.clock + this.recovery();
      this.nextFailure = this.clock + this.random.exponential(this.m.mtbf);
      recovered = this.nextFailure >= end;
      this.clock = recovered ? end : this.nextFailure;
    }
  }
}

// The spread of an interval by the formulas of planner/cost/run_spread.h.
function failedBefore(x) {
  if (x < 1e-5) return {mean: x / 2, square: x * x / 3};
  const share = -Math.expm1(-x), survives = Math.exp(-x);
  return {mean: (share - x * survives) / share, square: (2 * share - survives * (2 * x + x * x)) / share};
}
const varianceOf = (moments) => moments.square - moments.mean * moments.mean;

function geometricSum(success, mean, variance) {
  const odds = (1 - success) / success;
  return {mean: odds * mean, variance: odds * variance + odds / success * mean * mean};
}

function recoveryTime(m) {
  let done = {mean: 0, square: 0}, lost = {mean: 0, square: 0}, success = 0;
  for (const replaced of [false, true]) {
    for (const byPerson of [false, true]) {
      const share =
        (replaced ? m.replacementShare : 1 - m.replacementShare) * (byPerson ? m.personShare : 1 - m.personShare);
      let length = m.recovery;
      if (replaced) length += m.replacement;
      if (byPerson) length += m.person;
      const x = length / m.mtbf, survives = Math.exp(-x), failed = failedBefore(x);
      success += share * survives;
      done.mean += share * survives * x;
      done.square += share * survives * x * x;
      lost.mean += share * -Math.expm1(-x) * failed.mean;
      lost.square += share * -Math.expm1(-x) * failed.square;
    }
  }
  done = {mean: done.mean / success, square: done.square / success};
  if (success >= 1) return {mean: done.mean, variance: 0};
  lost = {mean: lost.mean / (1 - success), square: lost.square / (1 - success)};
  const attempts = geometricSum(success, lost.mean, varianceOf(lost));
  return {mean: done.mean + attempts.mean, variance: varianceOf(done) + attempts.variance};
}

function intervalSpread(m, interval) {
  const period = (Math.max(interval, m.unsafe) + m.stall) / m.mtbf, until = failedBefore(period);
  const recovery = recoveryTime(m);
  const lost = geometricSum(
    Math.exp(-period), until.mean + recovery.mean + m.unsafe / m.mtbf, varianceOf(until) + recovery.variance);
  return Math.sqrt(lost.variance) / (period + lost.mean);
}

function runOnce(m, interval, work, random) {
  const many = 300, expected = goodputOf(m, interval);
  if (expected < 0.01 || work <= 0) return expected;
  const intervals = work / interval, failures = work / m.mtbf / expected;
  if (intervals >= many && failures >= many)
    return expected * Math.exp(-(intervalSpread(m, interval) / Math.sqrt(intervals)) * random.normal());
  if (intervals / expected + failures >= 1e6) return expected;
  return new RunSimulation(m, interval, work, random).goodput();
}

const mayBeAbsent = new Set(["spot_interruption", "storage_per_node", "storage_throughput"]);

// Draws each parameter that is there: `parameters` holds [median, sd of the logarithm, is a share] by name, `normals` a
// normal deviate of each.
function drawnFrom(parameters, normals, spot) {
  const drawn = {};
  Object.entries(parameters).forEach(([name, [median, sd, share]], i) => {
    if (name === "spot_interruption" && !spot) return;
    if (mayBeAbsent.has(name) && !(median > 0)) return;
    const value = median * Math.exp(sd * normals[i]);
    drawn[name] = share ? Math.min(value, 1) : value;
  });
  return drawn;
}

// Normal deviates of so many parameters in each draw: of each one in every stratum, in an order of its own.
function stratifiedNormals(draws, parameters, random) {
  const deviates = Array.from({length: draws}, (_, d) => normalQuantile((d + 0.5) / draws));
  const orders = [];
  for (let p = 0; p < parameters; ++p) {
    const order = deviates.map((_, d) => d);
    for (let left = draws; left > 1; --left) {
      const other = Math.floor(random.uniform() * left), last = order[left - 1];
      order[left - 1] = order[other];
      order[other] = last;
    }
    orders.push(order);
  }
  return deviates.map((_, d) => orders.map((order) => deviates[order[d]]));
}

const mediansOf = (parameters) =>
  Object.fromEntries(Object.entries(parameters).map(([name, [median]]) => [name, median]));

function closedGoodput(parameters, run) {
  const m = failureModel(mediansOf(parameters), run), every = run.everySteps || bestSteps(m, run.step);
  return {goodput: goodputOf(m, every * run.step), interval: every * run.step};
}

// Median, 5th and 95th percentile of simulated runs; pauses after each of them.
function* estimatedGoodput(parameters, run, draws, seed) {
  const {interval} = closedGoodput(parameters, run), random = new Random(seed), all = [];
  for (const normals of stratifiedNormals(draws, Object.keys(parameters).length, random)) {
    const m = failureModel(drawnFrom(parameters, normals, run.spot), run);
    all.push(runOnce(m, interval, run.work, random.fork()));
    yield;
  }
  all.sort((a, b) => a - b);
  const percentile = (share) => all[Math.floor(share * (all.length - 1) + 0.5)];
  const middle = percentile(0.5);
  return {goodput: middle < R.no_progress ? 0 : middle, interval, low: percentile(0.05), high: percentile(0.95)};
}
