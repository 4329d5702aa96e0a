#include "api/contradictions.h"

#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/input/framework_names.h"
#include "io/input/job_input.h"
#include "planner/check/rules.h"
#include "targets/registry.h"
#include "text/diagnostic.h"

namespace trnplan::api {

namespace {

/// Key of the job that a rule is about, preferably one that is set.
std::string key_of(const std::string& rule, const io::JobReading& reading) {
  static const std::map<std::string, std::vector<std::string>> kKeys = {
      {"heads", {"pin.tensor_parallel"}},
      {"vocabulary", {"pin.tensor_parallel"}},
      {"rank-order", {"pin.tensor_parallel"}},
      {"kv-replicator", {"pin.kv_replicator", "pin.tensor_parallel"}},
      {"layers", {"pin.pipeline_parallel", "pin.virtual_pipeline"}},
      {"pipeline-parity", {"pin.pipeline_parallel"}},
      {"tied-embeddings", {"pin.pipeline_parallel"}},
      {"interleaved", {"pin.virtual_pipeline"}},
      {"context-parallel", {"pin.context_parallel"}},
      {"moe", {"pin.expert_parallel"}},
      {"sequence-parallel", {"pin.sequence_parallel", "training.sequence"}},
      {"flash-attention", {"training.sequence"}},
      {"positions", {"training.sequence"}},
      {"divisibility",
       {"pin.tensor_parallel", "pin.pipeline_parallel", "pin.data_parallel", "pin.context_parallel"}}};
  const auto it = kKeys.find(rule);
  if (it == kKeys.end()) return "";
  for (const std::string& key : it->second) {
    if (reading.places.count(key) > 0) return key;
  }
  return "";
}

}  // namespace

std::string stated_as(const std::string& key, const std::string& file) {
  const std::string option = file == io::kCommandLine ? io::option_of(key) : "";
  return option.empty() ? key : option;
}

std::vector<models::Job> clusters_of(const models::Job& job) {
  std::vector<int> nodes = job.space.nodes;
  std::vector<topology::Instance> types = job.space.instances;
  if (nodes.empty()) nodes.push_back(job.cluster.nodes);
  if (types.empty()) types.push_back(job.cluster.instance);
  std::vector<models::Job> all;
  for (const topology::Instance& type : types) {
    for (const int n : nodes) {
      models::Job one = job;
      one.cluster.instance = type;
      one.cluster.nodes = n;
      if (one.space.batch_per_node > 0) one.training.global_batch = one.space.batch_per_node * n;
      all.push_back(std::move(one));
    }
  }
  return all;
}

void refuse_contradictions(const std::string& job, const io::JobReading& reading,
                           const planner::Target& target) {
  std::vector<JobChoice> choices;
  std::vector<models::Job> clusters = clusters_of(reading.job);
  for (models::Job& one : clusters) choices.push_back({std::move(one), &target});
  refuse_contradictions(job, reading, choices);
}

void refuse_contradictions(const std::string& job, const io::JobReading& reading,
                           const std::vector<JobChoice>& choices) {
  std::vector<Diagnostic> faults;
  for (const JobChoice& one : choices) {
    const std::vector<planner::Violation> broken = planner::contradictions(one.job, one.target);
    if (broken.empty()) return;
    if (!faults.empty()) continue;
    for (const planner::Violation& v : broken) {
      const std::string key = key_of(v.rule, reading);
      const auto place = reading.places.find(key);
      faults.push_back({place == reading.places.end() ? SourcePos{job, 0, 0} : place->second,
                        stated_as(key, place == reading.places.end() ? "" : place->second.file),
                        v.message + " (rule " + v.rule + ")", v.fix});
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

void refuse_other_machines(const std::string& job, const io::JobReading& reading,
                           const planner::Target& target, bool named) {
  const topology::Instance& machine = reading.job.cluster.instance;
  if (target.trains_on(machine.traits)) return;
  const std::string key = "software.framework";
  const auto place = reading.places.find(key);
  const bool option = named || place == reading.places.end();
  std::string others;
  for (const planner::Target* other : targets::all()) {
    if (other->trains_on(machine.traits))
      others += (others.empty() ? "" : " or ") + std::string(other->name());
  }
  std::vector<Diagnostic> fault;
  fault.push_back({option ? SourcePos{job, 0, 0} : place->second,
                   option ? "--target" : stated_as(key, place->second.file),
                   fmt::format("{} does not train on {}", target.name(), machine.name),
                   others.empty() ? "choose another instance" : "write " + others + ", or leave it out"});
  throw InputError(std::move(fault));
}

void refuse_other_loop(const std::string& job, const io::JobReading& reading,
                       const std::vector<topology::Instance>& types) {
  const std::string key = "pin.framework";
  const auto place = reading.places.find(key);
  if (place == reading.places.end() || !reading.job.pin.framework) return;
  for (const topology::Instance& type : types) {
    auto fault = io::loop_fault(*reading.job.pin.framework, type,
                                place->second.file.empty() ? SourcePos{job, 0, 0} : place->second,
                                stated_as(key, place->second.file));
    if (fault) throw InputError(*std::move(fault));
  }
}

void refuse_mixed_machines(const std::string& job, const io::JobReading& reading,
                           const std::function<std::string(const topology::Instance&)>& profile_of) {
  const std::vector<topology::Instance>& types = reading.job.space.instances;
  for (const topology::Instance& type : types) {
    if (profile_of(type) == profile_of(types.front())) continue;
    const std::string key = "cluster.instance";
    const auto place = reading.places.find(key);
    std::vector<Diagnostic> fault;
    fault.push_back(
        {place == reading.places.end() ? SourcePos{job, 0, 0} : place->second,
         stated_as(key, place == reading.places.end() ? "" : place->second.file),
         fmt::format("{} and {} are timed with different parameters", types.front().name, type.name),
         "compare them with trnplan whatif --instances, or plan for one of them"});
    throw InputError(std::move(fault));
  }
}

}  // namespace trnplan::api
