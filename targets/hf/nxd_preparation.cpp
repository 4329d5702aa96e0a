#include "targets/hf/nxd_preparation.h"

#include <fmt/format.h>

#include <algorithm>

namespace trnplan::targets {

namespace {

/// Vocabularies of Llama 2 and 3, which select the version of the script, and the width to which it
/// tokenises.
struct DataSet {
  int version;
  std::int64_t vocabulary, width;
  const char* folder;
};
constexpr DataSet kDataSets[] = {{2, 32000, 4096, "wikicorpus_llama2_tokenized_4k"},
                                 {3, 128256, 8192, "wikicorpus_llama3_tokenized_8k"}};

/// "torch-neuronx==2.9.0.2.12.22436".
std::string pinned(const models::NeuronRelease* release, std::string_view package) {
  const std::string version = models::package_version(release, package);
  return std::string(package) + (version.empty() ? "" : "==" + version);
}

}  // namespace

std::string pip_install() {
  return "pip install --extra-index-url \"${TRNPLAN_PIP_INDEX:?the address of the Python packages of Neuron, "
         "which its setup guide names}\" ";
}

std::string torch_packages(const models::NeuronRelease* release) {
  return pinned(release, "neuronx-cc") + ' ' + pinned(release, "torch-neuronx") + ' ' +
         pinned(release, "libneuronxla");
}

std::string neuron_packages(const models::NeuronRelease* release) {
  return torch_packages(release) + ' ' + pinned(release, "neuronx-distributed");
}

void put_release(planner::Preparation& p, const planner::Target& target, const models::Job& job,
                 std::string_view newest) {
  const models::NeuronRelease* release = planner::pinned_release(target, job);
  std::string python = release == nullptr ? std::string() : release->python;
  if (!newest.empty() &&
      (python.empty() || models::release_numbers(newest) < models::release_numbers(python)))
    python = newest;
  p.python = "python" + (python.empty() ? std::string("3") : python);
  if (release != nullptr) p.image = release->image;
  if (std::string doubt = planner::release_doubt(target, job); !doubt.empty())
    p.remarks.push_back(std::move(doubt));
}

void put_conversion(planner::Preparation& p, const std::string& script, const models::Job& job,
                    const models::Strategy& s) {
  const models::Architecture& a = job.architecture;
  std::string degrees =
      fmt::format("--hw_backend {} --config \"$plan/config.json\" --n_layers {} --tp_size {} --pp_size {}",
                  job.cluster.instance.traits.logical_cores ? "trn2" : "trn1", a.layers, s.tensor_parallel,
                  s.pipeline_parallel);
  if (s.virtual_pipeline > 1) degrees += fmt::format(" --virtual_pp_size {}", s.virtual_pipeline);
  // If every query has its own heads, the run has no grouped layer and copies nothing.
  if (a.grouped_queries()) {
    degrees += fmt::format(" --kv_size_multiplier {} --qkv_linear True", std::max(1, s.kv_replicator));
    if (job.software.fuse_qkv) degrees += " --fuse_qkv True";
  }
  const std::string command = fmt::format("python3 \"$TRNPLAN_CODE/{}\" {}", script, degrees);
  p.from_hf = {command +
               " --hf_model_name \"$from\" --output_dir \"$to\" --save_xser True "
               "--convert_from_full_state"};
  p.to_hf = {command +
             " --input_dir \"$from\" --output_dir \"$to\" --load_xser True --convert_to_full_state"};
}

void put_data_set(planner::Preparation& p, const std::string& folder, const models::Job& job) {
  const auto known = std::find_if(std::begin(kDataSets), std::end(kDataSets), [&](const DataSet& d) {
    return d.vocabulary == job.architecture.vocabulary;
  });
  if (known == std::end(kDataSets)) {
    p.remarks.push_back(
        "get_dataset.py supports Llama 2 and 3 only: for this vocabulary tokenise with your own script.");
    return;
  }
  p.data.emplace_back(
      "cp -- \"${TRNPLAN_TOKENIZER:?the folder with the files of the tokenizer}\"/* .   # get_dataset.py "
      "looks for the tokenizer in its working folder");
  p.data.push_back(
      fmt::format("python3 \"$TRNPLAN_CODE/{}/get_dataset.py\" --llama-version {}", folder, known->version));
  p.data.push_back(fmt::format("echo \"TRNPLAN_DATA is $HOME/examples_datasets/{}\"", known->folder));
  if (job.training.sequence == known->width) return;
  p.remarks.push_back(
      fmt::format("get_dataset.py makes sequences of {} tokens, the plan has {}: change its width, and keep "
                  "the columns input_ids, attention_mask and labels.",
                  known->width, job.training.sequence));
}

}  // namespace trnplan::targets
