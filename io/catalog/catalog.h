// The catalogue: instance types, model architectures and profiles as JSON files, each number with its source.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/catalog/hardware_settings.h"
#include "models/architecture/architecture.h"
#include "models/job/neuron_release.h"
#include "models/parameters/profile.h"
#include "models/uncertainty/measured_run.h"
#include "text/document.h"
#include "topology/instance.h"

namespace trnplan::io {

/// Sequence and batch with which a model was trained, as its `source` publishes them.
struct PublishedTraining {
  int sequence = 0, global_batch = 0;
  std::string source;
};

/// A folder with instances/NAME.json, models/NAME.json and profiles/NAME.json. Instances, models, defaults, tables and
/// document() are read once: copies share what they have read. Threads: any number.
class Catalog {
 public:
  explicit Catalog(std::filesystem::path folder);
  /// The folder $TRNPLAN_CATALOG, else ../share/trnplan/catalog next to the running program, else the folder
  /// given at build time. Throws InputError if the variable names no folder, or if none of them exists.
  static Catalog standard();

  /// This catalogue with changed hardware: its instances have the settings that their files have a key for.
  /// Throws InputError for a key that no file has.
  [[nodiscard]] Catalog with_hardware(const std::vector<HardwareSetting>& settings) const;
  /// Throws InputError if a setting has no key in the instance's file.
  void refuse_unset(const topology::Instance& instance) const;
  /// The numbers of the named instance that can be set, as they are.
  [[nodiscard]] std::vector<SettableNumber> settable(std::string_view name) const;

  const std::filesystem::path& folder() const { return folder_; }
  /// Names without ".json", ascending.
  std::vector<std::string> instances() const;
  std::vector<std::string> models() const;

  /// The named instance. Throws InputError for an unknown name (with the nearest known one) or a damaged
  /// file.
  topology::Instance instance(std::string_view name) const;
  models::Architecture architecture(std::string_view name) const;
  /// `training` of the model's file; nullopt if it has none.
  std::optional<PublishedTraining> training(std::string_view model) const;
  /// The type that is used if none is named.
  std::string default_instance() const;
  /// The model that is assumed if nothing says what ran.
  std::string default_model() const;
  /// Stacks that are searched if a job names none, each on machines that it trains on; the first is the usual
  /// one.
  std::vector<std::string> searched_stacks() const;
  /// The profile that is used if none is named; "" if the defaults state none.
  std::string default_profile() const;
  /// All types, the default first: the order in which they are guessed.
  std::vector<std::string> machines() const;
  /// The type with hosts that run so many ranks, of the default's kind of accelerator, the default before
  /// others; "" if there is none.
  std::string instance_of_ranks(int ranks, bool several_nodes) const;
  /// The named profile. Its `base` is its own name: a profile that builds on it needs no other.
  models::Profile profile(std::string_view name) const;
  /// Versions of the Neuron SDK that folders may pin; never nullptr.
  std::shared_ptr<const models::NeuronReleases> neuron_releases() const;
  /// The tree of a profile's file.
  Node profile_file(std::string_view name) const;
  /// A JSON file of the catalogue ("reliability.json"). Throws InputError.
  std::shared_ptr<const Node> document(std::string_view name) const;
  /// Rows of measured-runs.csv. Throws InputError.
  std::shared_ptr<const std::vector<models::MeasuredRun>> measured_runs() const;
  /// The path of a file in the catalogue ("measured-collectives.csv").
  std::filesystem::path file(std::string_view name) const { return folder_ / name; }

 private:
  struct Known;

  std::filesystem::path folder_;
  std::vector<HardwareSetting> hardware_;
  std::shared_ptr<Known> known_;
};

/// A name without its spelling: lower case; '-', '_' and spaces dropped. A dot becomes a letter, so that
/// "llama3.1-8b" and "llama3-18b" stay two names.
std::string folded_name(std::string_view name);

}  // namespace trnplan::io
