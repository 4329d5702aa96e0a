// Plans Llama-3 8B on one trn1.32xlarge with the installed library, and checks the plan.
#include <iostream>

#include "io/catalog/catalog.h"
#include "planner/check/invariants.h"
#include "planner/plan/strategy_grammar.h"
#include "planner/search/search.h"

int main() {
  const trnplan::io::Catalog catalog(CATALOG);
  trnplan::models::Job job;
  job.architecture = catalog.architecture("llama3-8b");
  job.training = {.sequence = 8192, .global_batch = 1024};
  job.cluster = {.instance = catalog.instance("trn1.32xlarge"), .nodes = 1};
  const auto profile = catalog.profile("trn1-datasheet");
  const auto result = trnplan::planner::search(job, profile);
  if (result.plans.empty()) return 1;
  const trnplan::planner::Plan& winner = result.plans.front();
  for (const auto& wrong : trnplan::planner::broken_invariants(job, winner, 0.9)) {
    std::cerr << wrong << "\n";
    return 1;
  }
  std::cout << "winner: " << trnplan::planner::strategy_grammar(job, winner.strategy) << ", "
            << winner.report.step.value << " s a step\n";
}
