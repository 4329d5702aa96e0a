#include "calibrate/fit/step_bench.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "models/step/step.h"
#include "models/uncertainty/spread.h"

namespace trnplan::calibrate {

namespace {

using models::Parameter;

constexpr double kCollectiveStep = 1e-3;  ///< size of the differences, in logarithms
constexpr double kGrid = 0.05;            ///< grid of CollectiveBench, in logarithms

// Keys by which equal programs are found. Every field is in a list below, so that a new one does not compile
// until its author has decided whether it makes another program.

auto key_of(const models::Architecture& a) {
  const auto& [name, title, layers, hidden, intermediate, heads, kv_heads, head_dim, vocabulary,
               max_positions, mlp, norm, tied_embeddings, learned_positions, token_types, causal,
               sliding_window, sliding_window_pattern, biases, qkv_bias, qk_norm, flash_attention, dropout,
               rope_theta, rms_norm_eps, experts, experts_per_token, capacity_factor, initializer_range,
               router_aux_loss, blocks, rope_scaling, llama31_rope_factor, source_config] = a;
  // Left out: names, settings of the network that change no shape, and the blocks of models without a time.
  return std::tuple(layers, hidden, intermediate, heads, kv_heads, head_dim, vocabulary, max_positions, mlp,
                    norm, tied_embeddings, learned_positions, token_types, causal, sliding_window,
                    sliding_window_pattern, biases, qkv_bias, qk_norm, flash_attention, dropout, experts,
                    experts_per_token, capacity_factor, blocks.output_bias, blocks.mlp_bias,
                    blocks.expert_bias, blocks.sinks);
}

/// Key of an instance: all but names, reasons, prices, the words of changes, how a run is started, and fields
/// for drawings.
auto key_of(const topology::Instance& t) {
  const auto& [name, family, traits, untimed, chips, switches, cores_per_chip, core, links, link,
               link_for_collectives, ll_bandwidths, in_switch_efficiency, torus_rows, torus_columns,
               torus_depth, nics, nic, network_devices, nic_of_chip, rails, oversubscription, network_latency,
               vcpus, host_memory, hosts, ec2_type, device_name, kubernetes_resource, hyperpod_type,
               ultraserver_mode, prices, chosen, changes] = t;
  const auto& [device, lnc, bf16, fp32, array_rows, array_columns, matmul_issue_cycles, tensor_hertz,
               vector_lanes, vector_hertz, memory, hbm, dma, fp8, fp4, tf32, multiprocessors, l2, watts] =
      core;
  std::vector<std::tuple<int, int, double>> wires;
  for (const topology::Link& l : links) {
    const auto& [chip_a, chip_b, per_direction] = l;
    wires.emplace_back(chip_a, chip_b, per_direction.value);
  }
  std::vector<double> ll;
  for (const BytesPerSecond rate : ll_bandwidths) ll.push_back(rate.value);
  return std::tuple(
      std::tuple(device, lnc, bf16, fp32, array_rows, array_columns, matmul_issue_cycles, tensor_hertz,
                 vector_lanes, vector_hertz, memory, hbm, dma, fp8, fp4, tf32, multiprocessors, l2, watts),
      traits, chips, switches, cores_per_chip, std::move(wires), link, link_for_collectives, std::move(ll),
      in_switch_efficiency, nics, nic, nic_of_chip, rails, network_latency, host_memory);
}

auto program_key(const MeasuredStep& s) {
  // Left out: limits of a whole run, choices left to the search, learning settings, places of files, and
  // packages that could be installed; a measured network, which published runs do not have.
  const auto& [architecture, training, cluster, all_reduce, software, objective, deadline, budget, pin, space,
               learning, run, neuron_releases] = s.job;
  const auto& [sequence, global_batch, tokens, precision] = training;
  const auto& [instance, nodes, oversubscription] = cluster;
  // Framework and release have factors of the fit's own.
  const auto& [framework, release, in_flight, version, fuse_qkv, sequential_move] = software;
  return std::tuple(key_of(architecture), sequence, global_batch, precision, key_of(instance), nodes,
                    oversubscription, models::stack_of(software).fuses_softmax, in_flight, s.strategy);
}

std::vector<double> medians(const models::Profile& profile) {
  std::vector<double> all;
  for (const models::Value& v : profile.values) all.push_back(v.median);
  return all;
}

}  // namespace

StepBench::StepBench(const std::vector<MeasuredStep>& steps) : steps_(steps) {
  // In the order of ids, so that the order of the input does not matter.
  std::vector<std::size_t> order(steps.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return steps[a].id < steps[b].id; });
  std::map<decltype(program_key(steps.front())), std::size_t> programs;
  std::map<decltype(key_of(steps.front().job.cluster.instance)), std::size_t> machines;
  std::map<std::tuple<std::size_t, std::string, std::string, std::string, bool>, std::size_t> known;
  for (const std::size_t i : order) {
    const MeasuredStep& s = steps[i];
    const auto [program, fresh] = programs.try_emplace(program_key(s), programs_.size());
    if (fresh) {
      const topology::Instance& instance = s.job.cluster.instance;
      const auto [machine, unseen] = machines.try_emplace(key_of(instance), graphs_.size());
      if (unseen) graphs_.push_back(std::make_unique<topology::ChipGraph>(instance));
      programs_.push_back({i, graphs_[machine->second].get()});
    }
    const std::string group = s.group.empty() ? "row " + s.id : s.group;
    const auto [it, first] = known.try_emplace(
        {program->second, s.job.software.framework, s.job.software.release, group, s.at_most},
        observations_.size());
    if (first)
      observations_.push_back({{}, program->second, s.configuration, s.job.software, 0, s.log_sd, s.at_most});
    observations_[it->second].rows.push_back(i);
  }
  memories_.resize(programs_.size());
  for (StepObservation& o : observations_) {
    for (const std::size_t row : o.rows) o.log_seconds += std::log(steps[row].seconds);
    o.log_seconds /= static_cast<double>(o.rows.size());
  }
}

ProgramTime StepBench::time(std::size_t program, const models::Profile& of_all) const {
  models::Profile profile = of_all;
  profile.calibration = nullptr;  // the stack's factor is a parameter of this fit
  constexpr std::size_t kMostProfiles = 512;
  if (known_.size() > kMostProfiles) known_.clear();
  auto& of_profile = known_[medians(profile)];
  const auto found = of_profile.find(program);
  if (found != of_profile.end()) return found->second;
  const models::StepReport report = this->report(program, profile);
  ProgramTime time{std::log(report.step.value), models::log_gradient(report)};
  return of_profile.emplace(program, std::move(time)).first->second;
}

models::StepReport StepBench::report(std::size_t program, const models::Profile& of_all) const {
  models::Profile profile = of_all;
  profile.calibration = nullptr;
  const MeasuredStep& step = steps_[programs_[program].step];
  return models::StepModel(step.job, step.strategy, profile, *programs_[program].graph, &memories_[program])
      .simulate();
}

CollectiveBench::CollectiveBench(std::vector<logs::MeasuredCollective> points,
                                 const topology::Instance& instance)
    : points_(std::move(points)), timed_(points_, instance) {}

CollectiveBench::Answer CollectiveBench::at(const models::Profile& profile) const {
  models::Profile near = profile;
  std::vector<int> key;
  std::vector<double> offset;
  for (const Parameter p : kCollectiveParameters) {
    const double steps = std::log(profile[p]) / kGrid;
    key.push_back(static_cast<int>(std::lround(steps)));
    near.value(p).median = std::exp(key.back() * kGrid);
    offset.push_back((steps - key.back()) * kGrid);
  }
  const auto [found, fresh] = known_.try_emplace(key);
  Answer& known = found->second;
  if (fresh) {
    for (const double seconds : timed_.seconds(near)) known.log_seconds.push_back(std::log(seconds));
    for (const Parameter p : kCollectiveParameters) {
      models::Profile above = near, below = near;
      above.value(p).median *= std::exp(kCollectiveStep);
      below.value(p).median *= std::exp(-kCollectiveStep);
      const std::vector<double> more = timed_.seconds(above), less = timed_.seconds(below);
      std::vector<double>& of_parameter = known.gradient.emplace_back();
      for (std::size_t i = 0; i < more.size(); ++i) {
        of_parameter.push_back(std::log(more[i] / less[i]) / (2 * kCollectiveStep));
      }
    }
  }
  Answer answer = known;
  for (std::size_t j = 0; j < offset.size(); ++j) {
    for (std::size_t i = 0; i < answer.log_seconds.size(); ++i) {
      answer.log_seconds[i] += offset[j] * known.gradient[j][i];
    }
  }
  return answer;
}

}  // namespace trnplan::calibrate
