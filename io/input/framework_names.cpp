#include "io/input/framework_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "io/input/job_sections.h"
#include "models/framework/framework.h"
#include "targets/registry.h"
#include "text/diagnostic.h"

namespace trnplan::io {

namespace {

/// `others`: the other key, which may have the word.
std::string near_or_all(const std::string& name, const std::vector<std::string>& known,
                        const std::string& others) {
  const std::string near = nearest(name, known);
  return near.empty() ? "use one of: " + joined(known) + "; " + others : "did you mean " + near + "?";
}

}  // namespace

std::string loop_fix(const std::string& name) {
  const std::vector<std::string_view> known = models::framework_names();
  const planner::Target* target = targets::find(name);
  if (target == nullptr) {
    return near_or_all(
        name, {known.begin(), known.end()},
        "a stack (" + joined(targets::names()) + ") is named by software.framework or --target of plan");
  }
  const std::string_view loop = target->framework().empty() ? known.front() : target->framework();
  return "write " + std::string(loop) + ", the training loop of " + name +
         ", whose own name is software.framework: " + name + ", or --target of plan";
}

std::optional<Diagnostic> loop_fault(std::string_view loop, const topology::Instance& machine, SourcePos at,
                                     std::string key) {
  const auto named = [](std::string_view name) -> const models::Framework& {
    models::Strategy s;
    s.framework = models::stated_framework(name);
    return models::framework_of(s);
  };
  const models::Framework& own = named(loop.empty() ? models::framework_names().front() : loop);
  if (own.trains_on(machine.traits)) return std::nullopt;
  std::vector<std::string> others;
  for (const std::string_view name : models::framework_names())
    if (named(name).trains_on(machine.traits)) others.emplace_back(name);
  return Diagnostic{std::move(at), std::move(key),
                    fmt::format("{} does not train on {}", own.name(), machine.name),
                    "leave it out, or use one of: " + joined(others)};
}

std::string stack_fix(const std::string& name) {
  for (const planner::Target* target : targets::all()) {
    const std::vector<std::string_view> own = target->loops();
    if (!name.empty() && std::find(own.begin(), own.end(), name) != own.end())
      return fmt::format(
          "write {}, which trains with that loop, or pin: {{framework: {}}}; in a strategy write "
          "framework={}",
          target->name(), name, name);
  }
  const std::vector<std::string_view> loops = models::framework_names();
  return near_or_all(name, targets::names(),
                     "a training loop (" + joined({loops.begin(), loops.end()}) +
                         ") is named by pin.framework, or framework= in a strategy");
}

}  // namespace trnplan::io
