#include "api/compared_jobs.h"

#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "api/recorded_layouts.h"
#include "text/document.h"

namespace trnplan::api {

namespace {

using logs::MemoryCase;
using logs::MemoryFact;

std::string known_of(const MemoryCase& c, const topology::Instance& on) {
  if (c.fact == MemoryFact::at_most)
    return fmt::format("kept a limit of {:.2f} GiB a {}", in_gibibytes(c.at_most),
                       topology::device_word(on.traits.accelerator));
  if (c.fact == MemoryFact::too_large) return "ran out of memory";
  return c.shipped ? "is a shipped config, presumed to run" : "ran";
}

}  // namespace

std::vector<MemoryCase> memory_cases(const io::Catalog& catalog) {
  std::vector<MemoryCase> cases =
      logs::parse_memory_cases(read_text(catalog.file("memory-cases.csv")), "memory-cases.csv");
  for (MemoryCase& c : logs::memory_cases_of(*catalog.measured_runs(), catalog.machines()))
    cases.push_back(std::move(c));
  return cases;
}

calibrate::Lookup case_lookup(const io::Catalog& catalog) {
  // Many cases share a network, and almost all share a machine.
  const auto networks = std::make_shared<std::map<std::string, models::Architecture>>();
  const auto machines = std::make_shared<std::map<std::string, topology::Instance>>();
  return {[&catalog, networks](const std::string& published) {
            const auto known = networks->find(published);
            if (known != networks->end()) return known->second;
            std::string name = published;  // an unknown one throws, with the known names
            for (const std::string& one : catalog.models()) {
              if (io::folded_name(one) == io::folded_name(published)) name = one;
            }
            return networks->emplace(published, catalog.architecture(name)).first->second;
          },
          [&catalog, machines](const std::string& type) {
            const auto known = machines->find(type);
            if (known != machines->end()) return known->second;
            return machines->emplace(type, catalog.instance(type)).first->second;
          }};
}

planner::ComparedJobs load_compared_jobs(const io::Catalog& catalog, const models::Profile& profile,
                                         bool gpus) {
  const calibrate::Lookup lookup = case_lookup(catalog);
  std::vector<planner::ComparedJob> jobs;
  for (const MemoryCase& c : memory_cases(catalog)) {
    if (!c.left_out.empty()) continue;
    calibrate::CaseJob published = calibrate::job_of(c, lookup);
    jobs.push_back({c.id, c.source, known_of(c, published.job.cluster.instance),
                    c.fact != MemoryFact::too_large, std::move(published.job),
                    models::canonical(published.strategy)});
  }
  if (!gpus) return {std::move(jobs), profile};
  for (RecordedLayout& l : recorded_layouts(catalog)) {
    const models::Strategy strategy = models::canonical(l.strategy);
    jobs.push_back(
        {l.id, l.source, l.fitted ? "ran" : "ran out of memory", false, std::move(l.job), strategy});
  }
  return {std::move(jobs), profile};
}

void tell_nearest(planner::Plan& plan, const planner::ComparedJobs& known, const models::Job& job) {
  plan.known = known.nearest(planner::as_planned(job, plan), plan.strategy);
}

}  // namespace trnplan::api
