#include "launch/folder/tree_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "launch/folder/again.h"
#include "launch/folder/scripts.h"

namespace trnplan::launch {

namespace {

constexpr std::size_t kShownOfValue = 60;

/// Text of a value on one line, for messages.
std::string value_words(const Node& node) {
  if (node.kind == Node::Kind::map) return "a map";
  if (node.kind == Node::Kind::sequence) return fmt::format("a list of {}", node.items.size());
  return node.is_null() ? "null" : in_quotes(node.scalar, kShownOfValue);
}

/// Position of a value: the keys that lead to it.
struct Place {
  std::string path;         ///< "spec.replicas"
  std::string_view parent;  ///< the key before the last, without lists: "containers"
  std::string_view key;
};

/// Compares two trees, node by node. The derived class defines the allowed differences.
class TreeComparison {
 public:
  explicit TreeComparison(std::string file) : file_(std::move(file)) {}
  virtual ~TreeComparison() = default;

  FileFindings run(const Node& planned, const Node& found) {
    compare(planned, found, {"", "", ""});
    return std::move(result_);
  }

 protected:
  /// True if a value that the plan also writes may differ.
  virtual bool may_differ(const Place&, const Node& /*around*/, const Node& /*value*/) const { return false; }
  /// True if a key that the plan does not write is allowed.
  virtual bool may_be_added(const Place&) const { return false; }
  /// True if it has compared the value itself.
  virtual bool compares(const Place&, const Node& /*planned*/, const Node& /*found*/) { return false; }

  void fault(const Node& node, const std::string& key, std::string problem, std::string fix) {
    SourcePos at = node.at;
    if (at.file.empty()) at = {file_, 0, 0};
    result_.faults.push_back({at, key, std::move(problem), std::move(fix)});
  }
  void edited(const std::string& path) {
    if (std::find(result_.edited.begin(), result_.edited.end(), path) == result_.edited.end())
      result_.edited.push_back(path);
  }

 private:
  void compare(const Node& planned, const Node& found, const Place& place) {
    if (compares(place, planned, found)) return;
    if (planned.kind != found.kind || planned.items.size() != found.items.size()) {
      differ(planned, found, place);
    } else if (planned.is_map()) {
      compare_maps(planned, found, place);
    } else if (planned.kind == Node::Kind::sequence) {
      for (std::size_t i = 0; i < planned.items.size(); ++i)
        compare(planned.items[i], found.items[i],
                {fmt::format("{}[{}]", place.path, i), place.parent, place.key});
    } else if (!same_scalar(planned, found)) {
      differ(planned, found, place);
    }
  }

  void differ(const Node& planned, const Node& found, const Place& place) {
    fault(found, place.path, "is " + value_words(found) + "; the plan writes " + value_words(planned),
          undo_or_plan_again());
  }

  static bool same_scalar(const Node& a, const Node& b) {
    if (a.quoted != b.quoted) return false;
    if (a.scalar == b.scalar) return true;
    const auto x = number_of(a), y = number_of(b);
    return x && y && *x == *y;
  }

  void compare_maps(const Node& planned, const Node& found, const Place& place) {
    const auto below = [&](const std::string& key) {
      return Place{place.path.empty() ? key : place.path + "." + key, place.key, key};
    };
    for (const Node::Entry& e : planned.entries) {
      const Node* there = found.find(e.key);
      const Place here = below(e.key);
      if (there == nullptr) {
        fault(found, here.path, "is missing; the plan writes " + value_words(e.value), undo_or_plan_again());
      } else if (may_differ(here, found, *there)) {
        if (e.value.scalar != there->scalar) edited(here.path);
      } else {
        compare(e.value, *there, here);
      }
    }
    for (const Node::Entry& e : found.entries) {
      if (planned.find(e.key) != nullptr) continue;
      const Place here = below(e.key);
      if (may_be_added(here))
        edited(here.path);
      else
        fault(e.value, here.path, "is " + value_words(e.value) + ", which the plan does not write",
              undo_or_plan_again());
    }
  }

  std::string file_;
  FileFindings result_;
};

template <std::size_t N>
bool is_one_of(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// A job of Kubernetes.
class ManifestComparison : public TreeComparison {
 public:
  using TreeComparison::TreeComparison;

 private:
  static constexpr std::string_view kOfTheCluster[] = {
      "image",         "imagePullPolicy",   "imagePullSecrets", "claimName", "serviceAccountName",
      "schedulerName", "priorityClassName", "tolerations"};
  static constexpr std::string_view kOfMetadata[] = {"namespace", "labels", "annotations"};
  static constexpr std::string_view kOpenMaps[] = {"labels", "annotations", "nodeSelector"};
  static constexpr std::string_view kAmounts[] = {"cpu", "memory", "ephemeral-storage", "hugepages-2Mi"};

  bool may_differ(const Place& place, const Node& around, const Node& value) const override {
    const bool text = value.kind == Node::Kind::scalar && !value.scalar.empty();
    if (place.parent == "metadata" && place.key == "name") return text;
    if (place.key == "mountPath") {
      const Node* volume = around.find("name");
      return text && volume != nullptr && volume->scalar == "shared" && plain_path(value.scalar);
    }
    return text && (place.key == "image" || place.key == "claimName");
  }

  bool may_be_added(const Place& place) const override {
    if (place.parent == "metadata") return is_one_of(kOfMetadata, place.key);
    if (is_one_of(kOpenMaps, place.parent)) return true;
    if (place.parent == "requests" || place.parent == "limits") return is_one_of(kAmounts, place.key);
    return (place.parent == "spec" || place.parent == "containers") && is_one_of(kOfTheCluster, place.key);
  }

  /// bash FOLDER/SCRIPT FOLDER MODE: the folder may have another path.
  bool compares(const Place& place, const Node& planned, const Node& found) override {
    if (place.key != "command" || planned.kind != Node::Kind::sequence) return false;
    const auto word = [](const Node& list, std::size_t i) {
      return i < list.items.size() ? list.items[i].scalar : std::string();
    };
    const std::string folder = word(found, 2), planned_folder = word(planned, 2);
    const std::string script =
        word(planned, 1).substr(std::min(planned_folder.size(), word(planned, 1).size()));
    const bool same = found.items.size() == planned.items.size() && word(found, 0) == word(planned, 0) &&
                      plain_path(folder) && word(found, 1) == folder + script &&
                      word(found, 3) == word(planned, 3);
    if (!same) {
      fault(found, place.path, "does not run what the plan's file runs",
            fmt::format("write [\"bash\", \"FOLDER{}\", \"FOLDER\", \"{}\"]", script, word(planned, 3)));
    } else if (folder != planned_folder) {
      edited(place.path);
    }
    return true;
  }
};

FileFindings compared(TreeComparison&& comparison, const Node& planned, const std::string& path,
                      const std::string& found) {
  try {
    return comparison.run(planned, parse_document(found, path));
  } catch (const InputError& e) {
    return {e.faults(), {}};
  }
}

}  // namespace

FileFindings compare_json(const std::string& path, const std::string& found, const Node& planned) {
  return compared(TreeComparison(path), planned, path, found);
}

FileFindings compare_manifest(const FileText& file) {
  return compared(ManifestComparison(file.path), parse_document(file.written, file.path), file.path,
                  file.found);
}

}  // namespace trnplan::launch
