// The types against each other, and the answer in words, as planner/cost/instance_comparison.cpp has them.

// The cluster that stands for a type: the preferred of those that keep the limits, else the fastest.
function standingOf(points, type, preference) {
  const better = (a, b) => {
    if (a.keeps !== b.keeps) return a.keeps;
    return a.keeps ? isBefore(orderOf(a, preference), orderOf(b, preference)) : a.time < b.time;
  };
  let best = -1;
  points.forEach((p, i) => {
    if (p.instance === type.instance && p.strategy && (best < 0 || better(p, points[best]))) best = i;
  });
  return best;
}

// Ratio of a run's cost to the median at two standard normal numbers, the first common to a family of types.
function stretched(f, common, own) {
  const wide = Math.max(f.longer, f.shorter) / R.ninety_z, apart = wide > 0 ? Math.min(1, R.own_log_sd / wide) : 1;
  return stretch(f, Math.sqrt(1 - apart * apart) * common + apart * own);
}
function cheapestShares(standings, points) {
  const random = new Random(R.standing_seed), wins = standings.map(() => 0);
  for (let draw = 0; draw < R.standing_draws; ++draw) {
    const families = new Map();
    let least = Infinity, cheapest = -1;
    standings.forEach((one, i) => {
      const p = points[one.point];
      if (!families.has(one.family)) families.set(one.family, random.normal());
      const own = random.normal();
      if (!known(p.usd)) return;
      const price = p.usd_per_1e9_tokens * stretched(p.forecast, families.get(one.family), own);
      if (price < least) [least, cheapest] = [price, i];
    });
    if (cheapest >= 0) ++wins[cheapest];
  }
  return wins.map((n) => n / R.standing_draws);
}
// The node's price at which a type is as cheap as the cheapest other one.
function breakEven(one, standings, points, s) {
  let least = Infinity, against = "";
  for (const other of standings) {
    const price = points[other.point].usd_per_1e9_tokens;
    if (other !== one && known(price) && price < least) [least, against] = [price, other.instance];
  }
  const p = points[one.point], tokens = data.question.asks_for_tokens ? p.tokens_50 : s.tokens;
  const paid = known(p.usd) && R.term_seconds > 0 ? Math.ceil(p.time / R.term_seconds) * R.term_seconds : p.time;
  const hours = p.nodes * paid / HOUR;
  return {against, usd: least < Infinity && hours > 0 ? least * tokens / 1e9 / hours : null};
}

function standingsOf(points, s) {
  const preference = preferenceOf(s);
  const all =
    R.types.map((type) => ({...type, point: standingOf(points, type, preference)})).filter((x) => x.point >= 0);
  const shares = cheapestShares(all, points);
  return all.map((one, i) => {
    const bill = billOf(one, 1, s.prices[one.instance]), even = breakEven(one, all, points, s);
    const part = {instance: one.instance, point: one.point, break_even_usd_per_hour: even.usd, against: even.against};
    if (bill.known) return {...part, usd_per_hour: bill.node, cheapest_probability: shares[i]};
    return {...part, why_unpriced: one.why_unpriced};
  });
}

function likelierWords(standings, own, points) {
  const priced = standings.filter((x) => known(x.cheapest_probability));
  const most = priced.reduce((a, b) => (b.cheapest_probability > a.cheapest_probability ? b : a));
  const shown = Math.round(100 * most.cheapest_probability);
  const price = (x) => points[x.point].usd_per_1e9_tokens;
  if (shown <= Math.round(100 * own.cheapest_probability) || price(most) < price(own)) return "";
  return ` (${most.instance} ${shown} %: what it costs is less sure)`;
}

function because(best, reason, standings, points, s) {
  const own = standings.find((x) => x.instance === best.instance), price = best.usd_per_1e9_tokens;
  const other = own && standings.find((x) => x.instance === own.against), far = data.question.asks_for_tokens;
  let words = `Take ${place(best)}, ${reason}`, sure = "";
  if (known(price)) {
    words += `: ${usd(price)} USD per billion tokens`;
    if (other) {
      const p = points[other.point];
      words += `, against ${usd(p.usd_per_1e9_tokens)} on ${place(p)}${p.keeps ? "" : ", which misses the limits"}`;
    }
  }
  if (known(price) && own && standings.filter((x) => known(x.cheapest_probability)).length > 1)
    sure = `its type is ${roundedEven(100 * own.cheapest_probability)} % likely to be the cheapest` +
      likelierWords(standings, own, points);
  if (known(s.deadline) && !far)
    sure += `${sure ? ", and " : ""}it is ${roundedEven(100 * worksOf(best) * best.deadline_probability)} ` +
      "% likely to be done in time";
  if (!sure) {
    const [low, high] = best.step_seconds_90;
    sure = `a step takes ${figures(best.step_seconds, 3)} s, 90 % between ${figures(low, 3)} and ${figures(high, 3)}`;
  }
  return `${words}. ${sure[0].toUpperCase()}${sure.slice(1)}, at the prices and parameters assumed.`;
}
