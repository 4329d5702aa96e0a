#include "api/compare.h"

#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/check.h"
#include "api/predictor.h"
#include "api/prices.h"
#include "api/what_ran.h"
#include "io/input/plan_file.h"
#include "io/input/strategy_text.h"
#include "text/diagnostic.h"
#include "text/parse.h"

namespace trnplan::api {

namespace {

using planner::ComparedPlan;

/// A plan with the profile of its prediction.
struct Side {
  ComparedPlan plan;
  std::shared_ptr<const models::Profile> profile;
};

InputError fault(const std::string& name, std::string problem, std::string fix) {
  return InputError({{io::kCommandLine, 0, 0}, in_quotes(name), std::move(problem), std::move(fix)});
}

Side side_of(const std::string& name, models::Job job, const StackRef& stack, planner::Plan plan,
             std::vector<planner::Violation> broken = {}) {
  return {{name, std::move(job), std::move(plan), std::move(broken)}, stack->profile};
}

Side predicted(const std::string& name, const ResolvedJob& resolved, const models::Strategy& strategy,
               Remarks& remarks) {
  resolved.remark_other_loop(strategy, remarks);
  Prediction p = Predictor(resolved).predict(resolved.job(), strategy);
  if (!p.judgement.plan)
    throw fault(name, "it cannot be simulated: " + planner::why_no_plan(p.judgement),
                "compare another strategy");
  return side_of(name, std::move(p.job), p.stack, *std::move(p.judgement.plan),
                 std::move(p.judgement.broken));
}

/// "4xtrn1.32xlarge:tp=8" in parts.
struct ClusterWords {
  std::string nodes, instance, strategy;
};
std::optional<ClusterWords> cluster_words(const std::string& text) {
  const std::size_t times = text.find('x'), colon = text.find(':');
  if (times == std::string::npos || !parse_whole(text.substr(0, times))) return std::nullopt;
  const std::string type = text.substr(times + 1, colon == std::string::npos ? colon : colon - times - 1);
  return ClusterWords{text.substr(0, times), type, colon == std::string::npos ? "" : text.substr(colon + 1)};
}

Side on_cluster(const CompareRequest& r, const std::string& name, const ClusterWords& words,
                Remarks& remarks) {
  Asked asked = r;
  asked.job.options.nodes = words.nodes;
  asked.job.options.instance = words.instance;
  const bool one = !words.strategy.empty();
  const ResolvedJob resolved = resolve(asked,
                                       {.one_strategy = one,
                                        .loop_stated = io::states_loop(words.strategy),
                                        .amend = with_prices(r.price, OtherTypes::left_out)},
                                       remarks);
  if (one) return predicted(name, resolved, io::strategy_there(words.strategy, resolved.job()), remarks);
  Recommendation best =
      Predictor(resolved).recommend(resolved.job(), {.layouts = 0, .explain = false, .why_nothing = false});
  const planner::Plan* plan = best.search.recommended_plan();
  if (plan == nullptr)
    throw fault(name, "the job has no plan there", "trnplan plan says why; compare another cluster");
  return side_of(name, planner::as_planned(best.stack->job, *plan), best.stack, *plan);
}

Side of_config(const CompareRequest& r, const std::string& name, Remarks& remarks) {
  CheckRequest check;
  check.file = name;
  check.target = r.target;
  check.profile = r.profile;
  check.instance = r.job.options.instance;
  check.release = r.job.options.release;
  if (const std::string& nodes = r.job.options.nodes; !nodes.empty()) {
    const std::optional<int> number = parse_whole(nodes);
    if (!number || *number < 1 || *number > topology::kMostNodes)
      throw InputError({{io::kCommandLine, 0, 0},
                        "--nodes",
                        in_quotes(nodes) + " is not the number of nodes of a config",
                        fmt::format("write one number from 1 to {}", topology::kMostNodes)});
    check.nodes = *number;
  }
  CheckResult checked = api::check(check);
  if (!checked.machine_of.empty()) remarks.add(machine_next_to(checked), "instance");
  if (!checked.prediction)
    throw fault(name, "there is no prediction: " + checked.no_prediction, "trnplan check says what is wrong");
  std::vector<planner::Violation> broken;
  for (const targets::Finding& f : checked.findings)
    if (f.severity == targets::Severity::error) broken.push_back({f.rule, f.message, f.fix});
  return side_of(name, std::move(checked.job), checked.stack, *std::move(checked.prediction),
                 std::move(broken));
}

Side read_side(const CompareRequest& r, const std::string& name, Remarks& remarks) {
  std::error_code none;
  const std::filesystem::path path = name;
  const bool exists = std::filesystem::exists(path, none);
  if (exists && (!r.hardware.empty() || !r.price.empty()))
    throw fault(name, "--set and --price change the machine of a job, and this states its own",
                "leave them out, or compare strategies and clusters of --job");
  if (std::filesystem::exists(path / io::kPlanFile, none)) {
    const calibrate::WhatRan ran = ran_of_folder(name, io::Catalog::standard(), remarks);
    return predicted(name, resolve(ran.job, r, {.one_strategy = true}, remarks), *ran.strategy, remarks);
  }
  if (exists) return of_config(r, name, remarks);
  if (r.job.job.empty())
    throw fault(name, "it is no file, and a strategy or a cluster needs a job",
                "add --job JOB, or correct the path");
  if (const auto words = cluster_words(name)) return on_cluster(r, name, *words, remarks);
  const ResolvedJob resolved = resolve(r,
                                       {.one_strategy = true,
                                        .loop_stated = io::states_loop(name),
                                        .amend = with_prices(r.price, OtherTypes::left_out)},
                                       remarks);
  return predicted(name, resolved, io::strategy_there(name, resolved.job()), remarks);
}

}  // namespace

planner::PlanComparison compare(const CompareRequest& r, Remarks& remarks) {
  std::vector<Diagnostic> faults;
  std::set<std::string> said;  // both sides have the job's faults and remarks
  Remarks once([&](const Remark& remark) {
    const auto* fault = std::get_if<Diagnostic>(&remark);
    if (said.insert(fault == nullptr ? std::get<std::string>(remark) : to_string(*fault)).second)
      remarks.add(remark);
  });
  std::vector<Side> sides;
  for (const std::string& name : {r.first, r.second}) {
    try {
      sides.push_back(read_side(r, name, once));
    } catch (const InputError& e) {
      for (const Diagnostic& d : e.faults())
        if (said.insert(to_string(d)).second) faults.push_back(d);
    }
  }
  if (sides.size() == 2)
    (void)stated_prices(r.price, {sides[0].plan.job.cluster.instance, sides[1].plan.job.cluster.instance},
                        "compare a cluster of it, or leave its price out", io::Catalog::standard(), faults);
  if (!faults.empty()) throw InputError(std::move(faults));
  for (const Side& side : sides) remark_site(*side.profile, side.plan.job, once);
  const ComparedPlan &first = sides[0].plan, &second = sides[1].plan;
  if (first.job.architecture.name != second.job.architecture.name &&
      models::parameters(first.job.architecture) != models::parameters(second.job.architecture))
    throw fault(r.second,
                fmt::format("it trains {}, and {} trains {}", second.job.architecture.name, r.first,
                            first.job.architecture.name),
                "compare plans of one model");
  return planner::compare_plans({first, second}, {sides[0].profile.get(), sides[1].profile.get()});
}

}  // namespace trnplan::api
