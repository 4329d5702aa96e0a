#include "targets/nxdt/nxdt_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/job/neuron_release.h"

namespace trnplan::targets {

namespace {

/// Major and minor number; {-1, -1} for text that is no version.
using Number = std::pair<int, int>;

Number number_of(std::string_view text) {
  const std::vector<int> numbers = models::release_numbers(text);
  return numbers.size() >= 2 && numbers[0] >= 0 && numbers[1] >= 0 ? Number{numbers[0], numbers[1]}
                                                                   : Number{-1, -1};
}

}  // namespace

/// Up to 2.28 from the manifest (aws-neuron/aws-neuron-sdk@81ce03ae:src/helperscripts/n2-manifest.json),
/// which contains none after it; then from the notes, by which 1.7.0 stays until 2.31, the last
/// (release-notes/components/nxd-training.rst there). They name 1.6.0 for 2.27, while manifest and image have
/// 1.7.0. 1.6.0 dates from 2025-09-22 (aws-neuron/neuronx-distributed-training@9169aa03, the last public
/// version).
const std::vector<NxdtVersion>& nxdt_versions() {
  static const std::vector<NxdtVersion> versions = {
      {"1.1", "2.21", "2.21", "1.1.1"}, {"1.2", "2.22", "2.22", "1.2.0"}, {"1.3", "2.23", "2.23", "1.3.0"},
      {"1.4", "2.24", "2.24", "1.4.1"}, {"1.5", "2.25", "2.25", "1.5.0"}, {"1.6", "2.26", "2.26", "1.6.0"},
      {"1.7", "2.27", "2.31", "1.7.0"}};
  return versions;
}

namespace {

/// A row with its texts as numbers: a search asks for a version with every strategy.
struct Numbered {
  const NxdtVersion* row;
  Number version, first_release, last_release;
};

const std::vector<Numbered>& numbered_versions() {
  static const std::vector<Numbered> all = [] {
    std::vector<Numbered> numbered;
    for (const NxdtVersion& v : nxdt_versions())
      numbered.push_back({&v, number_of(v.version), number_of(v.first_release), number_of(v.last_release)});
    return numbered;
  }();
  return all;
}

}  // namespace

const NxdtVersion* find_version(std::string_view version) {
  const Number wanted = number_of(version);
  for (const Numbered& v : numbered_versions()) {
    if (v.version == wanted) return v.row;
  }
  return nullptr;
}

const NxdtVersion* version_of_release(std::string_view release) {
  const Number wanted = number_of(release);
  for (const Numbered& v : numbered_versions()) {
    if (v.first_release <= wanted && wanted <= v.last_release) return v.row;
  }
  return nullptr;
}

const NxdtVersion* version_of(const models::Software& software) {
  return software.version.empty() ? version_of_release(software.release) : find_version(software.version);
}

std::string lacks(const NxdtVersion& version, const DatedFeature& feature) {
  const Number own = number_of(version.version);
  if (!feature.since.empty() && own < number_of(feature.since)) {
    return fmt::format("{} came with NxDT {} (Neuron {}), {} does not have it", feature.name, feature.since,
                       find_version(feature.since)->first_release, version.version);
  }
  if (!feature.until.empty() && number_of(feature.until) < own) {
    return fmt::format("{} was dropped after NxDT {}, {} does not have it", feature.name, feature.until,
                       version.version);
  }
  return "";
}

std::vector<std::string> version_doubts(const models::Software& s) {
  std::vector<std::string> doubts;
  const NxdtVersion* version = version_of(s);
  if (version == nullptr) {
    if (!s.version.empty()) {
      doubts.push_back(
          fmt::format("NxDT {} is not known; the rules are those of {}", s.version, kVersionRead));
    } else if (!s.release.empty()) {
      doubts.push_back(fmt::format("it is not known which NxDT Neuron {} has; the rules are those of {}",
                                   s.release, kVersionRead));
    }
    return doubts;
  }
  const Number release = number_of(s.release);
  if (!s.version.empty() && !s.release.empty() &&
      (release < number_of(version->first_release) || number_of(version->last_release) < release)) {
    const bool one = version->first_release == version->last_release;
    doubts.push_back(
        fmt::format("NxDT {} came with Neuron {}{}, not with {}", version->version, version->first_release,
                    one ? std::string() : fmt::format(" to {}", version->last_release), s.release));
  }
  return doubts;
}

}  // namespace trnplan::targets
