#include "text/document.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "text/tree_builder.h"

namespace trnplan {

namespace document {

[[noreturn]] void refuse(const SourcePos& at, std::string problem, std::string fix) {
  throw InputError(Diagnostic{at, "", std::move(problem), std::move(fix)});
}

void refuse_size(const std::string& name, std::size_t limit) {
  refuse({name}, "the file is larger than " + std::to_string(limit) + " bytes",
         "give the configuration file itself, not a log or a data file");
}

}  // namespace document

namespace {

using document::refuse;
using document::refuse_size;

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

void require_regular(const std::string& name, const struct stat& status) {
  if (S_ISDIR(status.st_mode))
    refuse({name}, "this is a folder, but a file was expected", "name a file in it");
  if (!S_ISREG(status.st_mode)) {
    refuse({name}, "this is not a regular file (a pipe, socket or device)",
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

/// Number of bytes of the well-formed UTF-8 character that starts at `i`; 0 when it is malformed (Unicode 15,
/// table 3-7).
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

/// Refuses control characters, because neither YAML nor JSON allows them and yaml-cpp takes one (0x04) for
/// the end of the file.
void check_characters(const std::string& text, const std::string& name) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      refuse(position_of(text, i, name), "a control character (code " + std::to_string(c) + ") is here",
             "give a text file; if it is UTF-16, save it as UTF-8");
    }
    const std::size_t length = utf8_length(text, i);
    if (length == 0)
      refuse(position_of(text, i, name), "the text is not UTF-8", "save the file as UTF-8 text");
    i += length;
  }
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
  // This check comes before opening, because opening a device or a pipe may already have an effect.
  if (::stat(path.c_str(), &status) != 0) refuse_errno(name, errno);
  require_regular(name, status);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) refuse_errno(name, errno);
  require_regular(name, status);
  if (static_cast<std::uintmax_t>(status.st_size) > limit_bytes) refuse_size(name, limit_bytes);

  std::string text;
  std::array<char, 65536> chunk{};
  for (;;) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_errno(name, errno);
    if (got == 0) return text;
    // The file may have grown since its size was read.
    if (text.size() + static_cast<std::size_t>(got) > limit_bytes) refuse_size(name, limit_bytes);
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
  if (text.size() > limits.bytes) refuse_size(name, limits.bytes);
  check_characters(text, name);
  const std::string_view byte_order_mark = "\xEF\xBB\xBF";
  const std::string body = text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text;
  Node root;
  if (!is_blank(body))
    root = name.ends_with(".json")   ? document::parse_json(body, name, limits)
           : name.ends_with(".toml") ? document::parse_toml(body, name, limits)
                                     : document::parse_yaml(body, name, limits);
  if (root.at.line == 0) root.at = {name, 1, 1};
  return root;
}

Node read_document(const std::filesystem::path& path, const DocumentLimits& limits) {
  return parse_document(read_text(path, limits.bytes), path.string(), limits);
}

}  // namespace trnplan
