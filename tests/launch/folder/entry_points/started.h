// Command that a node_run.sh starts in a mode, read from its text: no shell runs.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace trnplan {

struct Started {
  std::string folder, script;  ///< folder below the clone
  std::string python_path;     ///< "" = not set
  std::map<std::string, std::string> environment;
  std::vector<std::string> words;  ///< of the script, with every variable replaced
  int processes = 0;               ///< per node
  int nodes = 0;
  int port = 0;
  std::string results;
};

/// `mode` is "compile" or "train"; `again`: a start that finds a checkpoint of an earlier one. Paths are
/// written as /plan, /code, /data, /cache, /tokenizer. Throws std::runtime_error for a text that it cannot
/// follow, such as one with a variable that nothing sets.
Started started(const std::string& node_run, const std::string& mode, bool again = false,
                const std::string& phase1_step = "28125");

}  // namespace trnplan
