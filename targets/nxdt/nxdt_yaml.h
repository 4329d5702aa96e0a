// NxDT YAML files: text to NxdtConfig and back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "targets/nxdt/nxdt_config.h"
#include "text/document.h"

namespace trnplan::targets {

/// Reads an NxDT YAML, resolving OmegaConf interpolations: ${a.b}, relative ${.b} and ${..b}, ${multiply:A,
/// B}, and
/// ${oc.env:...} or unknown ones are kept as text. Throws InputError on syntax errors, duplicate keys,
/// cycles.
NxdtConfig read_nxdt(const std::filesystem::path& path, const Files& files = disk());
NxdtConfig nxdt_from(const Node& root);
/// The lines of a YAML text that hold "devices:".
std::vector<GreppedLine> devices_lines(const std::string& text, const std::string& file);

/// True when the top level looks like an NxDT config (has trainer and distributed_strategy).
bool looks_like_nxdt(const Node& root);

/// The YAML text of a config: keys in the order of `config.keys`, a blank line between top-level blocks,
/// booleans as True/False, floats with a dot, every string that YAML could read as something else in quotes.
std::string nxdt_yaml(const NxdtConfig& config);

}  // namespace trnplan::targets
