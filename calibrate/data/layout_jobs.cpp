#include "calibrate/data/layout_jobs.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibrate/data/layout_words.h"
#include "models/architecture/limits.h"
#include "units/product.h"

namespace trnplan::calibrate {

namespace {

using logs::LayoutRun;

/// Clauses of a note, "; " between them.
std::vector<std::string> clauses_of(std::string_view note) {
  constexpr std::string_view kBetween = "; ";
  std::vector<std::string> clauses;
  while (!note.empty()) {
    const std::string_view one = note.substr(0, note.find(kBetween));
    clauses.emplace_back(one);
    note.remove_prefix(std::min(note.size(), one.size() + kBetween.size()));
  }
  return clauses;
}

/// Reason for a missing value, in the same words for all rows, so that they can be counted.
std::string not_stated(const LayoutRun& run, bool network_known) {
  if (!network_known) {
    if (run.layers < 1 || run.hidden < 1 || run.heads < 1) return "the network is not stated";
    if (run.experts > 0) return "the number of experts per token is not stated";
    if (run.hidden % run.heads != 0) return "the heads do not divide the hidden size";
    if (run.kv_heads > 0 && run.heads % run.kv_heads != 0) return "the KV heads do not divide the heads";
  }
  if (run.sequence < 1 || run.global_batch < 1 || run.micro_batch < 1)
    return "sequence, batch or micro-batch is not stated";
  for (const int degree : {run.tensor_parallel, run.pipeline_parallel, run.virtual_pipeline,
                           run.context_parallel, run.expert_parallel}) {
    if (degree < 1) return "a degree below 1";
  }
  if (run.gpus < 1 || run.data_parallel < 1) return "GPUs or DP are not stated";
  if (saturating_product(
          {run.tensor_parallel, run.pipeline_parallel, run.context_parallel, run.data_parallel}) != run.gpus)
    return "the degrees do not multiply to the GPUs";
  return "";
}

}  // namespace

models::Architecture network_of(const LayoutRun& run, const LayoutRule& source) {
  models::Architecture a;
  a.name = run.model.empty() ? run.id : run.model;
  a.layers = run.layers;
  a.hidden = run.hidden;
  a.heads = run.heads;
  a.kv_heads = run.kv_heads > 0 ? run.kv_heads : run.heads;
  a.head_dim = run.hidden / run.heads;
  const bool plain = (run.mlp.empty() ? source.mlp : run.mlp) == "plain";
  a.mlp = plain ? models::Mlp::plain : models::Mlp::gated;
  a.intermediate = run.intermediate > 0 ? run.intermediate : plain ? 4 * run.hidden : 0;
  a.vocabulary = run.vocabulary > 0 ? run.vocabulary : source.vocabulary;
  const long long multiple = 1LL * source.vocabulary_multiple * std::max(1, run.tensor_parallel);
  if (multiple > 1 && multiple <= models::model_limits.vocabulary)
    a.vocabulary = static_cast<int>((a.vocabulary + multiple - 1) / multiple * multiple);
  a.max_positions = run.sequence;
  a.norm = plain ? models::Norm::layer : models::Norm::rms;
  a.biases = source.biases.value_or(plain);
  a.learned_positions = source.learned_positions.value_or(plain);
  a.tied_embeddings = source.tied.value_or(source.tied_below ? a.intermediate < *source.tied_below : plain);
  a.experts = run.experts;
  return a;
}

int nodes_of(int gpus, topology::Instance& instance) {
  const int cores = instance.cores(), nodes = (gpus + cores - 1) / cores;
  const bool parts = nodes == 1 || instance.hosts > 1;
  if (nodes > topology::kMostNodes || gpus % (nodes * (parts ? instance.cores_per_chip : cores)) != 0)
    return 0;
  instance = part_of(std::move(instance), gpus / nodes / instance.cores_per_chip);
  return nodes;
}

topology::Instance part_of(topology::Instance instance, int chips) {
  const int gone = instance.chips - chips, first_switch = instance.chips, of_host = instance.host_chips();
  if (gone == 0) return instance;
  std::vector<topology::Link> kept;
  const auto stays = [&](int v) { return v < chips || v >= first_switch; };
  const auto moved = [&](int v) { return v < chips ? v : v - gone; };
  for (const topology::Link& l : instance.links) {
    if (stays(l.chip_a) && stays(l.chip_b))
      kept.push_back({moved(l.chip_a), moved(l.chip_b), l.per_direction});
  }
  instance.links = std::move(kept);
  instance.chips = chips;
  if (!instance.nic_of_chip.empty()) instance.nic_of_chip.resize(static_cast<std::size_t>(chips));
  if (instance.hosts > 1 && instance.nics == of_host * instance.hosts) instance.nics = instance.rails = chips;
  instance.hosts = chips % of_host == 0 ? chips / of_host : 1;
  instance.torus_rows = instance.torus_columns = 0;
  return instance;
}

std::string source_name(const LayoutRun& run) {
  return run.source.substr(0, run.source.find_first_of(": "));
}

std::string layout_group(const LayoutRun& run) {
  const std::string network =
      run.layers > 0 ? fmt::format("{} layers of {}", run.layers, run.hidden) : run.model;
  return fmt::format("{}, {}, {} GPUs, sequence {}, batch {}", source_name(run), network, run.gpus,
                     run.sequence, run.global_batch);
}

LayoutJob layout_job(const LayoutRun& run, const LayoutRules& rules,
                     const std::function<topology::Instance(const std::string&)>& instance_named) {
  LayoutJob out;
  if (!run.faults.empty()) {
    out.refused = "the row cannot be read";
    return out;
  }
  const std::pair<std::string_view, std::string_view> columns[] = {{"source", run.source},
                                                                   {"gpu", run.gpu},
                                                                   {"sharding", run.sharding},
                                                                   {"recompute", run.recompute},
                                                                   {"precision", run.precision}};
  std::optional<models::Architecture> network;
  for (const auto& [column, text] : {std::pair("model", run.model), std::pair("task", run.task)}) {
    if (const LayoutRule* rule = rule_of(rules, column, text, run)) {
      out.refused = rule->refused;
      if (!out.refused.empty()) return out;
      network = rule->network;
    }
  }
  std::string keys;
  bool memory_known = true;
  const LayoutRule *source = nullptr, *machine = nullptr;
  for (const auto& [column, text] : columns) {
    const Meaning meaning = meaning_of(rules, column, text, run);
    out.refused = meaning.refused;
    if (!out.refused.empty()) return out;
    put_keys(keys, meaning.keys);
    if (meaning.rule != nullptr && !meaning.rule->memory.known) memory_known = false;
    if (column == "source") source = meaning.rule;
    if (column == "gpu") machine = meaning.rule;
  }
  for (const std::string& clause : clauses_of(run.note)) {
    if (const LayoutRule* rule = rule_of(rules, "note", clause, run)) {
      out.refused = rule->refused;
      if (!out.refused.empty()) return out;
      put_keys(keys, rule->keys);
    }
  }
  if (const LayoutRule* rule = rule_of(rules, "recipe", run.model, run)) put_keys(keys, rule->keys);
  out.refused = not_stated(run, network.has_value());
  if (!out.refused.empty()) return out;
  out.memory = source->memory;
  out.memory.known = memory_known;
  out.job.architecture = network ? *network : network_of(run, *source);
  out.job.architecture.max_positions = run.sequence;
  if (out.job.architecture.intermediate < 1 || out.job.architecture.vocabulary < 1) {
    out.refused = "the network is not stated";
    return out;
  }
  topology::Instance instance = instance_named(machine->instance);
  out.job.cluster.nodes = nodes_of(run.gpus, instance);
  if (out.job.cluster.nodes == 0) {
    out.refused = "the GPUs do not make whole nodes";
    return out;
  }
  out.job.cluster.oversubscription = instance.oversubscription;
  out.job.cluster.instance = std::move(instance);
  out.job.training = {run.sequence, run.global_batch, 0, models::Precision::mixed_precision};
  out.strategy = fmt::format("tp={},pp={},vpp={},cp={},ep={},dp={},mbs={}{}", run.tensor_parallel,
                             run.pipeline_parallel, run.virtual_pipeline, run.context_parallel,
                             run.expert_parallel, run.data_parallel, run.micro_batch, keys);
  return out;
}

}  // namespace trnplan::calibrate
