// Releases of the Neuron SDK and the versions of packages that make one up.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan::models {

/// One release, a patch counts as its own. Names and versions are plain: letters, digits, '.', '-', ':' and '_'.
struct NeuronRelease {
  std::string release;  ///< "2.28.1"
  std::string python;   ///< of AWS's image for it, "3.12"
  /// "torch-neuronx" to "2.9.0.2.12.22436"; names as pip and apt have them.
  std::map<std::string, std::string, std::less<>> packages;
  std::string image;    ///< of AWS's deep learning containers, without its registry; "" = there is none
  std::string nxd_tag;  ///< of the clone of neuronx-distributed; "" = it has none
};

/// Software that trains on Trainium, which several targets may share.
struct NeuronStack {
  std::string name;     ///< "pytorch-xla"
  std::string release;  ///< that it is run on where a job states none
  /// That it is published no longer; what follows it where PyTorch itself runs on the machine, and where not. "" = nothing to say.
  std::string ending, after_on_native_pytorch, after_elsewhere;
};

struct NeuronReleases {
  std::vector<NeuronRelease> releases;  ///< oldest first
  std::vector<NeuronStack> stacks;

  /// nullptr where there is none of that name.
  [[nodiscard]] const NeuronStack* stack(std::string_view name) const;
};

/// Release `wanted`, of "2.28" its last patch; nullptr where it is not known.
[[nodiscard]] const NeuronRelease* find_release(const NeuronReleases& known, std::string_view wanted);
/// That, else the newest before it, else the oldest; nullptr where none is known.
[[nodiscard]] const NeuronRelease* nearest_release(const NeuronReleases& known, std::string_view wanted);

/// "2.9.0.2.12.22436"; "" where there is no release, or it lacks the package.
[[nodiscard]] std::string package_version(const NeuronRelease* release, std::string_view package);

/// "2.28" to {2, 28}: its numbers; those that are none are -1. Two are compared as they are.
[[nodiscard]] std::vector<int> release_numbers(std::string_view text);

}  // namespace trnplan::models
