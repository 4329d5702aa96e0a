#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "io/input/job_sections.h"
#include "models/framework/strategy_keys.h"
#include "targets/nxdt/nxdt_config.h"
#include "targets/nxdt/nxdt_yaml.h"

namespace trnplan::io {

namespace {

namespace fs = std::filesystem;
using models::Pin;

/// Name without its spelling: "meta-llama/Meta-Llama-3.1-8B", "Llama-3.1-8B" and "llama3.1-8b" are one model.
std::string folded_model(std::string_view name) {
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  std::string out = folded_name(name);
  if (out.starts_with("metallama")) out.erase(0, 4);
  if (out.ends_with("hf")) out.erase(out.size() - 2);
  return out;
}

std::optional<std::string> catalogue_name(const std::string& wanted, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), wanted) != known.end()) return wanted;
  const auto same = [&](const std::string& k) { return folded_model(k) == folded_model(wanted); };
  const auto found = std::find_if(known.begin(), known.end(), same);
  if (found == known.end()) return std::nullopt;
  return *found;
}

void take_notes(JobDraft& d, const fs::path& file, const std::vector<std::string>& notes) {
  for (const std::string& n : notes) d.note(file.string() + ": " + n, "model");
}

/// Pins without data parallel, which follows from the cluster, which the job may change.
Pin pins_of(const models::Strategy& s) {
  Pin pin;
  for (const models::StrategyKey& key : models::strategy_keys()) {
    if (key.pinned == models::StrategyKey::Pinned::by_job && key.stored != models::StrategyKey::Stored::newer)
      key.pin(pin, key.stated(s));
  }
  pin.data_parallel.reset();
  return pin;
}

void read_nxdt_model(JobDraft& d, const fs::path& file) {
  d.from_nxdt = true;
  const targets::NxdtConfig config = targets::read_nxdt(file, d.files);
  ArchitectureReading reading = architecture_of_nxdt(config, d.catalog, d.files);
  take_notes(d, file, reading.notes);
  const targets::NxdtReading said = targets::interpret(config, reading.architecture);
  d.job().architecture = std::move(reading.architecture);
  d.job().training = said.training;
  d.job().cluster.nodes = std::min(said.nodes, topology::kMostNodes);
  d.job().software = said.software;
  d.job().pin = pins_of(said.strategy);
  d.devices = said.devices;
  d.logical_cores = targets::describes_trn2(config);
  for (const std::string& feature : said.not_modelled) {
    d.add({file.string()}, "", feature + " is not modelled yet, so a plan would be for a different job",
          "use trnplan check on this file, or describe plain pre-training in a job.yaml");
  }
  d.note(file.string() +
             ": its whole strategy is pinned; to search around it, name its model and training in a job.yaml",
         "pinned");
  if (!said.strategy.pipeline_cuts.empty())
    d.note(file.string() + ": pipeline_cuts are not pinned", "pinned");
}

/// Refuses a model with known parameters but without a timed step.
void refuse_untimed(JobDraft& d, const models::Architecture& a, const Node& config) {
  if (a.blocks.untimed.empty()) return;
  std::string counts = fmt::format("{:.2f}B parameters", static_cast<double>(models::parameters(a)) / 1e9);
  if (a.experts > 0)
    counts += fmt::format(", {:.2f}B of them used per token",
                          static_cast<double>(models::active_parameters(a)) / 1e9);
  const Node* type = config.find("model_type");
  d.add(
      type != nullptr ? type->at : config.at, "model_type",
      fmt::format("this model is read and counted ({}), but neither its memory nor its step is modelled: {}",
                  counts, a.blocks.untimed),
      "plan a model without them: Llama, Mistral, Qwen2.5, Qwen3, Mixtral, Qwen3-MoE, GPT-OSS");
}

void read_model_file(JobDraft& d, const fs::path& file) {
  const Node node = parse_document(d.files.text(file), file.string());
  if (targets::looks_like_nxdt(node)) {
    read_nxdt_model(d, file);
    return;
  }
  ArchitectureReading reading = read_hf_config(file, d.files);
  refuse_untimed(d, reading.architecture, node);
  d.job().architecture = std::move(reading.architecture);
  take_notes(d, file, reading.notes);
}

}  // namespace

void read_job_model(JobDraft& d, MapReader& map) {
  const std::string name = map.required_text("model");
  const Node* node = d.root.find("model");
  if (node == nullptr || name.empty()) return;
  const std::vector<std::string> known = d.catalog.models();
  if (const auto entry = catalogue_name(name, known); entry && !d.files.has(d.beside_job(name))) {
    d.collect([&] { d.job().architecture = d.catalog.architecture(*entry); });
    return;
  }
  fs::path file = d.beside_job(name);
  if (d.files.has(file / "config.json")) file /= "config.json";
  if (d.files.has(file)) {
    d.collect([&] { read_model_file(d, file); });
    return;
  }
  const std::string near = nearest(name, known);
  d.add(node->at, "model", in_quotes(name) + " is neither a known model nor a file",
        (near.empty() ? "" : "did you mean \"" + near + "\"? ") + "Known models: " + joined(known) +
            "; or give the path of a config.json or NxDT YAML, relative to the job");
}

std::optional<std::string> known_model(const std::string& name, const Catalog& catalog) {
  return catalogue_name(name, catalog.models());
}

}  // namespace trnplan::io
