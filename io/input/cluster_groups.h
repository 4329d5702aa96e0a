// What the readers of cluster files share: groups of equal nodes, and the choice of one.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/catalog/catalog.h"
#include "io/input/cluster_files.h"
#include "text/diagnostic.h"

namespace trnplan::io {

/// Nodes of one type that a job can run on together.
struct ClusterGroup {
  std::string name;
  std::string instance;              ///< a name of the catalogue, or empty
  int hosts = 0;                     ///< may be 0
  std::vector<std::string> aliases;  ///< other names a user may call it by
  SourcePos at;
};

/// A file with more faults is of another kind.
inline constexpr std::size_t cluster_faults_most = 50;

/// The machines of the catalogue by the names that cluster files have for their hosts: "trn1.32xlarge", as HyperPod has it
/// "ml.trn1.32xlarge", and the EC2 type of a host where the machine has a name of its own ("trn2u.48xlarge").
class MachineNames {
 public:
  explicit MachineNames(const Catalog& catalog) : catalog_(catalog), names_(catalog.instances()) {}
  /// The catalogue's name; nullopt for other hardware. Cost: reads the files of the catalogue once where it has no such name.
  std::optional<std::string> find(std::string_view type) const;
  /// The same, where an instance type must stand: one that begins with "trn" and is not known is a fault.
  std::optional<std::string> find(std::string_view type, const SourcePos& at, const std::string& key,
                                  std::vector<Diagnostic>& faults) const;

 private:
  const Catalog& catalog_;
  std::vector<std::string> names_;
  mutable std::optional<std::map<std::string, std::string, std::less<>>> by_type_;
};

/// What is read of a group: hosts as nodes of the catalogue, of which one may be several hosts. A fault at the group where
/// they do not make one node; a note where some are left over.
ClusterReading reading_of(const ClusterGroup& group, const Catalog& catalog, std::vector<std::string> notes,
                          std::vector<Diagnostic>& faults);

/// The group called `wanted`, or the only one. Adds a fault, at `file`, when there is none or a choice, when
/// it has no node, or more than a cluster may have. `kind` is what the file calls a group.
std::optional<ClusterGroup> choose_group(const std::vector<ClusterGroup>& groups, const std::string& wanted,
                                         const std::string& kind, const SourcePos& file,
                                         std::vector<Diagnostic>& faults);

}  // namespace trnplan::io
