// Versions of NxDT: with which Neuron SDK each came, and what it was the first or the last to have, as far as that is
// dated. Two tables; a version or feature that gets a date is a row.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"

namespace trnplan::targets {

/// A version and the releases of the Neuron SDK that have it.
struct NxdtVersion {
  std::string_view version;                      ///< "1.4"; of 1.1.1 "1.1"
  std::string_view first_release, last_release;  ///< "2.27", "2.31"
  std::string_view package;                      ///< of pip, the one that the last release has: "1.4.1"
};

/// What not every version has.
struct DatedFeature {
  std::string_view name;   ///< for a message: "precision autocast"
  std::string_view since;  ///< the first version that has it; "" = as far back as is known
  std::string_view until;  ///< the last one; "" = all that follow
};

/// That of the rules of this program: the sources were read at its tag.
inline constexpr std::string_view kVersionRead = "1.6";

/// Oldest first.
[[nodiscard]] const std::vector<NxdtVersion>& nxdt_versions();

/// The row of "1.4" or "1.4.0"; nullptr where nothing is known of that version.
[[nodiscard]] const NxdtVersion* find_version(std::string_view version);
/// Of that release of the Neuron SDK; nullptr where it is not known which one that is.
[[nodiscard]] const NxdtVersion* version_of_release(std::string_view release);
/// What the software says of it: the version stated, else that of the release.
[[nodiscard]] const NxdtVersion* version_of(const models::Software& software);

/// Why that version cannot use the feature; "" where it can, or where nothing says otherwise.
[[nodiscard]] std::string lacks(const NxdtVersion& version, const DatedFeature& feature);

inline constexpr DatedFeature kAutocast{"precision autocast", "1.3", ""};
inline constexpr DatedFeature kContextParallel{"context parallel", "1.3", ""};
inline constexpr DatedFeature kOrpo{"ORPO", "1.3", ""};
inline constexpr DatedFeature kLora{"LoRA", "1.2", ""};
inline constexpr DatedFeature kReduceDtype{"a dtype of the tensor-parallel collectives", "1.2", ""};
inline constexpr DatedFeature kLlmTraining{"--distribution-strategy=llm-training", "", "1.1"};

/// What is not known of the software, or does not go together, in words: a version that is in no table, one that did
/// not come with the release. Empty where all is known or nothing stated. Never a reason to refuse anything.
[[nodiscard]] std::vector<std::string> version_doubts(const models::Software& software);

}  // namespace trnplan::targets
