#include "io/input/instance_names.h"

#include "io/input/job_sections.h"
#include "text/diagnostic.h"

namespace trnplan::io {

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
