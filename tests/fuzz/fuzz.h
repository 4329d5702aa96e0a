// Shared parts of the fuzz targets.
//
// A target takes bytes as a file that someone supplies. It may refuse them with an InputError that states the
// place and the problem. Any other exception ends the program, as do the sanitizers and ensure().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "io/catalog/catalog.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::fuzz {

inline void ensure(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what.c_str());
  std::abort();
}

inline bool is_printable(const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (printable(line, line.size()) != line) return false;
    at = end + 1;
  }
  return true;
}

/// Runs `read`, which may throw InputError.
template <class Read>
void refusable(const Read& read) {
  try {
    read();
  } catch (const InputError& e) {
    ensure(!e.faults().empty(), "an InputError names a fault");
    ensure(is_printable(e.what()), "an InputError is safe to print");
    for (const Diagnostic& fault : e.faults()) {
      ensure(!fault.at.file.empty(), "a fault has a place");
      ensure(!fault.problem.empty() && !fault.fix.empty(), "a fault has a problem and a fix");
      ensure(is_printable(to_string(fault)), "a fault is safe to print");
    }
  }
}

/// Files in memory: a path from a fuzzed file finds only these, and nothing on the machine.
class InMemory : public Files {
 public:
  explicit InMemory(std::map<std::string, std::string> files) : files_(std::move(files)) {}

  void put(const std::string& path, std::string text) { files_[path] = std::move(text); }
  bool has(const std::filesystem::path& path) const override { return files_.count(path.string()) > 0; }
  std::string text(const std::filesystem::path& path) const override {
    const auto found = files_.find(path.string());
    if (found != files_.end()) return found->second;
    throw InputError(
        Diagnostic{{path.string()}, "", "cannot be read: there is no such file", "check the path"});
  }

 private:
  std::map<std::string, std::string> files_;
};

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return std::string(reinterpret_cast<const char*>(data), size);
}

/// The shipped catalogue, from any current folder.
inline const io::Catalog& catalog() {
  static const io::Catalog shipped(TRNPLAN_SOURCE_DIR "/catalog");
  return shipped;
}

inline std::string source_text(const char* path) {
  return read_text(std::filesystem::path(TRNPLAN_SOURCE_DIR) / path);
}

}  // namespace trnplan::fuzz
