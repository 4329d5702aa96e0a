// Words that a training script accepts, from table.json, and faults of the words that it is given.
//
// The emitter never reads the table, so that a name that is wrong in the emitter is not wrong here too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "text/document.h"

namespace trnplan {

/// One script. Requires: the table outlives it.
class EntryPoint {
 public:
  EntryPoint(const Node& table, const std::string& name);

  const std::string& name() const { return name_; }
  std::string text(const char* key) const;                ///< "workdir", "script"
  std::vector<std::string> texts(const char* key) const;  ///< "assertions", "pythonpath"
  /// Port of the ranks' meeting point in a recipe; some recipes have their own.
  std::string port(const std::string& recipe) const;
  const Node& recipes() const { return *entry_->find("recipes"); }

  /// One sentence for each name, type, choice and place that the script would refuse, and for each required
  /// word that is missing. Empty if it accepts the words.
  std::vector<std::string> faults(const std::vector<std::string>& words) const;

  /// Every setting as the script would read it: the given value, else its default. Switches are "true" and
  /// "false"; none is "null". Requires: no faults.
  std::map<std::string, std::string> settings(const std::vector<std::string>& words) const;
  /// Names of the given settings, without a plus.
  std::vector<std::string> given(const std::vector<std::string>& words) const;

  /// Faults of exported variables. `launch` are those that belong to the launch, not to the script.
  std::vector<std::string> environment_faults(const std::map<std::string, std::string>& exported,
                                              const std::vector<std::string>& launch) const;

 private:
  struct Given {
    std::string name, value;
    bool plus = false, alone = false;  ///< alone: without a value
  };
  bool hydra() const { return entry_->find("flags") == nullptr; }
  std::vector<Given> split(const std::vector<std::string>& words, std::vector<std::string>& faults) const;
  static void take_many(Given& g, const Node& entry, const std::vector<std::string>& words, std::size_t& at,
                        std::vector<std::string>& faults);
  std::vector<Given> flags_of(const std::vector<std::string>& words, std::vector<std::string>& faults) const;
  std::vector<Given> overrides_of(const std::vector<std::string>& words,
                                  std::vector<std::string>& faults) const;
  const Node* config_of(const std::vector<std::string>& words) const;
  const Node* plus_key(const std::string& key) const;
  void check_override(const Given& g, const Node& config, std::vector<std::string>& faults) const;

  std::string name_;
  const Node* entry_;
};

/// The table, read once.
const Node& entry_point_table();

}  // namespace trnplan
