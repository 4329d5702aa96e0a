// Versions of NxDT: the releases of the Neuron SDK that contain each, and the features that each was the
// first or last to have, as far as they are dated. Two tables: add a row for a version or feature once its
// date is known.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"

namespace trnplan::targets {

/// A version, and the releases of the Neuron SDK that contain it.
struct NxdtVersion {
  std::string_view version;                      ///< "1.4"; "1.1" for 1.1.1
  std::string_view first_release, last_release;  ///< "2.27", "2.31"
  std::string_view package;                      ///< for pip, from the last release: "1.4.1"
};

/// Feature that only some versions have.
struct DatedFeature {
  std::string_view name;   ///< for a message: "precision autocast"
  std::string_view since;  ///< first version that has it; "" = the oldest known
  std::string_view until;  ///< last version that has it; "" = the newest
};

/// Version whose sources the rules of this program were read from.
inline constexpr std::string_view kVersionRead = "1.6";

/// Oldest first.
[[nodiscard]] const std::vector<NxdtVersion>& nxdt_versions();

/// Row of "1.4" or "1.4.0"; nullptr if the version is unknown.
[[nodiscard]] const NxdtVersion* find_version(std::string_view version);
/// Version in a release of the Neuron SDK; nullptr if unknown.
[[nodiscard]] const NxdtVersion* version_of_release(std::string_view release);
/// Version that the software states, else that of its release.
[[nodiscard]] const NxdtVersion* version_of(const models::Software& software);

/// Reason why a version cannot use the feature; "" if it can, or if nothing says otherwise.
[[nodiscard]] std::string lacks(const NxdtVersion& version, const DatedFeature& feature);

inline constexpr DatedFeature kAutocast{"precision autocast", "1.3", ""};
inline constexpr DatedFeature kContextParallel{"context parallel", "1.3", ""};
inline constexpr DatedFeature kOrpo{"ORPO", "1.3", ""};
inline constexpr DatedFeature kLora{"LoRA", "1.2", ""};
inline constexpr DatedFeature kReduceDtype{"a dtype of the tensor-parallel collectives", "1.2", ""};
inline constexpr DatedFeature kLlmTraining{"--distribution-strategy=llm-training", "", "1.1"};

/// Sentences on what is unknown or inconsistent about the software: a version that is in no table, or one
/// that did not come with the release. Empty if all is known or nothing stated. Never a reason to refuse
/// anything.
[[nodiscard]] std::vector<std::string> version_doubts(const models::Software& software);

}  // namespace trnplan::targets
