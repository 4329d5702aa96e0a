#include "api/cluster.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "api/predictor.h"
#include "api/resolve.h"
#include "io/catalog/reliability.h"
#include "io/input/cluster_jobs.h"
#include "io/input/strategy_text.h"
#include "models/memory/host_memory.h"
#include "planner/check/judge.h"
#include "planner/cost/prices.h"
#include "planner/plan/strategy_grammar.h"
#include "text/diagnostic.h"
#include "text/parse.h"
#include "units/index.h"

namespace trnplan::api {

namespace {

using planner::ClusterAnswer;
using planner::ClusterJob;
using planner::ClusterSetup;

constexpr int kMostOptions = 64;

/// "0..8" is every number of them.
std::optional<std::vector<int>> every(const std::string& text) {
  const std::size_t dots = text.find("..");
  const auto low = parse_whole(text.substr(0, dots));
  const auto high = dots == std::string::npos ? low : parse_whole(text.substr(dots + 2));
  if (!low || !high || *high < *low || *high - *low >= kMostOptions || *high > topology::kMostNodes)
    return std::nullopt;
  std::vector<int> all;
  for (int n = *low; n <= *high; ++n) all.push_back(n);
  return all;
}

std::optional<std::vector<int>> doubling_or_best(const std::string& text) {
  if (text == "best") return std::vector<int>{0};
  return parse_doubling(text, planner::kMostCheckpointSteps);
}

/// Values of an option, ascending; none if it is not stated.
std::vector<int> values_of(const std::string& text, const char* option, const char* fix,
                           std::optional<std::vector<int>> (*parse)(const std::string&),
                           std::vector<Diagnostic>& faults) {
  std::set<int> all;
  if (text.empty()) return {};
  for (const std::string& part : comma_parts(text)) {
    const auto some = parse(part);
    if (some)
      all.insert(some->begin(), some->end());
    else
      faults.push_back(
          {{io::kCommandLine, 0, 0}, option, in_quotes(part) + " is not a number or range", fix});
  }
  if (all.size() > kMostOptions)
    faults.push_back({{io::kCommandLine, 0, 0},
                      option,
                      fmt::format("{} values are asked for", all.size()),
                      fmt::format("ask for at most {}", kMostOptions)});
  return {all.begin(), all.end()};
}

/// A job of the file, resolved, with its strategy.
struct Member {
  std::shared_ptr<const ResolvedJob> resolved;
  models::Job job;  ///< on its own nodes, alone
  models::Strategy strategy;
  models::StepReport report;
};

/// Oversubscription of the spine as `nodes` of the cluster's nodes see it.
double seen_by(const io::StatedCluster& c, int nodes) {
  return std::max(1.0, c.oversubscription * nodes / c.nodes);
}

class Builder {
 public:
  Builder(const ClusterRequest& request, const io::StatedCluster& stated, Remarks& remarks)
      : request_(request), stated_(stated), remarks_(remarks) {}

  std::vector<Member> members() {
    std::vector<Member> all;
    for (std::size_t i = 0; i < stated_.jobs.size(); ++i) {
      try {
        all.push_back(member(stated_.jobs[i], i));
      } catch (const InputError& e) {
        for (const Diagnostic& f : e.faults()) faults_.push_back(placed(f, i));
      }
    }
    if (!faults_.empty()) throw InputError(std::move(faults_));
    return all;
  }

 private:
  [[nodiscard]] Diagnostic at_key(std::size_t i, const std::string& key, std::string problem,
                                  std::string fix) const {
    const io::StatedClusterJob& j = stated_.jobs[i];
    const auto place = j.places.find(key);
    return {place == j.places.end() ? j.at : place->second, fmt::format("jobs[{}].{}", i, key),
            std::move(problem), std::move(fix)};
  }
  [[nodiscard]] InputError fault(std::size_t i, const char* key, std::string problem, std::string fix) const {
    return InputError(at_key(i, key, std::move(problem), std::move(fix)));
  }

  /// A fault of what the file states about the job, at its place there; one within another file stays.
  [[nodiscard]] Diagnostic placed(const Diagnostic& f, std::size_t i) const {
    const bool strategy = f.at.file == "--strategy";
    const bool line = f.at.file == io::kCommandLine;
    if (f.at.line > 0 || !(strategy || line || f.at.file == stated_.jobs[i].job)) return f;
    if (strategy) return at_key(i, "strategy", f.key.empty() ? f.problem : f.key + ": " + f.problem, f.fix);
    std::string key = line && f.key.starts_with("--") ? f.key.substr(2) : "job";
    std::replace(key.begin(), key.end(), '-', '_');
    return at_key(i, key, line ? f.problem : printable(f.at.file) + ": " + f.problem, f.fix);
  }

  Member member(const io::StatedClusterJob& j, std::size_t i) {
    Asked asked;
    asked.job.job = j.job;
    asked.job.texts = request_.texts;
    asked.job.options.instance = stated_.instance.name;
    asked.job.options.nodes = fmt::to_string(j.nodes);
    asked.job.options.tokens = j.tokens;
    asked.job.options.sequence = j.sequence;
    asked.job.options.global_batch = j.global_batch;
    asked.job.options.expected = true;
    asked.profile = request_.profile;
    ResolveOptions options;
    options.one_strategy = !j.strategy.empty();
    options.loop_stated = io::states_loop(j.strategy);
    options.amend = [&](io::JobReading& reading, const io::Catalog&) {
      if (reading.job.cluster.instance.nics > 0)
        reading.job.cluster.oversubscription = seen_by(stated_, j.nodes);
      reading.job.deadline = {};
      reading.job.budget = 0;
    };
    Member m;
    m.resolved = std::make_shared<const ResolvedJob>(resolve(asked, options, remarks_));
    m.job = m.resolved->job();
    if (!(m.job.training.tokens > 0))
      throw fault(i, "tokens", "neither this nor training.tokens of its job is stated",
                  "write for example tokens: 2T");
    choose(m, j, i);
    return m;
  }

  void choose(Member& m, const io::StatedClusterJob& j, std::size_t i) {
    const Predictor predictor(*m.resolved, request_.risk);
    if (j.strategy.empty()) {
      const Recommendation found = predictor.recommend(m.job, {.top = 1, .explain = false});
      const planner::Plan* plan = found.search.recommended_plan();
      if (plan == nullptr)
        throw fault(i, "nodes", fmt::format("no strategy fits {} nodes", j.nodes),
                    "see trnplan plan of the job for what would");
      m.job = planner::as_planned(m.job, *plan);
      m.strategy = plan->strategy;
      m.report = plan->report;
      return;
    }
    m.strategy = io::strategy_there(j.strategy, m.job);
    const Prediction p = predictor.predict(m.job, m.strategy);
    if (p.judgement.refused() || !p.judgement.plan) {
      const bool broken = !p.judgement.broken.empty();
      throw fault(i, "strategy",
                  broken ? p.judgement.broken.front().rule + ": " + p.judgement.broken.front().message
                         : planner::why_no_plan(p.judgement),
                  broken ? p.judgement.broken.front().fix : "choose another, or leave it out");
    }
    m.report = p.judgement.plan->report;
  }

  const ClusterRequest& request_;
  const io::StatedCluster& stated_;
  Remarks& remarks_;
  std::vector<Diagnostic> faults_;
};

/// Share of a step that its collectives between nodes take along the critical path.
double share_on_spine(const Member& m) {
  using models::Category;
  Seconds on{};
  const auto add = [&](Category c) { on += m.report.breakdown[static_cast<std::size_t>(c)]; };
  for (const Category c :
       {Category::data_parallel, Category::pipeline, Category::expert_parallel, Category::context_parallel})
    add(c);
  if (m.strategy.tensor_parallel > m.job.cluster.instance.cores()) add(Category::tensor_parallel);
  return std::min(1.0, on / m.report.step);
}

ClusterJob job_of(const Member& m, const io::StatedClusterJob& stated) {
  ClusterJob j;
  j.name = stated.name;
  j.nodes = stated.nodes;
  j.hosts = planner::failing_hosts(m.job.cluster.instance);
  j.priority = stated.priority;
  j.submitted = stated.start;
  j.step = m.report.step;
  j.error = models::mixture_of(m.report);
  for (models::MixturePart& part : j.error) part.mean -= std::log(m.report.step.value);
  const models::Training& t = m.job.training;
  j.steps = std::ceil(t.tokens / (static_cast<double>(t.sequence) * t.global_batch));
  j.checkpoint = models::checkpoint_bytes(m.job, m.strategy);
  j.asynchronous = stated.asynchronous;
  return j;
}

/// Steps of jobs by what each node sees of the spine. Refers to its arguments.
class StepsOnSpine {
 public:
  StepsOnSpine(const std::vector<Member>& members, const ClusterAnswer& a) : members_(members), a_(a) {}

  /// The step of a job at an oversubscription, the usual one where it has no plan there.
  Seconds step(std::size_t j, double oversubscription) {
    const auto [it, fresh] = known_.try_emplace({j, oversubscription});
    if (fresh) {
      const Member& m = members_[j];
      models::Job at = m.job;
      at.cluster.oversubscription = oversubscription;
      const Prediction p = Predictor(*m.resolved).predict(at, m.strategy);
      it->second = p.judgement.plan ? p.judgement.plan->report.step : a_.setup.jobs[j].step;
    }
    return it->second;
  }
  /// Seconds of a step in which its traffic fills a node's part of the spine, hidden behind work or not: on a spine so
  /// slow that nothing hides it, the step grows by as much.
  Seconds busy(std::size_t j, double oversubscription) {
    constexpr double kSlow = 16;
    const Seconds more = step(j, 2 * kSlow * oversubscription) - step(j, kSlow * oversubscription);
    return std::max(Seconds{}, more) / kSlow;
  }

 private:
  const std::vector<Member>& members_;
  const ClusterAnswer& a_;
  std::map<std::pair<std::size_t, double>, Seconds> known_;
};

/// The step of the first of two jobs that share a spine, `steps` if each found it free when it asked: no shorter than
/// its traffic takes at the rate that is left to it. `busy`: seconds of each on its own nodes' part. Where both want
/// more than there is, each gets its nodes' part; where one wants less than that, the other gets the rest.
Seconds at_least_its_traffic(const std::array<Seconds, 2>& steps, const std::array<Seconds, 2>& busy,
                             const std::array<int, 2>& nodes) {
  std::array<double, 2> part{}, wanted{};  // of the spine
  for (std::size_t i = 0; i < 2; ++i) {
    part[i] = static_cast<double>(nodes[i]) / (nodes[0] + nodes[1]);
    wanted[i] = busy[i] / steps[i] * part[i];
  }
  if (wanted[0] + wanted[1] <= 1 || wanted[0] <= part[0]) return steps[0];
  const double given = std::max(part[0], 1 - wanted[1]);
  return std::max(steps[0], busy[0] * (part[0] / given));
}

/// Fills what jobs on one spine add to each other's steps, of those that fit on the cluster with it.
void share_spine(const io::StatedCluster& c, const std::vector<Member>& members, int most_nodes,
                 ClusterAnswer& a) {
  const std::size_t n = members.size();
  int all = 0;
  for (const io::StatedClusterJob& j : c.jobs) all += j.nodes;
  a.all_fit = all <= most_nodes;
  a.setup.slowed.assign(n, std::vector<Seconds>(n));
  StepsOnSpine steps(members, a);
  const auto apart = [&](std::size_t j) { return a.setup.jobs[j].step; };
  for (std::size_t j = 0; j < n; ++j) {
    planner::AnsweredClusterJob& answered = a.jobs[j];
    answered.together = answered.together_most = apart(j);
    for (std::size_t k = 0; k < n; ++k) {
      if (k == j || c.jobs[j].nodes < 2 || c.jobs[k].nodes < 2) continue;
      if (c.jobs[j].nodes + c.jobs[k].nodes > most_nodes) continue;
      const topology::Cluster& own = members[j].job.cluster;
      const double seen = seen_by(c, c.jobs[j].nodes + c.jobs[k].nodes);
      if (own.instance.nics == 0 || !(seen > own.oversubscription)) continue;
      const auto slower = [&](std::size_t i) { return std::max(steps.step(i, seen) - apart(i), Seconds{}); };
      const Seconds more = slower(j), step = apart(j);
      const Seconds floor = at_least_its_traffic(
          {step + a.jobs[k].on_spine * more, apart(k) + a.jobs[j].on_spine * slower(k)},
          {steps.busy(j, seen), steps.busy(k, seen)}, {c.jobs[j].nodes, c.jobs[k].nodes});
      a.setup.slowed[j][k] = std::min(floor - step, more);
      answered.together = a.all_fit ? answered.together + a.setup.slowed[j][k]
                                    : std::max(answered.together, step + a.setup.slowed[j][k]);
      answered.together_most =
          a.all_fit ? answered.together_most + more : std::max(answered.together_most, step + more);
    }
  }
}

planner::Reliability reliability_of(const io::Catalog& catalog, const io::StatedCluster& c,
                                    const Files& files) {
  std::optional<Node> own;
  if (!c.reliability.empty()) {
    if (!files.has(c.reliability))
      throw InputError(Diagnostic{c.reliability_at, "reliability", in_quotes(c.reliability) + " is no file",
                                  "write a path from the folder of this file, or leave it out"});
    own = parse_document(files.text(c.reliability), c.reliability);
  }
  planner::Reliability r = io::reliability_or_usual(own, catalog);
  if (c.storage_speed)
    r.value(planner::ReliabilityParameter::storage_throughput) = {*c.storage_speed * 1e9, 0, "stated"};
  return r;
}

void remark_rule(const io::StatedCluster& c, const ClusterAnswer& a, Remarks& remarks) {
  const std::optional<int> restarts = c.rule->settings().restarts;
  if (restarts) {
    remarks.add(
        fmt::format("after {} restarts a job whose nodes are whole waits for a person; scheduler.restarts "
                    "states another number",
                    *restarts));
  }
  const bool shared = std::any_of(a.jobs.begin(), a.jobs.end(), [&](const planner::AnsweredClusterJob& j) {
    return j.together_most > a.setup.jobs[static_cast<std::size_t>(&j - a.jobs.data())].step;
  });
  if (shared)
    remarks.add(
        "how much jobs on one spine slow each other is estimated: traffic hidden behind computing counts "
        "only where the spine is full");
}

/// The value that is simulated: the recommended one, or the only one.
std::optional<int> taken(const planner::ClusterOptions& o) {
  if (o.recommended >= 0) return o.rows[at(o.recommended)].value;
  return o.rows.size() == 1 ? std::optional(o.rows.front().value) : std::nullopt;
}

}  // namespace

ClusterAnswer cluster(const ClusterRequest& request, Remarks& remarks) {
  std::vector<Diagnostic> faults;
  const std::vector<int> spares =
      values_of(request.spares, "--spares", "write 0..8 or 0,2,4", &every, faults);
  const std::vector<int> intervals = values_of(request.checkpoint_steps, "--checkpoint-steps",
                                               "write 50..800, 100,200 or best", &doubling_or_best, faults);
  if (!faults.empty()) throw InputError(std::move(faults));
  const io::Catalog catalog = io::Catalog::standard();
  const io::StatedCluster stated = io::read_cluster_jobs(request.file, catalog, request.texts);
  const planner::Reliability reliability = reliability_of(catalog, stated, request.texts);
  const std::vector<Member> members = Builder(request, stated, remarks).members();

  ClusterAnswer a;
  a.instance = stated.instance.name;
  a.scheduler = stated.scheduler;
  a.reliability = reliability.name;
  a.oversubscription = stated.oversubscription;
  a.runs = request.runs;
  planner::PriceOptions prices;
  prices.pricing = planner::pricing_of(request.pricing, 1);
  prices.usd_per_node_hour = stated.usd_per_node_hour;
  const auto bill = planner::bill_of(stated.instance, 1, prices);
  if (bill) a.usd_per_node_hour = bill->usd_per_hour();
  const bool spot = bill ? bill->spot : prices.pricing == planner::Pricing::spot;
  a.setup = {stated.nodes, stated.spares, stated.repair, stated.repair_slots, {}, {}, stated.rule};
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& m = members[i];
    ClusterJob job = job_of(m, stated.jobs[i]);
    job.spot = spot;
    job.every_steps = stated.jobs[i].checkpoint_steps > 0 ? stated.jobs[i].checkpoint_steps
                                                          : planner::best_checkpoint_steps(job, reliability);
    planner::AnsweredClusterJob answered;
    answered.model = m.job.architecture.name;
    answered.strategy = planner::strategy_grammar(m.job, m.strategy);
    answered.tokens = m.job.training.tokens;
    answered.low = m.report.low;
    answered.high = m.report.high;
    answered.on_spine = stated.jobs[i].nodes > 1 ? share_on_spine(m) : 0;
    a.setup.jobs.push_back(std::move(job));
    a.jobs.push_back(std::move(answered));
  }
  const int most_spares = spares.empty() ? stated.spares : std::max(stated.spares, spares.back());
  share_spine(stated, members, stated.nodes + most_spares, a);
  remark_rule(stated, a, remarks);
  const planner::SamplingOptions sampling{request.runs, static_cast<std::uint64_t>(request.seed)};
  a.spares = planner::ask_spares(a.setup, reliability, spares, a.usd_per_node_hour, sampling);
  if (const auto value = taken(a.spares)) a.setup.spares = *value;
  a.checkpoints = planner::ask_checkpoints(a.setup, reliability, intervals, a.usd_per_node_hour, sampling);
  if (const auto value = taken(a.checkpoints))
    a.setup = planner::with_checkpoints(a.setup, *value, reliability);
  a.estimate = planner::estimate_cluster(a.setup, reliability, sampling);
  return a;
}

}  // namespace trnplan::api
