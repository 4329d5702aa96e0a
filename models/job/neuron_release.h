// Releases of the Neuron SDK and the versions of packages that make one up.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan::models {

/// One release; a patch is a release of its own. Names and versions are plain: letters, digits, '.', '-', ':'
/// and '_'.
struct NeuronRelease {
  std::string release;  ///< "2.28.1"
  std::string python;   ///< Python version in AWS's image of the release: "3.12"
  /// Names in pip and apt, with versions: "torch-neuronx" to "2.9.0.2.12.22436".
  std::map<std::string, std::string, std::less<>> packages;
  std::string image;    ///< AWS deep learning container, without its registry; "" = none
  std::string nxd_tag;  ///< tag of the clone of neuronx-distributed; "" = none
};

/// Software that trains on Trainium, which several targets may share.
struct NeuronStack {
  std::string name;     ///< "pytorch-xla"
  std::string release;  ///< default release for jobs that state none
  /// Text on the end of its publication, and on its successor where PyTorch itself runs on the machine and
  /// elsewhere. "" = no text.
  std::string ending, after_on_native_pytorch, after_elsewhere;
};

struct NeuronReleases {
  std::vector<NeuronRelease> releases;  ///< oldest first
  std::vector<NeuronStack> stacks;

  /// The stack of that name, or nullptr.
  [[nodiscard]] const NeuronStack* stack(std::string_view name) const;
};

/// Release `wanted`; for "2.28" its last patch; nullptr where it is unknown.
[[nodiscard]] const NeuronRelease* find_release(const NeuronReleases& known, std::string_view wanted);
/// Release `wanted`, else the newest before it, else the oldest; nullptr where none is known.
[[nodiscard]] const NeuronRelease* nearest_release(const NeuronReleases& known, std::string_view wanted);

/// The version of a package, "2.9.0.2.12.22436"; "" without a release, or when it lacks the package.
[[nodiscard]] std::string package_version(const NeuronRelease* release, std::string_view package);

/// The numbers of a release, for comparison: "2.28" gives {2, 28}. A part that is not a number gives -1.
[[nodiscard]] std::vector<int> release_numbers(std::string_view text);

}  // namespace trnplan::models
