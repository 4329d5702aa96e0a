#include "io/catalog/neuron_releases.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "io/format/schema_version.h"

namespace trnplan::io {

namespace {

constexpr std::string_view kDigits = "0123456789.";
constexpr std::string_view kPlain = "0123456789.abcdefghijklmnopqrstuvwxyz-_:";
constexpr std::size_t kLongest = 100;

/// A text of `letters` alone, because folders write these words into commands.
std::string plain_text(MapReader& fields, const std::string& key, std::string_view letters) {
  std::string text = fields.required_text(key);
  if (text.size() < kLongest && text.find_first_not_of(letters) == std::string::npos) return text;
  fields.fault(key,
               in_quotes(printable(text, 40)) + " contains characters other than " + std::string(letters),
               "write a version, a name or a tag as its publisher does");
  return "";
}

models::NeuronRelease release_from(const Node& node, const std::string& where,
                                   std::vector<Diagnostic>& faults) {
  MapReader fields(node, where, faults);
  models::NeuronRelease r;
  r.release = plain_text(fields, "release", kDigits);
  r.python = plain_text(fields, "python", kDigits);
  if (fields.has("image")) r.image = plain_text(fields, "image", kPlain);
  if (fields.has("nxd_tag")) r.nxd_tag = plain_text(fields, "nxd_tag", kPlain);
  const Node* packages = fields.raw("packages");
  if (packages == nullptr || !packages->is_map()) {
    fields.fault("packages", "the packages of the release are missing", "write {NAME: VERSION, ...}");
  } else {
    MapReader versions(*packages, where + ".packages", faults);
    for (const Node::Entry& e : packages->entries) {
      if (e.key.size() >= kLongest || e.key.find_first_not_of(kPlain) != std::string::npos)
        versions.fault(e.key, "this is not the name of a package", "write it as pip or apt does");
      r.packages.emplace(e.key, plain_text(versions, e.key, kDigits));
    }
  }
  fields.finish();
  return r;
}

models::NeuronStack neuron_stack_from(const Node& node, const std::string& where,
                                      std::vector<Diagnostic>& faults) {
  MapReader fields(node, where, faults);
  models::NeuronStack s;
  s.name = fields.required_text("stack");
  s.release = plain_text(fields, "release", kDigits);
  s.ending = fields.text("ending", "");
  s.after_on_native_pytorch = fields.text("after_on_native_pytorch", "");
  s.after_elsewhere = fields.text("after_elsewhere", "");
  fields.required_text("release_source");
  if (!s.ending.empty()) fields.required_text("ending_source");
  fields.finish();
  return s;
}

}  // namespace

models::NeuronReleases neuron_releases_from(const Node& node) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  check_schema(map);
  map.ignore({"description"});
  for (const char* key : {"packages_source", "python_source", "image_source", "nxd_tag_source"})
    map.required_text(key);
  models::NeuronReleases known;
  std::vector<models::NeuronRelease>& releases = known.releases;
  if (const Node* stacks = map.raw("stacks"); stacks == nullptr || stacks->kind != Node::Kind::sequence) {
    map.fault("stacks", "a list was expected", "write [...]");
  } else {
    for (std::size_t i = 0; i < stacks->items.size() && faults.size() < 50; ++i)
      known.stacks.push_back(
          neuron_stack_from(stacks->items[i], "stacks[" + std::to_string(i) + "]", faults));
  }
  const Node* list = map.raw("releases");
  if (list == nullptr || list->kind != Node::Kind::sequence) {
    map.fault("releases", "a list was expected", "write [...]");
  } else {
    for (std::size_t i = 0; i < list->items.size() && faults.size() < 50; ++i) {
      const std::string where = "releases[" + std::to_string(i) + "]";
      releases.push_back(release_from(list->items[i], where, faults));
      if (i == 0) continue;
      const std::vector<int> before = models::release_numbers(releases[i - 1].release);
      if (before >= models::release_numbers(releases[i].release))
        faults.push_back({list->items[i].at, where + ".release", "is not newer than the one before",
                          "list releases oldest first, each once"});
    }
  }
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return known;
}

}  // namespace trnplan::io
