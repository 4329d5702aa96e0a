// Converts NxDT YAML files to NxdtConfig and back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "targets/nxdt/nxdt_config.h"
#include "text/document.h"

namespace trnplan::targets {

/// Reads an NxDT YAML and resolves OmegaConf interpolations: ${a.b}, relative ${.b} and ${..b},
/// ${multiply:A,B}. ${oc.env:...} and unknown ones are kept as text. Throws InputError: syntax errors,
/// duplicate keys, cycles.
NxdtConfig read_nxdt(const std::filesystem::path& path, const Files& files = disk());
NxdtConfig nxdt_from(const Node& root);
/// Lines of a YAML text that contain "devices:".
std::vector<GreppedLine> devices_lines(const std::string& text, const std::string& file);

/// True if the top level looks like an NxDT config (has trainer and distributed_strategy).
bool looks_like_nxdt(const Node& root);

/// YAML text of a config: keys in the order of `config.keys`, a blank line between top-level blocks, booleans
/// as True/False, floats with a dot, and quotes around every string that YAML could read as something else.
std::string nxdt_yaml(const NxdtConfig& config);

}  // namespace trnplan::targets
