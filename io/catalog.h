// The catalogue: instance types, model architectures and profiles as JSON files, each number with its source.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/document.h"
#include "models/architecture.h"
#include "models/profile.h"
#include "topology/instance.h"

namespace trnplan::io {

/// A folder with instances/NAME.json, models/NAME.json and profiles/NAME.json. Reads a file each time it is
/// asked.
class Catalog {
 public:
  explicit Catalog(std::filesystem::path folder);
  /// $TRNPLAN_CATALOG, else ../share/trnplan/catalog beside the running program, else the folder given at
  /// build time. Throws InputError when the variable names no folder, or when none of them exists.
  static Catalog standard();

  const std::filesystem::path& folder() const { return folder_; }
  /// Names without ".json", ascending.
  std::vector<std::string> instances() const;
  std::vector<std::string> models() const;

  /// Throws InputError for an unknown name (with the nearest known one) or a damaged file.
  topology::Instance instance(std::string_view name) const;
  models::Architecture architecture(std::string_view name) const;
  /// Its `base` is its own name: whoever builds on it needs no other.
  models::Profile profile(std::string_view name) const;
  /// The file of a name in `kind` ("measured-collectives.csv").
  std::filesystem::path file(std::string_view name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

/// The same from a parsed file, for tests and for files outside the catalogue. Throw InputError with all
/// faults.
topology::Instance instance_from(const Node& node);
models::Architecture architecture_from(const Node& node);
/// A profile that names a `base` takes what it does not state from that profile of `catalog`. Faults about
/// the base stand at its place in the file.
models::Profile profile_from(const Node& node, const Catalog* catalog = nullptr);

/// What a model file may state at most: far above any real model, and small enough that counts of parameters
/// fit 64 bits.
struct ModelLimits {
  int hidden = 1 << 18;
  int layers = 1 << 12;
  int intermediate = 1 << 21;
  int heads = 1 << 16;
  int attention = 1 << 21;  ///< heads x head_dim
  int vocabulary = 1 << 24;
  int positions = 1 << 28;
  int experts = 1 << 9;
};
inline constexpr ModelLimits model_limits{};

/// Fills kv_heads (as many as heads) and head_dim (hidden / heads) where they are 0 and records a fault when
/// the heads do not divide. Does nothing while heads or hidden are unknown.
void complete_heads(models::Architecture& a, MapReader& map, std::string_view heads_key,
                    std::string_view kv_key);

/// A name without its spelling: lower case; '-', '_' and spaces dropped. A dot becomes a letter, so that
/// "llama3.1-8b" and "llama3-18b" stay two names.
std::string folded_name(std::string_view name);

}  // namespace trnplan::io
