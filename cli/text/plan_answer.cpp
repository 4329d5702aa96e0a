#include "cli/text/plan_answer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/text/no_plan_text.h"
#include "cli/text/refused_text.h"
#include "cli/text/run_text.h"
#include "cli/text/strategy_differences.h"
#include "cli/text/text.h"
#include "cli/text/wrap.h"
#include "launch/submit/schedulers.h"
#include "models/framework/framework.h"
#include "models/job/sharding_words.h"
#include "models/uncertainty/mixture.h"
#include "planner/check/rules.h"
#include "planner/plan/strategy_grammar.h"
#include "text/diagnostic.h"
#include "units/quantity.h"

namespace trnplan::cli {

using models::Strategy;
using planner::Plan;

namespace {

constexpr std::size_t kUntestedShown = 3, kTiesShown = 1, kChangesShown = 4, kClustersShown = 4;

/// Value with three digits: "484", "12.4", "9.36".
std::string short_seconds(Seconds s) {
  if (s.value > 0 && s.value < 0.9995) return fmt::format("{:.3g}", s.value);
  return s.value >= 99.95 ? fmt::format("{:.0f}", s.value)
                          : fmt::format("{:.{}f}", s.value, s.value < 9.995 ? 2 : 1);
}

/// "15.1"; "16" for a whole number.
std::string short_gib(Bytes b) {
  const std::string text = fmt::format("{:.1f}", in_gibibytes(b));
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

bool several_clusters(const models::Job& job) {
  return job.space.nodes.size() > 1 || job.space.instances.size() > 1;
}

/// Choices of a plan that the job leaves open.
std::string choices_of(const models::Job& job, const Plan& p) {
  std::string text;
  if (several_clusters(job)) text += fmt::format(", on {} x {}", p.nodes, printable(p.instance));
  if (job.space.largest_batch > 0) text += fmt::format(", batch {}", p.global_batch);
  if (job.space.precision) text += fmt::format(", {}", to_string(p.strategy.precision));
  return text;
}

/// ", capacity block price" for a price other than on demand.
std::string price_words(const Plan& p) {
  if (p.price_kind.empty() || p.price_kind == "on_demand") return "";
  return fmt::format(", {} price", topology::price_words(p.price_kind));
}

bool asks_for_the_run(const models::Job& job) {
  return job.objective != models::Objective::step_time || job.budget > 0;
}

/// First few items of a list, and the number of the others.
std::string some_of(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < kUntestedShown; ++i)
    text += (i == 0 ? "" : ", ") + words[i];
  if (words.size() > kUntestedShown) text += fmt::format(" and {} more", words.size() - kUntestedShown);
  return text;
}

/// Outlook of the plan at an index of the list; nullptr if no risk was asked for.
const planner::Outlook* outlook_of(const Answer& a, std::size_t i) {
  return i < a.outlooks.size() ? &a.outlooks[i] : nullptr;
}

double compile_probability(const Plan& p, const planner::Outlook* o) {
  return o != nullptr ? o->compiles : p.graph.compile_probability();
}

/// Probabilities that it fits and compiles, and its parts that no known run has.
std::string risk_words(const Plan& p, const planner::Outlook* o) {
  std::string text =
      fmt::format("fits: {}", probability_text(o != nullptr ? o->fits : p.memory.fit_probability));
  const double compiles = compile_probability(p, o);
  if (compiles < kSurely) text += "; compiles: " + probability_text(compiles);
  if (o != nullptr && !o->distance.untested.empty()) text += "; untested: " + some_of(o->distance.untested);
  return text;
}

/// Differences of a plan from the best one of the same layout: "nothing recomputed, cuts by hand".
std::string against_best(const Plan& p, const Plan& best) {
  const std::vector<std::string> apart = strategy_differences(p.strategy, best.strategy);
  return apart.empty() ? recompute_words(p.strategy) : fmt::format("{}", fmt::join(apart, ", "));
}

/// Training loop of a plan if the best one has another: ", with megatron".
std::string loop_words(const Answer& a, const Plan& p) {
  if (p.strategy.framework == a.result.recommended_plan()->strategy.framework) return "";
  return fmt::format(", with {}", models::framework_of(p.strategy).name());
}

/// A plan compared with the best one: its layout and recompute or, in the same layout, the other differences.
std::string beside_best(const Answer& a, const Plan& p, bool alike) {
  if (alike) return "the same layout, " + against_best(p, *a.result.recommended_plan());
  return layout_words(p.strategy) + choices_of(a.job, p) + ", " + recompute_words(p.strategy) +
         loop_words(a, p);
}

/// Least gain over the recommended plan that is printed: 0.1 %, rounded.
constexpr double kLeastGain = 5e-4;

/// Line on the proven fastest plan of all training loops if another is recommended, and faster by more than
/// nothing.
std::string fastest_text(const Answer& a) {
  std::vector<Plan> others;
  std::vector<const planner::Outlook*> risks;
  for (const api::OtherStack& o : a.others) {
    if (o.plans.empty() || !o.written) continue;
    others.push_back(o.plans.front());
    risks.push_back(o.outlooks.empty() ? nullptr : &o.outlooks.front());
  }
  const Plan &fastest = planner::fastest_of(a.job, a.result, others), &best = *a.result.recommended_plan();
  const planner::Outlook *risky = outlook_of(a, 0), *safe = outlook_of(a, a.result.recommended);
  for (std::size_t i = 0; i < others.size(); ++i)
    if (&others[i] == &fastest) risky = risks[i];
  const bool by_price = a.job.objective == models::Objective::cost;
  const auto cost = [&](const Plan& p) {
    return (by_price ? p.usd_per_hour : 1) / p.report.tokens_per_second;
  };
  // So much more speed, or so much less money.
  const double ratio = cost(best) / cost(fastest), gain = by_price ? 1 - 1 / ratio : ratio - 1;
  if (gain < kLeastGain) return "";
  const bool alike = fastest.strategy.framework == best.strategy.framework &&
                     layout_words(fastest.strategy) == layout_words(best.strategy) &&
                     choices_of(a.job, fastest) == choices_of(a.job, best);
  std::vector<std::string> parts = {beside_best(a, fastest, alike),
                                    fmt::format("{} s, {:.1f} % {};", short_seconds(fastest.report.step),
                                                100 * gain, by_price ? "cheaper" : "faster")};
  const Seconds mean = models::mean_step(fastest.report), of_best = models::mean_step(best.report);
  if (fastest.report.slow && best.report.slow && fastest.global_batch == best.global_batch &&
      mean > of_best) {
    parts.push_back(fmt::format("mean over the network's states {} s,", short_seconds(mean)));
    parts.push_back(fmt::format("of the best one {} s;", short_seconds(of_best)));
  }
  if (risky != nullptr && safe != nullptr) {
    parts.push_back(fmt::format("{} likely to work,", probability_text(risky->works())));
    parts.push_back(fmt::format("the best one {}", probability_text(safe->works())));
  }
  parts.push_back("(" + risk_words(fastest, risky) + ")");
  return entry(by_price ? "Cheapest" : "Fastest", fields(parts));
}

std::string best_text(const Answer& a) {
  const Plan& p = *a.result.recommended_plan();
  std::vector<std::string> parts = {layout_words(p.strategy) + choices_of(a.job, p),
                                    fmt::format("{} s/step (90 %: {}-{})", short_seconds(p.report.step),
                                                short_seconds(p.report.low), short_seconds(p.report.high)),
                                    fmt::format("{} tokens/s", grouped(p.report.tokens_per_second)),
                                    of_memory(p.memory)};
  if (a.job.objective == models::Objective::cost && p.usd_per_hour > 0)
    parts.push_back(
        fmt::format("{:.2f} USD per billion tokens{}", usd_per_billion_tokens(p), price_words(p)));
  std::string text = entry("Best", fields(parts)) +
                     entry("", fields({planner::strategy_grammar(a.job, p),
                                       recompute_words(p.strategy) + "; " +
                                           risk_words(p, outlook_of(a, a.result.recommended))}));
  if (asks_for_the_run(a.job) && p.run.value > 0) {
    text += entry("Run", fmt::format("{}, {} USD{}, without failures, checkpoints and restarts",
                                     run_time(p.run), grouped(planner::run_usd(p)), price_words(p)));
  }
  const double compiles = compile_probability(p, outlook_of(a, a.result.recommended));
  text += graph_warning(p, compiles < kSurely ? std::nullopt : std::optional(compiles));
  for (const planner::Violation& v : p.doubts) text += entry("Doubtful", v.message);
  if (const std::string unknown = unknown_text(p); !unknown.empty()) text += entry("Unknown", unknown);
  text += fastest_text(a);
  if (!a.result.complete) {
    text += entry("Stopped",
                  a.result.gap <= 0
                      ? std::string("before this was proven the best")
                      : fmt::format("before this was proven the best: it is at most {:.1f} % above the best",
                                    100 * a.result.gap));
  }
  return text;
}

/// Other plans that may be as good, one line per layout.
std::string ties_text(const Answer& a) {
  const Plan& best = *a.result.recommended_plan();
  const char* better = a.job.objective == models::Objective::cost ? "cheaper" : "faster";
  std::string text;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < a.ties.size(); ++i)
    left_out += static_cast<std::size_t>(a.ties[i].others) + (i >= kTiesShown);
  for (std::size_t i = 0; i < a.ties.size() && i < kTiesShown; ++i) {
    const planner::Tie& t = a.ties[i];
    const Plan& p = t.plan;
    const std::string what = beside_best(a, p, t.like_first);
    std::string numbers =
        fmt::format("{} s, {} GiB", short_seconds(p.report.step), short_gib(p.memory.worst().peak()));
    if (p.global_batch != best.global_batch)
      numbers += fmt::format(", {} tokens/s", grouped(p.report.tokens_per_second));
    std::vector<std::string> parts = {what, fmt::format("{} ({} likely to be {})", numbers,
                                                        short_probability(1 - t.first_is_better), better)};
    if (left_out > 0 && i + 1 == std::min(a.ties.size(), kTiesShown))
      parts.push_back(fmt::format("and {} more like it", left_out));
    text += entry(i == 0 ? "Tied" : "", fields(parts));
  }
  return text;
}

std::string limit_text(const Plan& best, const planner::Sensitivity& why) {
  // MFU counts attention with the half that causal kernels skip, and is of the peak in 16 bits.
  const char* note = best.report.mfu > 1                       ? ", attention that is skipped included"
                     : models::is_fp8(best.strategy.precision) ? " of the BF16 peak"
                                                               : "";
  return entry("Limit", fmt::format("{}: 1 % {} makes the step {:.2f} % shorter; MFU {:.1f} %{}",
                                    resource_words(why.resource, best.accelerator),
                                    is_duration(why.resource) ? "less" : "faster", std::abs(why.elasticity),
                                    100 * best.report.mfu, note));
}

/// "misses the deadline", without failures.
std::string missed_limits(const models::Job& job, const Plan& p) {
  const bool late = job.deadline.value > 0 && p.run > job.deadline;
  const bool costly = job.budget > 0 && planner::run_usd(p) > job.budget;
  return late && costly ? "misses deadline and budget" : late ? "misses the deadline" : "misses the budget";
}

std::string clusters_text(const Answer& a) {
  std::string text;
  std::size_t shown = 0;
  const Plan& best = *a.result.recommended_plan();
  for (const planner::ClusterPlan& c : a.result.clusters) {
    const Plan& p = c.plan;
    if (!c.on_front || (p.nodes == best.nodes && p.instance == best.instance)) continue;
    if (shown++ == kClustersShown) return text + entry("", "others: --details");
    std::vector<std::string> parts = {fmt::format("{} x {}", p.nodes, printable(p.instance)),
                                      fmt::format("{} tokens/s", grouped(p.report.tokens_per_second))};
    if (p.usd_per_hour > 0)
      parts.push_back(
          fmt::format("{:.2f} USD per billion tokens{}", usd_per_billion_tokens(p), price_words(p)));
    if (asks_for_the_run(a.job) && p.run.value > 0) parts.push_back(run_time(p.run));
    if (!c.within_limits) parts.push_back(missed_limits(a.job, p));
    if (p.works && *p.works < kSurely)
      parts.push_back((p.graph.is_limited() ? "fits and compiles: " : "fits and runs: ") +
                      probability_text(*p.works));
    if (const std::string loop = loop_words(a, p); !loop.empty()) parts.push_back(loop.substr(2));
    text += entry(text.empty() ? "Also" : "", fields(parts));
  }
  return text;
}

std::string baseline_text(const Answer& a) {
  if (a.baseline == nullptr) return "";
  const targets::Baseline& b = *a.baseline;
  const auto refused =
      std::find_if(b.broken.begin(), b.broken.end(), [](const auto& v) { return !v.doubtful; });
  std::string text = fmt::format("{}: {}", printable(a.baseline_file, 400), layout_words(b.strategy));
  if (b.plan) text += fmt::format(", {} s a step", short_seconds(b.plan->report.step));
  if (refused != b.broken.end()) {
    text += fmt::format("; refused ({}): {}", refused->rule, printable(refused->message, 600));
  } else if (b.plan && !a.result.plans.empty()) {
    const double speedup = targets::speedup(*a.result.recommended_plan(), b);
    text += speedup >= 1 ? fmt::format("; the best plan is {:.2f} times as fast", speedup)
                         : fmt::format("; the best plan is {:.1f} % slower", 100 * (1 / speedup - 1));
    if (a.confidence.beats_baseline)
      text += fmt::format(" ({} likely to be faster)", probability_text(*a.confidence.beats_baseline));
  }
  text = entry("Today", text);
  if (a.result.plans.empty()) return text;
  if (!b.no_changes.empty()) return text + entry("Change", "not known: " + b.no_changes);
  for (std::size_t i = 0; i < b.changes.size() && i < kChangesShown; ++i) {
    const targets::Change& c = b.changes[i];
    text += entry(i == 0 ? "Change" : "", fmt::format("{}: {} -> {}", c.key, printable(c.from), c.to));
  }
  if (b.changes.size() > kChangesShown)
    text += entry("", fmt::format("{} more keys: --details", b.changes.size() - kChangesShown));
  return text;
}

/// Training that the folder's config or flags describe, and the source of its numbers.
std::string training_text(const api::WrittenTraining& t) {
  const double batch = t.tokens / static_cast<double>(t.steps);
  const std::string steps =
      fmt::format("{} steps of {} tokens: {} in {}{};", grouped(static_cast<double>(t.steps)),
                  count_text(batch), count_text(t.tokens), run_time(Seconds(t.days * kDay)),
                  t.steps_stated ? "" : " (--tokens states others)");
  const std::string rate = fmt::format("peak learning rate {:g} after {} steps", t.learning.peak_rate,
                                       grouped(static_cast<double>(t.learning.warmup_steps)));
  const char* what = t.steps_stated ? "rate as in " : t.rate_stated ? "steps as in " : "both as in ";
  return entry("Written", fields({steps, rate})) + entry("", t.steps_stated && t.rate_stated
                                                                 ? "both as the job states them"
                                                                 : what + t.learning.source);
}

std::string next_text(const Answer& a) {
  const bool measurable = a.measures && a.confidence.comparison && a.confidence.comparison->best;
  const char* measures = !measurable                        ? "times what the plan depends on"
                         : a.result.recommended != 0        ? "compares it with the fastest"
                         : a.confidence.comparison->decides ? "decides the tie"
                                                            : "makes the choice safer";
  std::string text;
  if (a.result.plans.empty() && is_untimed(a.job)) {
    return entry("Next", "trnplan instances; --format json");
  }
  if (a.result.plans.empty()) {
    text = "--details lists what was ruled out";
  } else if (!a.refused_folder.empty()) {
    text = fmt::format("nothing was written to {}; the reason is below", printable(a.refused_folder, 400));
  } else if (a.folder.empty() && !a.writable) {
    return entry("Next", a.details ? "--format json" : "--details; --format json");
  } else if (a.folder.empty()) {
    text = fmt::format("--out DIR writes config{}",
                       measurable ? fmt::format(", scripts, measure.sh ({})", measures) : " and scripts");
  } else {
    text = command_text(launch::launch_command(a.folder, a.job.run));
    if (!a.script.empty()) text += fmt::format(", or first {} ({})", command_text({a.script}), measures);
  }
  return entry("Next", text + (a.details || a.result.plans.empty() ? "" : "; --details") + "; --format json");
}

}  // namespace

std::string fields(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "  ") + unbroken(part);
  return text;
}

std::string of_memory(const models::Memory& m) {
  const Bytes peak = m.worst().peak();
  std::string used = short_gib(peak);
  if (used == short_gib(m.limit) && std::abs((peak - m.limit).value) > 0)
    used = fmt::format("{:.2f}", in_gibibytes(peak));
  return fmt::format("{} of {} GiB", used, short_gib(m.limit));
}

std::string entry(const char* label, const std::string& text) {
  return fmt::format("{:<11}{}\n", label, text);
}

std::string graph_warning(const Plan& p, std::optional<double> compiles) {
  const std::string beyond = beyond_known_graphs(p);
  if (beyond.empty()) return "";
  return entry("Graph", beyond + (compiles ? "; compiles: " + probability_text(*compiles) : ""));
}

std::string unknown_text(const Plan& p) {
  if (!(p.report.step.value > 0)) return "";
  std::vector<std::string> all;
  if (p.compared_runs.value_or(1) <= 0) {
    all.push_back(fmt::format(
        "no step of {} on a machine like {} was ever compared with its prediction: it is 90 % likely between "
        "{:.2f} and "
        "{:.2f} times the predicted",
        models::framework_of(p.strategy).name(), printable(p.instance), p.report.low / p.report.step,
        p.report.high / p.report.step));
  }
  if (p.unmeasured) {
    all.push_back(
        fmt::format("{} was not measured on your {}, but {} was: how much of what that showed holds "
                    "here is unknown",
                    printable(p.unmeasured->name, 50), printable(p.instance),
                    printable(fmt::format("{}", fmt::join(p.unmeasured->measured, ", ")), 100)));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

std::string batch_text(const Plan& p) {
  const auto waiting = planner::waiting_stages(p);
  if (!waiting) return "";
  return entry("Batch", fmt::format("{} sequences are {} micro-batch{} a rank, so stages wait for each other "
                                    "{:.0f} % of the step; with a global batch of {} about {:.0f} %",
                                    p.global_batch, p.micro_batches, p.micro_batches == 1 ? "" : "es",
                                    100 * waiting->share, waiting->enough, 100 * planner::kLittleWaiting));
}

std::string plan_answer(const Answer& a) {
  std::string text = job_line(a.job);
  if (a.result.plans.empty()) {
    if (!a.result.complete) text += entry("No plan", "stopped before a plan was found; allow more time");
    if (a.result.infeasible) text += no_plan_text(a, *a.result.infeasible);
    return text + baseline_text(a) + next_text(a);
  }
  text += best_text(a) + baseline_text(a) + ties_text(a) + clusters_text(a);
  if (a.result.sensitivity) text += limit_text(*a.result.recommended_plan(), *a.result.sensitivity);
  if (const std::string network = network_words(*a.result.recommended_plan()); !network.empty())
    text += entry("Network", network);
  text += batch_text(*a.result.recommended_plan());
  text += refused_text(a);
  if (a.training != nullptr) text += training_text(*a.training);
  return text + next_text(a);
}

}  // namespace trnplan::cli
