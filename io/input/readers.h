// Files from a user: job.yaml, an HF config.json, the output of neuron-ls.
//
// A reader takes its file, and the files that one names, from `files`; the catalogue stays on disk.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "models/job/job.h"
#include "targets/nxdt/nxdt_config.h"
#include "topology/instance.h"

namespace trnplan::io {

/// A job and notes on reading it (for example that rope scaling is ignored).
struct JobReading {
  models::Job job;
  std::vector<std::string> notes;
  std::map<std::string, SourcePos> places;  ///< of values by key: "pin.tensor_parallel"
  std::optional<SourcePos> measured_row;  ///< of the table that states Job::all_reduce; absent: no table does
};

/// Reads job.yaml. `model` is a catalogue name, the path of an HF config.json, or of an NxDT YAML (then
/// training and pins come from that file unless the job states them); paths are relative to the job's folder.
/// Throws InputError with every fault: unknown or duplicate keys (with the nearest known key), missing keys,
/// values of the wrong kind or range, an unknown instance or model.
JobReading read_job(const std::filesystem::path& path, const Catalog& catalog, const Files& files = disk());
/// The same for a document that was read already; `path` is its own. Pins are those of the training loop that
/// the stack `target` runs; "" = the job's own.
JobReading job_from(Node root, const std::filesystem::path& path, const Catalog& catalog,
                    const Files& files = disk(), const std::string& target = "");
/// The catalogue's name of a model, in any spelling: llama3-8b for "meta-llama/Meta-Llama-3-8B".
std::optional<std::string> known_model(const std::string& name, const Catalog& catalog);

/// Reads an HF config.json: the model types of hf_dialects.h (or the class in `architectures`). Missing
/// required keys are faults. rope_scaling is ignored with a note. For some families only parameters are
/// counted, for the reason in `blocks.untimed`: a job of one is refused. This file does not state whether
/// flash attention runs: assumed on for Llama and its derivatives, off for the others.
struct ArchitectureReading {
  models::Architecture architecture;
  std::vector<std::string> notes;
};
ArchitectureReading read_hf_config(const std::filesystem::path& path, const Files& files = disk());
ArchitectureReading hf_config_from(const Node& node, std::string name);
/// The config.json of an architecture, ending in a newline: the text that it was read from, unchanged, or the
/// text for a model of the catalogue (LlamaConfig fields; those of its own model_type for GPT, BERT and
/// Mixtral). Reading it back gives the same architecture except its name and flash_attention. Throws
/// std::invalid_argument for a model that is only counted and comes from no file.
std::string hf_config_json(const models::Architecture& a);

/// The architecture that an NxDT config trains, with a note on every assumption. An HF config's shape comes
/// from the file that `model.model_config` names (relative to the YAML) if that can be read, else from the
/// catalogue model of the same hidden size with the best match of rope_theta, layers, positions and name;
/// statements of the YAML override both. A Megatron config states its shape itself, except the vocabulary.
/// Throws InputError if nothing fits or the shape contradicts itself.
ArchitectureReading architecture_of_nxdt(const targets::NxdtConfig& config, const Catalog& catalog,
                                         const Files& files = disk());

/// Reads `neuron-ls` output, the table or --json-output: the instance with chips, cores, memory and links as
/// printed. Values that it does not print (rates, NICs, prices) are those of the catalogue's instance of the
/// printed type, or of `instance` if the file names none. Faults: truncated table, rows that do not parse, a
/// device listed twice or missing, asymmetric links (chip 3 lists 7, 7 does not list 3).
topology::Instance read_neuron_ls(const std::filesystem::path& path, const Catalog& catalog,
                                  const std::string& instance, const Files& files = disk());

}  // namespace trnplan::io
