// YAML as a tree, built from yaml-cpp's events.
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>

#include "text/tree_builder.h"

namespace trnplan::document {

namespace {

class YamlHandler : public YAML::EventHandler {
 public:
  YamlHandler(TreeBuilder& tree, const std::string& text) : tree_(tree), text_(text) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ < 2) return;
    if (starts_document(mark)) {
      refuse(at(mark), "a second YAML document starts here", "keep one document per file");
    }
    refuse(at(mark), "text follows after the end of the value",
           "remove it, or check brackets and indentation above");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { tree_.null(at(mark), anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override { tree_.alias(anchor, at(mark)); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(tag, mark);
    // yaml-cpp tags plain scalars "?" and quoted or block ones "!".
    const bool text = tag == "!" || tag == "tag:yaml.org,2002:str";
    tree_.scalar(value, text, at(mark), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(tag, mark);
    tree_.open(Node::Kind::sequence, at(mark), anchor);
  }
  void OnSequenceEnd() override { tree_.close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(tag, mark);
    tree_.open(Node::Kind::map, at(mark), anchor);
  }
  void OnMapEnd() override { tree_.close(); }

 private:
  /// Position of a mark; yaml-cpp counts lines and columns from 0.
  SourcePos at(const YAML::Mark& mark) const { return tree_.position(mark.line + 1, mark.column + 1); }

  void check_tag(const std::string& tag, const YAML::Mark& mark) const {
    constexpr std::string_view core = "tag:yaml.org,2002:";
    constexpr std::string_view known[] = {"str", "int", "float", "bool", "null", "seq", "map"};
    if (tag.empty() || tag == "?" || tag == "!") return;
    const std::string_view name =
        std::string_view(tag).substr(tag.starts_with(core) ? core.size() : tag.size());
    if (std::find(std::begin(known), std::end(known), name) != std::end(known)) return;
    refuse(at(mark), "the tag " + in_quotes(tag) + " is not supported",
           "remove the tag and write the plain value");
  }

  bool starts_document(const YAML::Mark& mark) const {
    std::size_t line_start = 0;
    for (int line = 0; line < mark.line && line_start != std::string::npos; ++line) {
      line_start = text_.find('\n', line_start);
      if (line_start != std::string::npos) ++line_start;
    }
    return line_start != std::string::npos &&
           (text_.compare(line_start, 3, "---") == 0 || text_[line_start] == '%');
  }

  TreeBuilder& tree_;
  const std::string& text_;
  int documents_ = 0;
};

/// The most bytes of a YAML text: yaml-cpp queues the tokens of an unclosed bracket, some 200 bytes each,
/// before it reports the first one.
constexpr std::size_t yaml_bytes_most = 1u << 20;

}  // namespace

Node parse_yaml(const std::string& text, const std::string& name, const DocumentLimits& limits) {
  if (text.size() > yaml_bytes_most) refuse_size(name, yaml_bytes_most);
  TreeBuilder tree(name, limits);
  YamlHandler handler(tree, text);
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(handler)) {
    }
  } catch (const YAML::DeepRecursion& e) {
    refuse(tree.position(e.mark.line + 1, e.mark.column + 1), "lists and maps are nested too deep",
           "flatten the file");
  } catch (const YAML::Exception& e) {
    refuse(tree.position(e.mark.line + 1, e.mark.column + 1), "this is not valid YAML: " + e.msg,
           "check indentation, colons, quotes and brackets here and on the line above");
  }
  return tree.take();
}

}  // namespace trnplan::document
