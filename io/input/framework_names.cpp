#include "io/input/framework_names.h"

#include <vector>

#include "io/input/job_sections.h"
#include "models/framework/framework.h"
#include "targets/registry.h"
#include "text/diagnostic.h"

namespace trnplan::io {

namespace {

std::string near_or_all(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest(name, known);
  return near.empty() ? "use one of: " + joined(known) : "did you mean " + near + "?";
}

}  // namespace

std::string loop_fix(const std::string& name) {
  const planner::Target* target = targets::find(name);
  if (target != nullptr && !target->framework().empty())
    return "write " + std::string(target->framework()) + ", the training loop of " + name;
  const std::vector<std::string_view> known = models::framework_names();
  return near_or_all(name, {known.begin(), known.end()});
}

std::string stack_fix(const std::string& name) {
  for (const planner::Target* target : targets::all()) {
    if (target->framework() == name && !name.empty())
      return "write " + std::string(target->name()) +
             ", which trains with that loop, or pin: {framework: " + name + "}";
  }
  return near_or_all(name, targets::names());
}

}  // namespace trnplan::io
