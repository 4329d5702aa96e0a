#include "io/input/instance_names.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/input/job_sections.h"
#include "text/diagnostic.h"
#include "text/parse.h"

namespace trnplan::io {

NamedType type_called(const std::string& name, const Catalog& catalog) {
  NamedType found;
  int most = 0;
  for (const std::string& type : catalog.instances()) {
    if (type == name) return {name, {}};
    if (name.empty() || !type.starts_with(name + ".")) continue;
    found.also.push_back(type);
    const int chips = catalog.instance(type).chips;
    if (chips < most || (chips == most && type.size() >= found.name.size())) continue;
    most = chips;
    found.name = type;
  }
  std::erase(found.also, found.name);
  return found;
}

std::string whole_name(const std::string& name, const Catalog& catalog) {
  const std::string whole = type_called(name, catalog).name;
  return whole.empty() ? name : whole;
}

std::string also_called(const std::string& name, const NamedType& type) {
  if (type.also.empty()) return "";
  return fmt::format("{} is read as {}; also there: {}", name, type.name, fmt::join(type.also, ", "));
}

std::string whole_names(const std::string& list, const Catalog& catalog, std::vector<std::string>& notes) {
  std::string all;
  for (const std::string& part : comma_parts(list)) {
    const NamedType type = type_called(part, catalog);
    all += (all.empty() ? "" : ",") + (type.name.empty() ? part : type.name);
    if (std::string note = also_called(part, type); !note.empty()) notes.push_back(std::move(note));
  }
  return all;
}

std::string instance_fix(const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::string> longer;
  for (const std::string& type : known) {
    if (!name.empty() && type.starts_with(name)) longer.push_back(type);
  }
  if (!longer.empty()) return (longer.size() == 1 ? "write " : "write one of: ") + joined(longer);
  const std::string near = nearest(name, known);
  return near.empty() ? "use one of: " + joined(known) : "did you mean " + in_quotes(near) + "?";
}

}  // namespace trnplan::io
