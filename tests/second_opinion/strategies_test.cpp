// Random strategies, legal or not: the second opinion refuses exactly those that the rules refuse, with the
// same words.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/memory/fit_probability.h"
#include "models/memory/memory.h"
#include "planner/check/judge.h"
#include "planner/check/rules.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/second_opinion/check_plan.h"
#include "tests/second_opinion/groups.h"
#include "tests/second_opinion/memory.h"
#include "tests/second_opinion/random_jobs.h"
#include "tests/seeds.h"

namespace trnplan {

namespace {

using Words = std::set<std::string>;

/// Seeds that draw each machine twice.
std::vector<unsigned> two_rounds() {
  return seeds(1, 4 * static_cast<int>(timed_machines().size()));
}

Words words_of_rules(const RandomJob& random, const models::Strategy& s) {
  Words words;
  for (const planner::Violation& v : planner::rule_violations(random.job, s, random.target))
    words.insert(v.rule);
  if (planner::not_modelled(random.job, s)) words.insert("not-modelled");
  return words;
}

Words words_of_second_opinion(const RandomJob& random, const models::Strategy& s) {
  const std::string target(random.target == nullptr ? "" : random.target->name());
  Words words;
  for (const second_opinion::Fault& f : second_opinion::broken_rules(random.job, s, target))
    words.insert(f.rule);
  return words;
}

/// Compares to a part in a billion, and the probability to the accuracy of the two methods.
void check_memory(const RandomJob& random, const models::Strategy& s) {
  const models::Memory memory = models::memory_of(random.job, s, random.profile);
  const std::vector<second_opinion::StageBytes> stages = second_opinion::memory_by_formula(random.job, s);
  REQUIRE(stages.size() == memory.stages.size());
  double least = 1;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    INFO("stage " << i);
    const models::StageMemory& m = memory.stages[i];
    CHECK((m.parameters + m.gradients + m.optimizer).value == Approx(stages[i].states).epsilon(1e-9));
    CHECK((m.peak() - m.runtime).value == Approx(stages[i].peak()).epsilon(1e-9));
    for (std::size_t k = 0; k < m.moments.size(); ++k) {
      const models::MemoryMoment& theirs = m.moments[k];
      const second_opinion::InstantBytes& mine = stages[i].instants[k];
      const bool at_loss = theirs.instant == models::PeakInstant::loss;
      CHECK((theirs.logits + theirs.staging).value == Approx(mine.passing).epsilon(1e-9));
      // Only the last stage has a loss.
      if (!at_loss || i + 1 == stages.size())
        CHECK(theirs.activations.value == Approx(mine.activations).epsilon(1e-9));
    }
    const double p =
        second_opinion::fit_by_integration(stages[i], second_opinion::pool_of(random.job, s),
                                           s.pipeline_parallel == 1, memory.limit, random.profile);
    CHECK(models::probability_of_fitting(m, memory.limit, random.profile) == Approx(p).margin(0.02));
    least = std::min(least, p);
  }
  CHECK(memory.limit == random.job.cluster.instance.core.memory);
  CHECK(memory.fit_probability == Approx(least).margin(0.02));
  if (std::abs(least - 0.5) > 0.02) CHECK(memory.fits() == (least > 0.5));
}

second_opinion::GroupOpinion opinion_of(const topology::PlacementVerdict& verdict) {
  return static_cast<second_opinion::GroupOpinion>(static_cast<int>(verdict.overall));
}

}  // namespace

TEST_CASE("the second opinion breaks the rules that a random strategy breaks, word by word") {
  std::map<std::string, int> seen;
  for (const unsigned seed : two_rounds()) {
    const RandomJob random = random_job(seed);
    for (const models::Strategy& s : random_strategies(random.job, seed, 300)) {
      INFO("seed " << seed << ", " << random.job.cluster.instance.name << ", " << describe(s));
      const Words rules = words_of_rules(random, s);
      CHECK(words_of_second_opinion(random, s) == rules);
      for (const std::string& word : rules) ++seen[word];
      if (rules.empty()) ++seen["none"];
    }
  }
  for (const char* word :
       {"none", "divisibility", "moe", "heads", "kv-replicator", "layers", "pipeline-parity", "batch",
        "interleaved", "pipeline-schedule", "context-parallel", "flash-attention", "sequence-parallel",
        "rank-order", "vocabulary", "tied-embeddings", "not-modelled"}) {
    INFO(word);
    CHECK((kSanitised || seen[word] > 0));
  }
}

// Machines with a number of cores that a target does not start are few, so each target is asked on each machine.
TEST_CASE("the second opinion breaks the rules of each target on each machine, word by word") {
  int of_devices = 0;
  for (unsigned seed = 0; seed < timed_machines().size(); ++seed) {
    RandomJob random = random_job(seed);
    for (const std::string& name : targets::names()) {
      random.target = targets::find(name);
      if (!random.target->trains_on(random.job.cluster.instance.traits)) continue;
      random.job.software.framework = name;
      for (const models::Strategy& s : random_strategies(random.job, seed, 20)) {
        INFO(name << " on " << random.job.cluster.instance.name << ", " << describe(s));
        const Words rules = words_of_rules(random, s);
        CHECK(words_of_second_opinion(random, s) == rules);
        of_devices += rules.contains("devices");
      }
    }
  }
  CHECK(of_devices > 0);
}

TEST_CASE("the second opinion on memory is the model's for random strategies on every machine") {
  int judged = 0;
  for (const unsigned seed : two_rounds()) {
    const RandomJob random = random_job(seed);
    for (const models::Strategy& s : random_strategies(random.job, seed + 1000, 250)) {
      if (!words_of_second_opinion(random, s).empty()) continue;
      INFO("seed " << seed << ", " << random.job.cluster.instance.name << ", " << describe(s));
      check_memory(random, s);
      ++judged;
    }
  }
  CHECK(judged > at_least(500));
}

TEST_CASE("random strategies are judged as the second opinion judges them") {
  int refused = 0, let_in = 0;
  for (const unsigned seed : two_rounds()) {
    const RandomJob random = random_job(seed);
    for (const models::Strategy& s : random_strategies(random.job, seed + 2000, 8)) {
      INFO("seed " << seed << ", " << random.job.cluster.instance.name << ", " << describe(s));
      const planner::Judgement j = planner::judge(random.job, s, random.profile, random.target);
      Words mine = words_of_second_opinion(random, s), theirs;
      if (mine.empty()) {
        const bool groups = second_opinion::groups_by_backtracking(random.job.cluster, s).worst ==
                            second_opinion::GroupOpinion::refused;
        if (groups) mine.insert("replica-group");
      }
      std::string why;
      for (const planner::Violation& v : j.broken) {
        if (v.rule == "memory" || v.doubtful) continue;  // memory stands above
        theirs.insert(v.rule);
        why += v.rule + ": " + v.message + "; ";
      }
      INFO(why);
      // Of sizes drawn at random some make steps of years, which no rule of a framework refuses.
      if (mine.empty() && why.find("longer than the simulation clock") != std::string::npos) continue;
      CHECK(mine.empty() == theirs.empty());
      if (mine.empty()) CHECK(j.plan);
      ++(theirs.empty() ? let_in : refused);
    }
  }
  CHECK(refused > at_least(50));
  CHECK(let_in > at_least(50));
}

TEST_CASE("replica groups of random strategies are those of a grid of ranks, and judged alike") {
  int kinds[3] = {0, 0, 0};
  for (const unsigned seed : two_rounds()) {
    const RandomJob random = random_job(seed);
    const topology::Cluster& cluster = random.job.cluster;
    const topology::ChipGraph graph(cluster.instance);
    for (const models::Strategy& s : random_strategies(random.job, seed + 3000, 100)) {
      const Words broken = words_of_second_opinion(random, s);
      if (broken.contains("divisibility") || broken.contains("rank-order") ||
          broken.contains("kv-replicator"))
        continue;
      INFO("seed " << seed << ", " << cluster.instance.name << ", " << describe(s));
      const topology::RankOrder order(
          cluster, {s.tensor_parallel, s.context_parallel, s.data_parallel, s.pipeline_parallel});
      const topology::PlacementVerdict verdict = topology::judge_all(cluster, graph, order, s.kv_replicator);
      const std::vector<second_opinion::Group> groups = second_opinion::groups_on_grid(cluster, s);
      const std::vector<second_opinion::GroupOpinion> opinions = second_opinion::opinions_on(cluster, groups);
      REQUIRE(verdict.groups.size() == groups.size());
      bool same = true;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        const topology::GroupVerdict& theirs = verdict.groups[i];
        same = same && theirs.ranks == groups[i].ranks &&
               static_cast<int>(theirs.verdict) == static_cast<int>(opinions[i]);
      }
      CHECK(same);
      const second_opinion::GroupsOpinion worst = second_opinion::groups_by_backtracking(cluster, s);
      CHECK(worst.worst == opinion_of(verdict));
      CHECK(worst.worst == opinion_of(planner::placement_verdict(random.job, s, graph)));
      ++kinds[static_cast<int>(verdict.overall)];
    }
  }
  for (const int k : kinds) CHECK((kSanitised || k > 10));  // all three were seen
}

TEST_CASE("what the tutorial ran: TP 16 x DP 2 is refused, TP 32 and TP 8 are not") {
  const topology::Cluster cluster = job_of("llama3-8b", 1, 8192, 1024).cluster;
  models::Strategy s;
  const auto worst = [&](int tensor) {
    s.tensor_parallel = tensor;
    s.data_parallel = 32 / tensor;
    return second_opinion::groups_by_backtracking(cluster, s).worst;
  };
  CHECK(worst(16) == second_opinion::GroupOpinion::refused);
  CHECK(worst(32) == second_opinion::GroupOpinion::fine);
  CHECK(worst(8) == second_opinion::GroupOpinion::fine);
  CHECK(worst(2) == second_opinion::GroupOpinion::doubtful);
}

TEST_CASE("the second opinion on memory by hand: Llama-3 8B, TP 32, DP 1") {
  // Per layer and core: QKV (4096 / 32 + 2 * 1024 * 4 / 32) * 4096 = 1,572,864; O 128 * 4096 = 524,288;
  // gate and up 896 * 4096 = 3,670,016; down 4096 * 448 = 1,835,008; norms 8,192: 7,610,368. 32 layers and
  // twice 4008 * 4096 for embedding and head, 4,096 for the last norm: N = 276,369,408. One rank shares
  // nothing, so 18 N of states. Logits: 14 * 8192 * 4008 = 459,669,504 while the loss is computed, more than
  // 6 * 8192 * 4008 + 2 * 2 * 8192 * 4096. A layer keeps (26 * 4096 + 8 * 14336) * 256 = 56,623,104.
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  models::Strategy s;
  s.tensor_parallel = 32;
  s.sequence_parallel = true;
  s.kv_replicator = 4;
  const std::vector<second_opinion::StageBytes> stages = second_opinion::memory_by_formula(job, s);
  REQUIRE(stages.size() == 1);
  CHECK(stages[0].states == Approx(18.0 * 276369408).epsilon(1e-12));
  CHECK(stages[0].instants[0].activations == Approx(32 * 56623104.0).epsilon(1e-12));
  CHECK(stages[0].instants[0].passing == Approx(459669504.0).epsilon(1e-12));
  CHECK(stages[0].peak() == Approx(18.0 * 276369408 + 32 * 56623104.0 + 459669504.0).epsilon(1e-12));
}

}  // namespace trnplan
