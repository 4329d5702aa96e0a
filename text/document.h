// A YAML or JSON file as a tree that remembers where every key and value stands.
//
// yaml-cpp and nlohmann_json both accept duplicate keys and lose positions; readers here work on this tree
// instead and report every fault at once with file, line and column.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan {

/// One value: null, scalar, sequence or map. Keys of a map keep the order of the file and are unique.
struct Node {
  enum class Kind { null, scalar, sequence, map };
  struct Entry;

  Kind kind = Kind::null;
  bool quoted = false;  ///< scalar written in quotes: "32" is text, 32 a number
  std::string scalar;
  std::vector<Node> items;     ///< sequence
  std::vector<Entry> entries;  ///< map
  SourcePos at;

  bool is_map() const { return kind == Kind::map; }
  bool is_null() const { return kind == Kind::null; }
  /// The value under `key`, or nullptr when this is no map or has no such key.
  const Node* find(std::string_view key) const;
  /// find() along a dotted path: "trainer.num_nodes".
  const Node* at_path(std::string_view dotted) const;
};

struct Node::Entry {
  std::string key;
  SourcePos key_at;
  Node value;
};

/// Limits that keep a hostile file from exhausting the machine.
struct DocumentLimits {
  std::size_t bytes =
      4u << 20;                 ///< larger files are refused by size, unread; YAML above 1 MiB is refused too
  int depth = 64;               ///< nested sequences and maps
  std::size_t nodes = 200'000;  ///< after aliases are expanded
};

/// Text of a regular file. Throws InputError when it is missing, no regular file, unreadable or above the
/// limit.
std::string read_text(const std::filesystem::path& path, std::size_t limit_bytes = DocumentLimits{}.bytes);

/// The files that a job or a config names by their paths.
class Files {
 public:
  virtual ~Files() = default;
  /// Something stands there that is no folder; it may still be unreadable.
  virtual bool has(const std::filesystem::path& path) const = 0;
  /// As read_text.
  virtual std::string text(const std::filesystem::path& path) const = 0;
};
/// Those of the file system.
const Files& disk();

/// Parses YAML (also JSON, which must then be strict JSON when `name` ends in .json). `name` is used in
/// messages. Throws InputError: syntax error, duplicate key, more than one document, nesting or size above
/// the limits, aliases that expand to more than `nodes`, text that is not UTF-8, a map key that is not a
/// scalar. An empty text is a null node.
Node parse_document(const std::string& text, const std::string& name, const DocumentLimits& limits = {});

/// read_text + parse_document.
Node read_document(const std::filesystem::path& path, const DocumentLimits& limits = {});

/// The whole number a scalar states, as YAML 1.2 and JSON write it: unquoted, no sign, no fraction, no
/// leading zeros.
std::optional<int> whole_of(const Node& node);

/// The finite number a scalar states, unquoted; negative ones too.
std::optional<double> number_of(const Node& node);

/// Reads the values of one map, collecting faults instead of throwing. Use: construct, read all keys,
/// finish().
///
///   MapReader map(node, "cluster", faults);
///   cluster.nodes = map.whole("nodes", 1, 1, 1'000'000);
///   map.finish();   // reports keys nobody asked for, with the nearest known one
class MapReader {
 public:
  /// `where` prefixes keys in messages ("cluster" gives "cluster.nodes"); "" for the top level. A node that
  /// is no map is a fault (null counts as an empty map).
  /// `described`: the keys there are, all of them known from the start; to read another is a std::logic_error. Empty: each key
  /// that is read is known.
  MapReader(const Node& node, std::string where, std::vector<Diagnostic>& faults,
            std::vector<std::string> described = {});

  bool has(std::string_view key) const;
  /// The raw node, or nullptr; marks the key as known.
  const Node* raw(std::string_view key);

  /// Each returns the fallback and records a fault when the value is of the wrong kind or outside [least,
  /// most]. A null value counts as absent. Numbers and booleans must be unquoted: "32" is a text. The
  /// required_ forms also record a fault when the key is missing.
  int whole(std::string_view key, int fallback, int least, int most);
  int required_whole(std::string_view key, int least, int most);
  double number(std::string_view key, double fallback, double least, double most);
  double required_number(std::string_view key, double least, double most);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, std::string fallback);
  std::string required_text(std::string_view key);
  /// A count such as 15T (text/parse.h).
  double count(std::string_view key, double fallback);

  /// Records a fault at the value of `key` (or at the map when the key is absent).
  void fault(std::string_view key, std::string problem, std::string fix);
  /// Marks further keys as known without reading them.
  void ignore(std::initializer_list<std::string_view> keys);
  /// Records a fault for each key that was never read or ignored, with the nearest known key. With `strict`
  /// false it does nothing.
  void finish(bool strict = true);

 private:
  std::string full(std::string_view key) const;
  const Node* node_;
  std::string where_;
  std::vector<Diagnostic>* faults_;
  std::vector<std::string> known_;
  bool described_;
};

}  // namespace trnplan
