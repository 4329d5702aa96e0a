#include "models/job/neuron_release.h"

#include <algorithm>

#include "text/parse.h"

namespace trnplan::models {

std::vector<int> release_numbers(std::string_view text) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t dot = std::min(text.find('.', at), text.size());
    numbers.push_back(parse_whole(text.substr(at, dot - at)).value_or(-1));
    at = dot + 1;
  }
  return numbers;
}

const NeuronStack* NeuronReleases::stack(std::string_view name) const {
  const auto found =
      std::find_if(stacks.begin(), stacks.end(), [&](const NeuronStack& s) { return s.name == name; });
  return found == stacks.end() ? nullptr : &*found;
}

std::string package_version(const NeuronRelease* release, std::string_view package) {
  if (release == nullptr) return "";
  const auto found = release->packages.find(package);
  return found == release->packages.end() ? "" : found->second;
}

const NeuronRelease* find_release(const NeuronReleases& known, std::string_view wanted) {
  const std::vector<int> numbers = release_numbers(wanted);
  const NeuronRelease* found = nullptr;
  for (const NeuronRelease& r : known.releases) {
    const std::vector<int> own = release_numbers(r.release);
    if (own.size() >= numbers.size() && std::equal(numbers.begin(), numbers.end(), own.begin())) found = &r;
  }
  return found;
}

const NeuronRelease* nearest_release(const NeuronReleases& known, std::string_view wanted) {
  if (known.releases.empty()) return nullptr;
  if (const NeuronRelease* exact = find_release(known, wanted)) return exact;
  const std::vector<int> numbers = release_numbers(wanted);
  const NeuronRelease* nearest = &known.releases.front();
  for (const NeuronRelease& r : known.releases) {
    if (release_numbers(r.release) < numbers) nearest = &r;
  }
  return nearest;
}

}  // namespace trnplan::models
