#include "models/collective/collective_runtime.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "models/collective/neuron_runtime.h"
#include "models/collective/switched_runtime.h"

namespace trnplan::models {

namespace {

const std::array<const CollectiveRuntime*, 2>& all() {
  static const NeuronRuntime kNeuron;
  static const SwitchedRuntime kSwitched;
  static const std::array<const CollectiveRuntime*, 2> kAll = {&kNeuron, &kSwitched};
  return kAll;
}

}  // namespace

Latencies CollectiveRuntime::latencies(const Profile& profile, int) const {
  const RuntimeParameters& by = parameters();
  return {profile[by.start], profile[by.step], profile[by.between]};
}

std::optional<AlgorithmChoice> CollectiveRuntime::choice(const Fabric&, CollectiveOp, const GroupShape&,
                                                         Bytes, Algorithm) const {
  return std::nullopt;
}

Description CollectiveRuntime::describe(const Fabric&, CollectiveOp, const GroupShape&, Bytes,
                                        const AlgorithmChoice&) const {
  throw std::logic_error("a runtime without choice() describes by size");
}

const CollectiveRuntime* collective_runtime_named(std::string_view name) {
  for (const CollectiveRuntime* runtime : all()) {
    if (runtime->name() == name) return runtime;
  }
  return nullptr;
}

const CollectiveRuntime& runtime_of(const topology::Instance& instance) {
  const std::string_view name = topology::to_string(instance.traits.collectives);
  const CollectiveRuntime* runtime = collective_runtime_named(name);
  if (runtime == nullptr)
    throw std::invalid_argument("no collective runtime is called \"" + std::string(name) + "\"");
  return *runtime;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names{std::string(Algorithm::automatic.name())};
  for (const CollectiveRuntime* runtime : all()) {
    for (const Algorithm a : runtime->algorithms()) {
      if (std::find(names.begin(), names.end(), a.name()) == names.end()) names.emplace_back(a.name());
    }
  }
  return names;
}

std::optional<Algorithm> collective_algorithm(std::string_view name) {
  if (name == Algorithm::automatic.name()) return Algorithm::automatic;
  for (const CollectiveRuntime* runtime : all()) {
    for (const Algorithm a : runtime->algorithms()) {
      if (a.name() == name) return a;
    }
  }
  return std::nullopt;
}

}  // namespace trnplan::models
