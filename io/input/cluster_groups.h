// Shared code of the readers of cluster files: groups of equal nodes, and the choice of one.
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
  std::vector<std::string> aliases;  ///< other names that a user may give it
  SourcePos at;
};

/// Most faults reported: a file with more is of another kind.
inline constexpr std::size_t cluster_faults_most = 50;

/// Machines of the catalogue by the names of their hosts in cluster files: "trn1.32xlarge", HyperPod's
/// "ml.trn1.32xlarge", and the EC2 type of a host if the machine has a name of its own ("trn2u.48xlarge").
class MachineNames {
 public:
  explicit MachineNames(const Catalog& catalog) : catalog_(catalog), names_(catalog.instances()) {}
  /// The catalogue's name; nullopt for other hardware. Cost: reads the catalogue's files once if it has no
  /// such name.
  std::optional<std::string> find(std::string_view type) const;
  /// The same, if an instance type is required: an unknown one that begins with "trn" is a fault.
  std::optional<std::string> find(std::string_view type, const SourcePos& at, const std::string& key,
                                  std::vector<Diagnostic>& faults) const;

 private:
  const Catalog& catalog_;
  std::vector<std::string> names_;
  mutable std::optional<std::map<std::string, std::string, std::less<>>> by_type_;
};

/// Reading of a group: hosts as nodes of the catalogue, one of which may be several hosts. A fault at the
/// group if they do not make one node; a note if some are left over.
ClusterReading reading_of(const ClusterGroup& group, const Catalog& catalog, std::vector<std::string> notes,
                          std::vector<Diagnostic>& faults);

/// The group named `wanted`, or the only one. Adds a fault, at `file`, if there is none or a choice, if it
/// has no node, or more than a cluster may have. `kind` is the file's word for a group.
std::optional<ClusterGroup> choose_group(const std::vector<ClusterGroup>& groups, const std::string& wanted,
                                         const std::string& kind, const SourcePos& file,
                                         std::vector<Diagnostic>& faults);

}  // namespace trnplan::io
