#include "text/document.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

namespace trnplan {

namespace {

[[noreturn]] void refuse(const SourcePos& at, std::string problem, std::string fix) {
  throw InputError(Diagnostic{at, "", std::move(problem), std::move(fix)});
}

// ---- files ----

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string size_problem(std::size_t limit) {
  return "the file is larger than " + std::to_string(limit) + " bytes";
}
constexpr const char* size_fix = "give the configuration file itself, not a log or a data file";

void require_regular(const std::string& name, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) refuse({name}, "this is a folder, a file was expected", "name a file in it");
  if (!S_ISREG(status.st_mode)) {
    refuse({name}, "this is no regular file (a pipe, socket or device)",
           "save the text in a file and name that");
  }
}

[[noreturn]] void refuse_errno(const std::string& name, int code) {
  const char* fix = code == ENOENT || code == ENOTDIR ? "check the path; it is relative to the current folder"
                    : code == EACCES                  ? "make the file readable (chmod +r)"
                                                      : "check the file and its file system";
  refuse({name}, std::string("cannot be read: ") + std::strerror(code), fix);
}

// ---- positions and characters ----

SourcePos position_of(const std::string& text, std::size_t offset, const std::string& name) {
  SourcePos at{name, 1, 1};
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    at.column = text[i] == '\n' ? 1 : at.column + 1;
    at.line += text[i] == '\n' ? 1 : 0;
  }
  return at;
}

/// Bytes of the well-formed UTF-8 character that starts at `i`, 0 when it is malformed (Unicode 15, table
/// 3-7).
std::size_t utf8_length(const std::string& text, std::size_t i) {
  const auto byte = [&](std::size_t k) {
    return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : (lead & 0xF0) == 0xE0        ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool beyond = lead == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

/// Control characters are refused because neither YAML nor JSON allows them, and yaml-cpp takes one (0x04)
/// for the end of the file.
void check_characters(const std::string& text, const std::string& name) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      refuse(position_of(text, i, name), "a control character (code " + std::to_string(c) + ") stands here",
             "give a text file; if it is UTF-16, save it as UTF-8");
    }
    const std::size_t length = utf8_length(text, i);
    if (length == 0)
      refuse(position_of(text, i, name), "the text is not UTF-8", "save the file as UTF-8 text");
    i += length;
  }
}

// ---- the tree ----

/// Builds the tree from events, for both parsers, and enforces the limits.
class TreeBuilder {
 public:
  TreeBuilder(std::string name, const DocumentLimits& limits) : name_(std::move(name)), limits_(limits) {}

  SourcePos position(int line, int column) const { return {name_, line, column}; }

  void open(Node::Kind kind, const SourcePos& at, std::size_t anchor = 0) {
    if (expects_key()) refuse_key(at);
    if (static_cast<int>(frames_.size()) >= limits_.depth) refuse_depth(at);
    attribution(1, at);
    Frame frame;
    frame.subtree.node.kind = kind;
    frame.subtree.node.at = at;
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    ++frame.subtree.height;
    finish(std::move(frame.subtree), frame.anchor);
  }

  void null(const SourcePos& at, std::size_t anchor = 0) {
    if (expects_key()) refuse_key(at);
    attribution(1, at);
    Subtree leaf;
    leaf.node.at = at;
    finish(std::move(leaf), anchor);
  }

  void scalar(std::string text, bool quoted, const SourcePos& at, std::size_t anchor = 0) {
    attribution(1, at);
    Subtree leaf;
    leaf.node.kind = Node::Kind::scalar;
    leaf.node.scalar = std::move(text);
    leaf.node.quoted = quoted;
    leaf.node.at = at;
    finish(std::move(leaf), anchor);
  }

  void alias(std::size_t anchor, const SourcePos& at) {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      refuse(at, "this alias stands inside the value it names", "write the value out");
    if (static_cast<int>(frames_.size()) + found->second.height > limits_.depth) refuse_depth(at);
    attribution(found->second.nodes, at);
    Subtree copy = found->second;
    copy.node.at = at;
    add(std::move(copy));
  }

  Node take() { return std::move(root_); }

 private:
  struct Subtree {
    Node node;
    std::size_t nodes = 1;
    int height = 0;
  };
  struct Frame {
    Subtree subtree;
    std::size_t anchor = 0;
    std::optional<Node::Entry> pending;       // the key whose value comes next
    std::map<std::string, std::size_t> seen;  // key to its index, so that long maps stay linear
  };

  bool expects_key() const {
    return !frames_.empty() && frames_.back().subtree.node.is_map() && !frames_.back().pending;
  }

  [[noreturn]] static void refuse_key(const SourcePos& at) {
    refuse(at, "a list, a map or nothing stands where a key was expected",
           "close every bracket that was opened; write keys as plain text");
  }
  [[noreturn]] void refuse_depth(const SourcePos& at) const {
    refuse(at, "lists and maps are nested more than " + std::to_string(limits_.depth) + " deep",
           "flatten the file");
  }

  void attribution(std::size_t nodes, const SourcePos& at) {
    used_ += nodes;
    if (used_ <= limits_.nodes) return;
    refuse(
        at,
        "the file has more than " + std::to_string(limits_.nodes) + " values once its aliases are expanded",
        "write fewer values or fewer aliases (*name)");
  }

  void finish(Subtree subtree, std::size_t anchor) {
    if (anchor != 0) {
      // The stored copy costs as much as an alias does: nested anchors would otherwise multiply the memory.
      attribution(subtree.nodes, subtree.node.at);
      anchors_.insert_or_assign(anchor, subtree);
    }
    add(std::move(subtree));
  }

  void add(Subtree child) {
    if (frames_.empty()) {
      root_ = std::move(child.node);
      return;
    }
    Frame& frame = frames_.back();
    if (expects_key()) {
      add_key(frame, std::move(child.node));
      return;
    }
    frame.subtree.nodes += child.nodes;
    frame.subtree.height = std::max(frame.subtree.height, child.height);
    if (frame.pending) {
      frame.pending->value = std::move(child.node);
      frame.subtree.node.entries.push_back(std::move(*frame.pending));
      frame.pending.reset();
    } else {
      frame.subtree.node.items.push_back(std::move(child.node));
    }
  }

  static void add_key(Frame& frame, Node key) {
    if (key.kind != Node::Kind::scalar) refuse_key(key.at);
    if (key.scalar == "<<" && !key.quoted) {
      refuse(key.at, "merge keys (<<) are not supported", "write the merged keys out");
    }
    const auto [first, fresh] = frame.seen.emplace(key.scalar, frame.subtree.node.entries.size());
    if (!fresh) {
      const SourcePos& before = frame.subtree.node.entries[first->second].key_at;
      throw InputError(Diagnostic{key.at, key.scalar,
                                  "this key was already given at line " + std::to_string(before.line) +
                                      ", column " + std::to_string(before.column),
                                  "keep one of the two"});
    }
    frame.pending = Node::Entry{std::move(key.scalar), key.at, {}};
  }

  std::string name_;
  DocumentLimits limits_;
  std::vector<Frame> frames_;
  std::map<std::size_t, Subtree> anchors_;
  std::size_t used_ = 0;
  Node root_;
};

// ---- YAML ----

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
  /// yaml-cpp counts lines and columns from 0.
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

/// yaml-cpp queues the tokens of an unclosed bracket, some 200 bytes each, before it reports the first one.
constexpr std::size_t yaml_bytes_most = 1u << 20;

Node parse_yaml(const std::string& text, const std::string& name, const DocumentLimits& limits) {
  if (text.size() > yaml_bytes_most) refuse({name}, size_problem(yaml_bytes_most), size_fix);
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

// ---- JSON ----

/// Tells the handler how far nlohmann's lexer has read: its events carry no position.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* place = nullptr;
  std::size_t* read = nullptr;

  reference operator*() const { return *place; }
  CountingIterator& operator++() {
    ++place;
    ++*read;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& o) const { return place == o.place; }
};

class JsonHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonHandler(TreeBuilder& tree, const std::string& text, const std::size_t& read)
      : tree_(tree), text_(text), read_(read) {}

  bool null() override {
    tree_.null(word());
    return true;
  }
  bool boolean(bool value) override { return plain(value ? "true" : "false", word()); }
  bool number_integer(std::int64_t value) override { return plain(std::to_string(value), number()); }
  bool number_unsigned(std::uint64_t value) override { return plain(std::to_string(value), number()); }
  bool number_float(double, const std::string& digits) override { return plain(digits, number()); }
  bool string(std::string& value) override {
    tree_.scalar(value, true, quoted());
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Node::Kind::map); }
  bool key(std::string& value) override { return string(value); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Node::Kind::sequence); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    // "[name of the exception] parse error at line 1, column 2: what is wrong"; or without the middle part
    const std::string what = e.what();
    const std::size_t name = what.find("] "), place = what.find(": ");
    const std::size_t message = place != std::string::npos ? place : name;
    refuse(at(read_ == 0 ? 0 : read_ - 1),
           "this is not valid JSON: " + (message == std::string::npos ? what : what.substr(message + 2)),
           "check commas, quotes and brackets here and before; JSON has no comments and no trailing commas");
  }

 private:
  bool plain(std::string text, const SourcePos& where) {
    tree_.scalar(std::move(text), false, where);
    return true;
  }
  bool open(Node::Kind kind) {
    tree_.open(kind, at(read_ - 1));
    return true;
  }
  bool close() {
    tree_.close();
    return true;
  }

  /// Offsets only grow, so the lines are counted once over the whole parse.
  SourcePos at(std::size_t offset) {
    for (; counted_ < offset && counted_ < text_.size(); ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_start_ = counted_ + 1;
    }
    const std::size_t column = offset >= line_start_ ? offset - line_start_ + 1 : 1;
    return tree_.position(line_, static_cast<int>(column));
  }
  /// Start of the token that ends at the last character read, going back over characters of `set`. A number
  /// or a literal may have been read one character too far.
  SourcePos back_over(std::string_view set) {
    const auto in_set = [&](std::size_t i) { return set.find(text_[i]) != std::string_view::npos; };
    std::size_t start = read_;
    if (start > 0 && !in_set(start - 1)) --start;
    while (start > 0 && in_set(start - 1)) --start;
    return at(start);
  }
  SourcePos number() { return back_over("+-.0123456789eE"); }
  SourcePos word() { return back_over("aeflnrstu"); }
  SourcePos quoted() {
    std::size_t start =
        read_ >= 2 ? read_ - 2 : 0;  // the character before the closing quote, or the opening quote
    while (start > 0 && !(text_[start] == '"' && !escaped(start))) --start;
    return at(start);
  }
  bool escaped(std::size_t i) const {
    std::size_t backslashes = 0;
    while (backslashes < i && text_[i - 1 - backslashes] == '\\') ++backslashes;
    return backslashes % 2 == 1;
  }

  TreeBuilder& tree_;
  const std::string& text_;
  const std::size_t& read_;
  std::size_t counted_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

/// nlohmann's parser keeps its own stack of one bit per level, so nesting cannot exhaust ours.
Node parse_json(const std::string& text, const std::string& name, const DocumentLimits& limits) {
  TreeBuilder tree(name, limits);
  std::size_t read = 0;
  JsonHandler handler(tree, text, read);
  const CountingIterator first{text.data(), &read};
  const CountingIterator last{text.data() + text.size(), &read};
  nlohmann::json::sax_parse(first, last, &handler);
  return tree.take();
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  if (!is_map()) return nullptr;
  for (const Entry& e : entries) {
    if (e.key == key) return &e.value;
  }
  return nullptr;
}

const Node* Node::at_path(std::string_view dotted) const {
  const Node* node = this;
  while (node != nullptr) {
    const std::size_t dot = dotted.find('.');
    node = node->find(dotted.substr(0, dot));
    if (dot == std::string_view::npos) break;
    dotted.remove_prefix(dot + 1);
  }
  return node;
}

std::string read_text(const std::filesystem::path& path, std::size_t limit_bytes) {
  const std::string name = path.string();
  struct stat status {};
  // Asked before opening: to open a device or a pipe may already do something.
  if (::stat(path.c_str(), &status) != 0) refuse_errno(name, errno);
  require_regular(name, status);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) refuse_errno(name, errno);
  require_regular(name, status);
  if (static_cast<std::uintmax_t>(status.st_size) > limit_bytes)
    refuse({name}, size_problem(limit_bytes), size_fix);

  std::string text;
  std::array<char, 65536> chunk{};
  for (;;) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_errno(name, errno);
    if (got == 0) return text;
    // The file may have grown since its size was asked.
    if (text.size() + static_cast<std::size_t>(got) > limit_bytes)
      refuse({name}, size_problem(limit_bytes), size_fix);
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

const Files& disk() {
  class Disk : public Files {
   public:
    bool has(const std::filesystem::path& path) const override {
      std::error_code error;
      return std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error);
    }
    std::string text(const std::filesystem::path& path) const override { return read_text(path); }
  };
  static const Disk files;
  return files;
}

Node parse_document(const std::string& text, const std::string& name, const DocumentLimits& limits) {
  if (text.size() > limits.bytes) refuse({name}, size_problem(limits.bytes), size_fix);
  check_characters(text, name);
  const std::string_view byte_order_mark = "\xEF\xBB\xBF";
  const std::string body = text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text;
  Node root;
  if (!is_blank(body))
    root = name.ends_with(".json") ? parse_json(body, name, limits) : parse_yaml(body, name, limits);
  if (root.at.line == 0) root.at = {name, 1, 1};
  return root;
}

Node read_document(const std::filesystem::path& path, const DocumentLimits& limits) {
  return parse_document(read_text(path, limits.bytes), path.string(), limits);
}

}  // namespace trnplan
