// A YAML or JSON file as a tree that keeps the position of every key and value.
//
// yaml-cpp and nlohmann_json both accept duplicate keys and lose positions. Readers here work on this tree
// instead and report every fault at once with file, line and column.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  /// The value under `key`, or nullptr when this node is not a map or has no such key.
  const Node* find(std::string_view key) const;
  /// The value at a dotted path such as "trainer.num_nodes", or nullptr.
  const Node* at_path(std::string_view dotted) const;
  Node* find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }
  Node* at_path(std::string_view dotted) { return const_cast<Node*>(std::as_const(*this).at_path(dotted)); }
};

struct Node::Entry {
  std::string key;
  SourcePos key_at;
  Node value;
};

/// Limits that keep a hostile file from exhausting the machine.
struct DocumentLimits {
  std::size_t bytes = 4u << 20;  ///< larger files are refused unread; so is YAML above 1 MiB
  int depth = 64;                ///< nested sequences and maps
  std::size_t nodes = 200'000;   ///< after aliases are expanded
};

/// Reads the text of a regular file. Throws InputError when it is missing, not a regular file, unreadable or
/// above the limit.
std::string read_text(const std::filesystem::path& path, std::size_t limit_bytes = DocumentLimits{}.bytes);

/// The files that a job or a config names by path.
class Files {
 public:
  virtual ~Files() = default;
  /// True if the path names something that is not a folder; it may still be unreadable.
  virtual bool has(const std::filesystem::path& path) const = 0;
  /// Reads the text as read_text does.
  virtual std::string text(const std::filesystem::path& path) const = 0;
};
/// The files of the file system.
const Files& disk();

/// Parses YAML or JSON; text must be strict JSON when `name` ends in .json. Messages use `name`. An empty
/// text gives a null node. Throws InputError: syntax error, duplicate key, more than one document, nesting or
/// size above the limits, aliases that expand to more than `nodes`, text that is not UTF-8, a map key that is
/// not a scalar.
Node parse_document(const std::string& text, const std::string& name, const DocumentLimits& limits = {});

/// Reads with read_text, then parses with parse_document.
Node read_document(const std::filesystem::path& path, const DocumentLimits& limits = {});

/// The whole number that a scalar states, in the form common to YAML 1.2 and JSON: unquoted, without sign,
/// fraction or leading zeros.
std::optional<int> whole_of(const Node& node);

/// The finite number that an unquoted scalar states; it may be negative.
std::optional<double> number_of(const Node& node);

/// Reads the values of one map and collects faults instead of throwing. Use: construct, read all keys,
/// finish().
///
///   MapReader map(node, "cluster", faults);
///   cluster.nodes = map.whole("nodes", 1, 1, 1'000'000);
///   map.finish();   // reports keys that were never read, with the nearest known one
class MapReader {
 public:
  /// `where` prefixes keys in messages ("cluster" gives "cluster.nodes"); it is "" at the top level. A node
  /// that is not a map is a fault; null counts as an empty map. `described` lists the keys that exist: all of
  /// them are known from the start, and reading another one throws std::logic_error. When it is empty, each
  /// key that is read becomes known.
  MapReader(const Node& node, std::string where, std::vector<Diagnostic>& faults,
            std::vector<std::string> described = {});

  bool has(std::string_view key) const;
  /// The raw node, or nullptr. Marks the key as known.
  const Node* raw(std::string_view key);

  /// Each of these returns the fallback and records a fault when the value is of the wrong kind or outside
  /// [least, most]. A null value counts as absent. Numbers and booleans must be unquoted: "32" is a text. The
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

  /// Records a fault at the value of `key`, or at the map when the key is absent.
  void fault(std::string_view key, std::string problem, std::string fix);
  /// Marks these keys as known without reading them.
  void ignore(std::initializer_list<std::string_view> keys);
  /// Records a fault, with the nearest known key, for each key that was neither read nor ignored. Does
  /// nothing unless `strict`.
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
