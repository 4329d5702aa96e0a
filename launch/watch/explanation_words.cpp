#include "launch/watch/explanation_words.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/input/scenario_text.h"
#include "launch/watch/alarms.h"

namespace trnplan::launch {

namespace {

/// The state of a node's NICs that leaves such a share of them; "" where none is near.
std::string nic_words(double share, int nics) {
  const double near = std::min(0.02, 0.25 / nics);  // half of what one NIC at half its rate takes
  if (nics > 1 && std::abs(share - (nics - 1.0) / nics) < near)
    return fmt::format(": one of {} NICs dead", nics);
  if (std::abs(share - (nics - 0.5) / nics) < near) return ": one NIC at half its rate";
  return std::abs(share - 0.5) < near ? ": its NICs at half their rate" : "";
}

std::string words_of(const Explanation& e, int nics) {
  switch (e.cause) {
    case Cause::slow_node:
      return fmt::format("one node, or a chip of it, takes {:.3g} times as long", e.value);
    case Cause::nic:
      return fmt::format("one node with {:.3g} % of its network{}", e.value * 100, nic_words(e.value, nics));
    case Cause::spine:
      return fmt::format(
          "all nodes with {:.3g} % of the network between them: oversubscribed, or loaded by others",
          e.value * 100);
    case Cause::jitter:
      return fmt::format("passes take random times, which vary by {:.3g} %", e.value * 100);
    case Cause::late_node:
      return fmt::format("one node {:.3g} s late in every step: slow input, or a slow host", e.value);
    case Cause::prediction:
      return fmt::format("nothing is slow: the prediction is {:.3g} % too low", (e.value - 1) * 100);
  }
  return "";
}

/// Words of a cause, in the order of Cause.
struct CauseWords {
  std::string_view subject;  ///< where it never makes a step that long
  std::string_view test;     ///< that tells it from the others; those of the network come from one run
};
constexpr std::string_view kPairs =
    "all_reduce on pairs of nodes (health.sh, then trnplan collective --measured): if pairs of one node are "
    "slow, its "
    "network is; if all are, the fabric";
constexpr std::array<CauseWords, kCauses> kWords = {{
    {"one slow node", "a small job on each node alone: a slow one is the node"},
    {"the network of one node", kPairs},
    {"the network between nodes", kPairs},
    {"random times of passes", "some hundred steps that are timed singly: if they vary, it is random times"},
    {"one late node", "the same job with synthetic data: if it is faster, it is the input"},
    {"the prediction", ""},
}};
const CauseWords& constant_words(Cause cause) {
  return kWords[static_cast<std::size_t>(cause)];
}

std::string check_of(Cause cause, const topology::Instance& machine) {
  const bool gpu = machine.traits.accelerator == topology::Accelerator::gpu;
  switch (cause) {
    case Cause::slow_node:
      return gpu ? "on every node, while it trains: nvidia-smi -q -d CLOCK,PERFORMANCE for a GPU whose clock "
                   "is held down"
                 : "on every node, while it trains: neuron-monitor for a node whose cores are busier than "
                   "those of others";
    case Cause::nic:
      return machine.ec2_type.empty()
                 ? fmt::format("on every node: ibv_devinfo shows {} ports active at full rate", machine.nics)
                 : fmt::format("on every node: fi_info -p efa lists {} devices",
                               std::max(machine.nics, machine.network_devices));
    case Cause::spine:
      return "which other jobs use the fabric, and whether steps are shorter when they do not run";
    case Cause::jitter:
      return "on every node: other processes, interrupts, garbage collection of the training loop";
    case Cause::late_node:
      return "the time to load a batch on every node, its storage, and its free CPUs";
    case Cause::prediction:
      return "that what ran is what was named; then --calibrate learns from it";
  }
  return "";
}

}  // namespace

std::vector<io::WatchExplanation> in_words(const std::vector<Explanation>& explanations,
                                           const SlowSteps& slow, const models::Job& job) {
  std::vector<io::WatchExplanation> all;
  if (slow.seconds > 0 && slow.saving > kWorthSaying * slow.seconds) {
    io::WatchExplanation saves;
    saves.kind = "checkpoint";
    saves.probability = 1;  // a fact of the log, not one of the causes that compete
    saves.as_likely = true;
    saves.times = (slow.seconds + slow.saving) / slow.seconds;
    saves.what = fmt::format("{}: saving checkpoints, {:.3g} s a step by the log; {:.4g} s without{}",
                             slow.explained ? "all of it" : "part of it", slow.saving, slow.seconds,
                             slow.explained ? "" : ", which is still slow");
    saves.check = fmt::format("how often and where it saves: {}", kSaveLess);
    all.push_back(std::move(saves));
  }
  for (const Explanation& e : explanations) {
    io::WatchExplanation t;
    t.kind = to_string(e.cause);
    t.probability = e.probability;
    t.as_likely = e.as_likely;
    t.what = e.reaches
                 ? words_of(e, job.cluster.instance.nics)
                 : fmt::format("{}: at most {:.4g} times as long", constant_words(e.cause).subject, e.times);
    t.check = check_of(e.cause, job.cluster.instance);
    if (e.cause != Cause::prediction) t.times = e.times;
    if (e.reaches && e.cause != Cause::prediction) {
      t.value = e.value;
      t.step_seconds = e.times * slow.expected;
      t.scenario = io::scenario_text(e.scenario, job.cluster);
    }
    all.push_back(std::move(t));
  }
  return all;
}

std::string how_to_tell(const std::vector<Explanation>& explanations) {
  std::vector<std::string_view> tests;
  int alike = 0;
  for (const Explanation& e : explanations) {
    if (!e.as_likely || !e.reaches) continue;
    ++alike;
    const std::string_view test = constant_words(e.cause).test;
    if (!test.empty() && std::find(tests.begin(), tests.end(), test) == tests.end()) tests.push_back(test);
  }
  return alike < 2 ? "" : fmt::format("{}", fmt::join(tests, "; "));
}

}  // namespace trnplan::launch
