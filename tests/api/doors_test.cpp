// One job gets the same answer from every command. Random jobs over machines, models and stacks; values that
// two documents share are compared to the last digit.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "api/check.h"
#include "api/documents.h"
#include "api/plan.h"
#include "api/plan_report.h"
#include "api/predictor.h"
#include "api/resolve.h"
#include "api/simulate.h"
#include "api/sweep.h"
#include "api/watch_context.h"
#include "api/whatif.h"
#include "io/input/plan_file.h"
#include "planner/plan/strategy_grammar.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/seeds.h"
#include "text/csv.h"
#include "text/diagnostic.h"

using namespace trnplan;
using nlohmann::json;

namespace {

struct Sample {
  std::string yaml, instance, nodes, target, profile;
  bool tokens = false, deadline = false, measured = false;
};

class Draws {
 public:
  explicit Draws(unsigned seed) : state_(seed * 2654435761u + 12345u) {}
  int below(int n) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }
  template <class T>
  T of(std::initializer_list<T> all) {
    return *(all.begin() + below(static_cast<int>(all.size())));
  }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

/// A job of any machine whose steps are timed. `stack`: one that trains there, "" most of the time.
Sample sample_of(unsigned seed) {
  Draws draw(seed);
  Sample s;
  s.instance = draw.of<const char*>({"trn1.32xlarge", "trn1n.32xlarge", "trn1.2xlarge", "trn2.48xlarge",
                                     "trn2u-ultraserver", "p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge",
                                     "p5en.48xlarge", "p6-b200.48xlarge", "hgx-h100-80gb"});
  const bool neuron = s.instance.starts_with("trn"), trn1 = s.instance.starts_with("trn1");
  const int nodes = draw.of({1, 1, 2, 4});
  s.nodes = std::to_string(nodes);
  std::string stack;
  if (draw.one_in(3)) {
    stack = trn1     ? draw.of<const char*>({"nxdt", "nxdt", "nxd", "nemo-megatron"})
            : neuron ? draw.of<const char*>({"nxdt", "torchtitan"})
                     : draw.of<const char*>({"megatron", "torchtitan"});
  }
  std::string model = draw.of<const char*>({"llama3-8b", "llama2-7b", "llama3-8b", "llama3.1-8b",
                                            "llama2-13b", "mistral-7b", "llama3-70b", "gpt3-6.7b"});
  if (!neuron && draw.one_in(6)) model = "mixtral-8x7b";
  const int sequence = draw.of({2048, 4096});
  const int batch = draw.of({64, 128, 256});
  std::string training = "sequence: " + std::to_string(sequence) + ", global_batch: " + std::to_string(batch);
  s.tokens = draw.one_in(2);
  if (s.tokens) training += ", tokens: " + std::string(draw.of<const char*>({"20B", "200B", "2T"}));
  if (draw.one_in(6) && trn1) training += ", precision: bf16SR";
  s.measured = nodes > 1 && s.instance != "trn1.2xlarge" && seed % 2 == 0;
  s.yaml = "model: " + model + "\ntraining: {" + training + "}\ncluster: {instance: " + s.instance +
           ", nodes: " + s.nodes + (s.measured ? ", all_reduce_gbps: 20" : "") + "}\n";
  if (!stack.empty()) {
    if (draw.one_in(2))
      s.target = stack;
    else
      s.yaml += "software: {framework: " + stack + "}\n";
  }
  s.deadline = s.tokens && draw.one_in(3);
  if (trn1 && draw.one_in(4)) s.profile = "trn1-datasheet";
  if (draw.one_in(4)) s.yaml += "pin: {tensor_parallel: " + std::to_string(draw.of({1, 2, 4, 8})) + "}\n";
  return s;
}

/// Where two documents state the same key, their values. The first difference, "" without one.
std::string difference(const json& a, const json& b, const std::set<std::string>& apart,
                       const std::string& path = "") {
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.items()) {
      if (apart.contains(key) || !b.contains(key)) continue;
      if (std::string d = difference(value, b.at(key), apart, path + "/" + key); !d.empty()) return d;
    }
    return "";
  }
  return a == b ? "" : path + ": " + a.dump() + " and " + b.dump();
}

/// Key by key what a page calls otherwise.
json renamed(json object, const std::map<std::string, std::string>& names) {
  json out = json::object();
  for (const auto& [key, value] : object.items()) {
    const auto name = names.find(key);
    out[name == names.end() ? key : name->second] = value;
  }
  return out;
}

/// What a row of a sweep states, as a point of whatif does.
json row_of(const std::string& csv) {
  const auto records = split_csv(csv);
  REQUIRE(records.size() == 2);
  json row = json::object();
  for (std::size_t i = 0; i < records[0].fields.size(); ++i) {
    const std::string& text = records[1].fields[i].text;
    const json number = json::parse(text, nullptr, false);
    row[records[0].fields[i].text] = text.empty() ? json() : number.is_number() ? number : json(text);
  }
  return row;
}

/// What the doors answer of one job; a fault of the input in place of a document.
struct Doors {
  explicit Doors(const Sample& s) : sample(s) {
    job = folder.write("job.yaml", s.yaml);
    request.job.job = job;
    request.target = s.target;
    request.profile = s.profile;
    request.threads = 1;
    request.top = 3;
  }

  void ask_plan() {
    try {
      Remarks remarks;
      plan.emplace(api::plan(request, remarks));
    } catch (const InputError& e) {
      fault = e.faults().front().problem;
    }
  }

  std::optional<api::WhatIfAnswered> whatif() const {
    api::WhatIfRequest r;
    r.job.job = job;
    r.target = sample.target;
    r.profile = sample.profile;
    r.nodes = sample.nodes;
    if (!sample.tokens) r.tokens = "100B";
    Remarks remarks;
    try {
      return api::whatif(r, remarks);
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  TestFolder folder;
  Sample sample;
  std::string job;
  api::PlanRequest request;
  std::optional<api::PlanResult> plan;
  std::string fault;
};

}  // namespace

TEST_CASE("plan, whatif, sweep, simulate, the page and check give one answer", "[api][doors]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 30)));
  const Sample s = sample_of(seed);
  Doors doors(s);
  INFO("seed " << seed << "\n" << s.yaml << "target " << s.target << ", profile " << s.profile);
  // Without tokens whatif asks for a length of its own, on which advice depends: the plan states it, too.
  if (!s.tokens) doors.request.job.options.tokens = "100B";
  doors.ask_plan();
  const auto whatif = doors.whatif();
  REQUIRE(whatif.has_value() == doors.plan.has_value());
  if (!doors.plan) return;
  const json point = json::parse(api::document(*whatif)).at("points").at(0);
  const planner::Plan* best = doors.plan->search.recommended_plan();
  REQUIRE((best == nullptr) == !whatif->result.points.front().plan.has_value());

  api::SweepRequest sweep;
  sweep.profile = s.profile;
  sweep.grid =
      doors.folder.write("grid.yaml", "job: job.yaml\n" + std::string(s.tokens ? "" : "tokens: 100B\n"));
  sweep.out = doors.folder / "sweep";
  Remarks remarks;
  std::optional<json> row;
  if (s.target.empty()) row = row_of(read_text(api::sweep(sweep, remarks).csv));
  if (best == nullptr) {
    if (row) CHECK(row->at("strategy").is_null());
    return;
  }
  const json document = json::parse(api::document(*doors.plan));
  const json plan = document.at("plans").at(doors.plan->search.recommended);

  {
    INFO("whatif at that point");
    CHECK(difference(plan, point, {}) == "");
    REQUIRE(document.contains("run"));
    CHECK(difference(document.at("run"), point, {"target"}) == "");
  }
  if (row) {
    INFO("sweep of one cell");
    const std::map<std::string, std::string> names = {{"works", "works_probability"},
                                                      {"fits", "fit_probability_at_distance"},
                                                      {"compiles", "compile_probability_at_distance"}};
    CHECK(difference(renamed(*row, names), plan, {"strategy"}) == "");
    CHECK(difference(*row, point, {"strategy", "why"}) == "");
    CHECK(row->at("strategy") == models::describe(best->strategy));
    CHECK(row->at("peak_bytes") == best->memory.worst().peak().value);
  }
  {
    api::SimulateRequest simulate;
    static_cast<api::Asked&>(simulate) = doors.request;
    simulate.strategy = planner::strategy_grammar(doors.plan->job, *best);
    INFO("simulate --strategy " << simulate.strategy);
    const json step = json::parse(api::document(api::simulate(simulate, remarks)));
    CHECK(difference(plan, step, {"rank"}) == "");
    CHECK(step.contains("works_probability"));
  }
  {
    INFO("the report page");
    const json page = json::parse(io::json_in_html(api::plan_report(doors.request, *doors.plan, {})));
    for (const json& one : page.at("plans")) {
      if (!one.at("recommended").get<bool>()) continue;
      CHECK(difference(one, plan, {"strategy", "memory", "breakdown_seconds"}) == "");
      CHECK(one.at("step_seconds") == plan.at("step_seconds"));
    }
    CHECK(difference(page.at("run"), document.at("run"), {"tokens_50", "tokens_90"}) ==
          "");  // 0 is null there
  }
  models::Job ran = planner::as_planned(doors.plan->job, *best);
  if (!ran.pin.tensor_parallel) {  // advice is free of pins
    INFO("advice of watch on what ran");
    ran.pin = {};
    const auto plans = api::plan_finder(s.profile)(ran, doors.plan->profile, 1);
    REQUIRE_FALSE(plans.empty());
    CHECK(models::describe(plans.front().strategy) == models::describe(best->strategy));
    CHECK(plans.front().report.step.value == best->report.step.value);
  }
  const planner::Target* target = doors.plan->stack.target;
  if (target == nullptr || target->name() != "nxdt") return;
  INFO("the folder, and check of its config");
  doors.request.out = doors.folder / "out";
  const api::PlanResult written = api::plan(doors.request, remarks);
  const json again = json::parse(api::document(written));
  CHECK(difference(plan, again.at("plans").at(written.search.recommended), {}) == "");
  if (!written.written || s.measured) return;  // a config states no network
  api::CheckRequest check;
  check.file = doors.folder / "out/nxdt.yaml";
  check.instance = s.instance;
  check.profile = s.profile;
  const json checked = json::parse(api::document(api::check(check)));
  INFO(checked.at("findings").dump(1));
  CHECK(difference(plan, checked.at("prediction"), {"rank", "run_days", "run_usd"}) == "");
}

TEST_CASE("a measured network is one for plan, its folder and watch", "[api][doors]") {
  const TestFolder folder;
  Remarks remarks;
  api::PlanRequest request;
  request.job.job = "llama3-8b";
  request.job.options.instance = "p5.48xlarge";
  request.job.options.nodes = "4";
  request.job.options.all_reduce = "41.7@2";
  request.target = "megatron";
  request.threads = 1;
  request.out = folder / "out";
  const api::PlanResult plan = api::plan(request, remarks);
  REQUIRE(plan.written);
  const planner::Plan& best = *plan.search.recommended_plan();
  REQUIRE(best.network);
  CHECK(best.network->nodes == 2);
  const io::PlanFile file = io::read_plan_file(folder / "out/plan.json", io::Catalog::standard());
  REQUIRE(file.job.all_reduce);
  CHECK(file.job.all_reduce->bus == best.network->bus);
  CHECK(file.job.all_reduce->per_doubling == best.network->per_doubling);
  Remarks said;
  const api::ResolvedJob again = api::resolve(file.job, {}, {.one_strategy = true, .refuses = false}, said);
  const api::Prediction p = api::Predictor(again).predict(again.job(), file.strategy);
  REQUIRE(p.judgement.plan);
  CHECK(p.judgement.plan->report.step == best.report.step);
  CHECK(p.judgement.plan->report.high == file.high);
  request.out = {};
  request.job.options.all_reduce = {};
  const api::PlanResult assumed = api::plan(request, remarks);
  CHECK(assumed.search.recommended_plan()->report.step < best.report.step);
}

// Reported: another loop in --strategy kept the kernels and factors of the job's own stack, a third answer.
TEST_CASE("a strategy of another loop is that of a job that states it", "[api][doors]") {
  const auto step = [](const char* framework, const char* strategy) {
    const TestFolder folder;
    Remarks remarks;
    api::SimulateRequest simulate;
    simulate.job.job = folder.write(
        "job.yaml", fmt::format("model: llama3-8b\ntraining: {{sequence: 8192, global_batch: 128}}\ncluster: "
                                "{{instance: p5.48xlarge, nodes: 2}}\nsoftware: {{framework: {}}}\n",
                                framework));
    simulate.strategy = strategy;
    return api::simulate(simulate, remarks).judgement.plan.value().report.step;
  };
  CHECK(step("megatron", "dp=16,framework=fsdp") == step("torchtitan", "dp=16,framework=fsdp"));
  CHECK(step("torchtitan", "tp=2,framework=megatron") == step("megatron", "tp=2"));
}

TEST_CASE("check recommends for a refused config what plan recommends for what it trains", "[api][doors]") {
  const TestFolder folder;
  Remarks remarks;
  std::string text = read_text(source_file("tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml"));
  const std::string from = "tensor_model_parallel_size: 32";
  REQUIRE(text.find(from) != std::string::npos);
  text.replace(text.find(from), from.size(), "tensor_model_parallel_size: 1");
  api::CheckRequest check;
  check.file = folder.write("nxdt.yaml", text);
  const api::CheckResult checked = api::check(check);
  CHECK(checked.verdict == "refused");
  api::PlanRequest request;
  request.job.job = check.file;
  const api::PlanResult plan = api::plan(request, remarks);
  const planner::Plan* best = plan.search.recommended_plan();
  REQUIRE(best != nullptr);
  REQUIRE_FALSE(checked.nearest.empty());
  CHECK(checked.nearest.front().recommended);
  CHECK(models::describe(checked.nearest.front().plan.strategy) == models::describe(best->strategy));
  CHECK(checked.nearest.front().plan.report.step.value == best->report.step.value);
}

TEST_CASE("check warns of a graph that may not compile, and recommends another plan", "[api][doors]") {
  const TestFolder folder;
  std::string text = read_text(source_file("tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml"));
  const auto change = [&](const std::string& from, const std::string& to) {
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  };
  change("num_nodes: 4", "num_nodes: 1");
  change("tensor_model_parallel_size: 32", "tensor_model_parallel_size: 8");
  change("kv_replicator: 4", "kv_replicator: 1");
  change("recompute: [CoreAttention]", "recompute: [CoreAttention, LlamaMLP]");
  api::CheckRequest check;
  check.file = folder.write("nxdt.yaml", text);
  const api::CheckResult checked = api::check(check);
  const auto graph = std::count_if(checked.findings.begin(), checked.findings.end(), [](const auto& f) {
    return f.rule == "graph" && f.severity == targets::Severity::warning && !f.fix.empty() &&
           !f.source.empty();
  });
  CHECK(graph == 1);
  CHECK(checked.verdict == "warn");
  REQUIRE_FALSE(checked.nearest.empty());
  CHECK(checked.nearest.front().recommended);
}
