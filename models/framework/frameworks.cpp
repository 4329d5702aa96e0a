// The table of all frameworks.
#include <array>
#include <stdexcept>
#include <string>

#include "models/framework/framework.h"
#include "models/framework/nxd.h"
#include "models/framework/overlapped.h"

namespace trnplan::models {

namespace {

const Nxd kNxd;
const Overlapped kOverlapped;

/// The default first.
const std::array<const Framework*, 2> kFrameworks = {&kNxd, &kOverlapped};

const Framework& named(std::string_view name) {
  for (const Framework* f : kFrameworks) {
    if (f->name() == name) return *f;
  }
  throw std::invalid_argument("there is no framework \"" + std::string(name) + "\"");
}

}  // namespace

const Framework& framework_of(const Strategy& s) {
  return s.framework.empty() ? *kFrameworks.front() : named(s.framework);
}

std::string_view stated_framework(std::string_view name) {
  const Framework& f = named(name);
  return &f == kFrameworks.front() ? std::string_view{} : f.name();
}

std::vector<std::string_view> framework_names() {
  std::vector<std::string_view> names;
  for (const Framework* f : kFrameworks) names.push_back(f->name());
  return names;
}

}  // namespace trnplan::models
