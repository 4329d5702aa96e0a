#include "calibrate/data/own_jobs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibrate/data/layout_words.h"
#include "units/product.h"

namespace trnplan::calibrate {

namespace {

using logs::LayoutRun;

const std::string& first_of(const std::string& a, const std::string& b) {
  return a.empty() ? b : a;
}

/// The source's rule, or one that states nothing.
const LayoutRule& source_rule(const LayoutRun& run, const LayoutRules& rules) {
  static const LayoutRule nothing;
  const LayoutRule* rule = rule_of(rules, "source", run.source, run);
  return rule != nullptr ? *rule : nothing;
}

/// Takes the network from columns, from the model's name or from the job of all rows.
std::string take_network(const LayoutRun& run, const LayoutRules& rules, const StatedForAll& stated,
                         const NamedThings& named, models::Job& job) {
  for (const auto& [column, text] : {std::pair("model", run.model), std::pair("task", run.task)}) {
    if (text.empty()) continue;
    if (const LayoutRule* rule = rule_of(rules, column, text, run); rule != nullptr && !rule->refused.empty())
      return rule->refused;
  }
  if (run.layers > 0 || run.hidden > 0 || run.heads > 0) {
    if (run.layers < 1 || run.hidden < 1 || run.heads < 1) return "layers, hidden or heads is not stated";
    if (run.experts > 0) return "the number of experts per token is not stated";
    if (run.hidden % run.heads != 0) return "the heads do not divide the hidden size";
    if (run.kv_heads > 0 && run.heads % run.kv_heads != 0) return "the KV heads do not divide the heads";
    job.architecture = network_of(run, source_rule(run, rules));
    job.architecture.max_positions = std::max(run.sequence, job.training.sequence);
    if (job.architecture.intermediate < 1) return "ffn, the inner size of the MLP, is not stated";
    if (job.architecture.vocabulary < 1) return "vocab is not stated";
  } else if (!run.model.empty()) {
    const LayoutRule* rule = rule_of(rules, "model", run.model, run);
    job.architecture = rule != nullptr && rule->network ? *rule->network : named.model(run.model);
  } else if (!stated.job) {
    return "the model is not stated";
  }
  return "";
}

/// Takes the machine from columns, options, words for GPUs or the job, and then the number of nodes.
std::string take_cluster(const LayoutRun& run, const LayoutRules& rules, const StatedForAll& stated,
                         const NamedThings& named, topology::Cluster& cluster) {
  std::string name = first_of(run.instance, stated.instance);
  if (name.empty() && !run.gpu.empty()) {
    const Meaning gpu = meaning_of(rules, "gpu", run.gpu, run);
    if (!gpu.refused.empty())
      return gpu.rule != nullptr ? gpu.refused : gpu.refused + "; an instance states the machine";
    name = gpu.rule->instance;
  }
  if (!name.empty()) {
    cluster.instance = named.instance(name);
    cluster.oversubscription = cluster.instance.oversubscription;
  } else if (!stated.job) {
    return "the instance is not stated";
  }
  const std::int64_t degrees = saturating_product(
      {run.tensor_parallel, run.pipeline_parallel, run.context_parallel, run.data_parallel});
  const std::int64_t gpus = run.gpus > 0 ? run.gpus : run.strategy.empty() ? degrees : 0;
  if (run.nodes > 0) {
    if (run.nodes > topology::kMostNodes) return fmt::format("more than {} nodes", topology::kMostNodes);
    cluster.nodes = run.nodes;
  } else if (gpus > 0) {
    const std::int64_t most = std::int64_t{topology::kMostNodes} * cluster.instance.cores();
    cluster.nodes = gpus <= most ? nodes_of(static_cast<int>(gpus), cluster.instance) : 0;
    if (cluster.nodes == 0) return "the devices do not make whole nodes";
  } else if (!stated.job) {
    return "nodes, gpus or dp is not stated";
  }
  return "";
}

/// Keys of the words of a row: by rules, else as the grammar writes them.
std::string take_words(const LayoutRun& run, const LayoutRules& rules, std::string& keys) {
  struct Words {
    std::string_view column, key;
    const std::string& text;
  };
  for (const Words& w :
       {Words{"sharding", "shard", run.sharding}, Words{"recompute", "recompute", run.recompute},
        Words{"precision", "precision", run.precision}}) {
    if (w.text.empty()) continue;
    const Meaning meaning = meaning_of(rules, w.column, w.text, run);
    if (meaning.refused.empty())
      put_keys(keys, meaning.keys);
    else if (meaning.rule == nullptr && w.text.find_first_of(",= ") == std::string::npos)
      put_keys(keys, fmt::format("{}={}", w.key, w.text));
    else
      return meaning.refused;
  }
  return "";
}

std::string take_strategy(const LayoutRun& run, const LayoutRules& rules, const StatedForAll& stated,
                          OwnJob& out) {
  if (!run.strategy.empty()) {
    out.strategy = run.strategy;
    return "";
  }
  if (run.micro_batch < 1 && !stated.job) return "micro_batch is not stated";
  for (const int degree : {run.tensor_parallel, run.pipeline_parallel, run.virtual_pipeline,
                           run.context_parallel, run.expert_parallel}) {
    if (degree < 1) return "a degree below 1";
  }
  std::string keys;
  if (out.framework.empty()) put_keys(keys, source_rule(run, rules).keys);
  std::string refused = take_words(run, rules, keys);
  out.strategy = fmt::format("tp={},pp={},vpp={},cp={},ep={}", run.tensor_parallel, run.pipeline_parallel,
                             run.virtual_pipeline, run.context_parallel, run.expert_parallel);
  if (run.data_parallel > 0) out.strategy += fmt::format(",dp={}", run.data_parallel);
  if (run.micro_batch > 0) out.strategy += fmt::format(",mbs={}", run.micro_batch);
  out.strategy += keys;
  return refused;
}

}  // namespace

bool is_own(const LayoutRun& run, const LayoutRules& rules, const StatedForAll& stated) {
  return stated.job || !stated.framework.empty() || !stated.instance.empty() || !stated.release.empty() ||
         !run.strategy.empty() || !run.framework.empty() || !run.instance.empty() || !run.release.empty() ||
         rule_of(rules, "source", run.source, run) == nullptr;
}

OwnJob own_job(const LayoutRun& run, const LayoutRules& rules, const StatedForAll& stated,
               const NamedThings& named) {
  OwnJob out;
  if (!run.faults.empty()) {
    out.refused = "the row cannot be read";
    return out;
  }
  if (stated.job) out.job = *stated.job;
  if (run.sequence > 0) out.job.training.sequence = run.sequence;
  if (run.global_batch > 0) out.job.training.global_batch = run.global_batch;
  out.framework = first_of(run.framework, stated.framework);
  out.memory = source_rule(run, rules).memory;
  if (const std::string& release = first_of(run.release, stated.release); !release.empty())
    out.job.software.release = release;
  out.refused = take_network(run, rules, stated, named, out.job);
  if (out.refused.empty() && out.job.training.sequence < 1) out.refused = "seq is not stated";
  if (out.refused.empty() && out.job.training.global_batch < 1) out.refused = "global_batch is not stated";
  if (out.refused.empty()) out.refused = take_cluster(run, rules, stated, named, out.job.cluster);
  if (out.refused.empty()) out.refused = take_strategy(run, rules, stated, out);
  return out;
}

}  // namespace trnplan::calibrate
