// Ways to break each assertion that a GPU framework makes at its start.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace trnplan {

/// A run of a file: its settings by name, as they stand there.
struct Start {
  std::string instance;
  int nodes = 1;
  std::map<std::string, std::string> settings;
  bool connections = true;  ///< CUDA_DEVICE_MAX_CONNECTIONS=1 is exported
  int ranks() const { return 8 * nodes; }
  int number(const std::string& key) const { return std::stoi(settings.at(key)); }
};

/// A way to break one assertion, and what has to be said of it.
struct Break {
  const char *rule, *key;
  std::function<void(Start&)> edit;
  bool understood = false;  ///< what is meant is plain, so that it is predicted
};

/// An edit that erases settings and then sets others.
std::function<void(Start&)> with(std::vector<std::pair<std::string, std::string>> settings,
                                 std::vector<std::string> without = {});

/// Breaks of a script of Megatron-LM: those that check refuses, and those that it warns of.
const std::vector<Break>& script_breaks();
const std::vector<Break>& script_doubts();
/// The same of a TOML of TorchTitan.
const std::vector<Break>& toml_breaks();
const std::vector<Break>& toml_doubts();

}  // namespace trnplan
