// Runs fuzz targets over the files of folders, where no fuzzing engine is linked.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "tests/fuzz/targets.h"

namespace {

namespace fs = std::filesystem;
using trnplan::fuzz::Target;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void replay(const Target& target, const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  target.run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

const Target* find(std::string_view name) {
  const auto* found = std::find_if(std::begin(trnplan::fuzz::kTargets), std::end(trnplan::fuzz::kTargets),
                                   [&](const Target& t) { return name == t.name; });
  return found == std::end(trnplan::fuzz::kTargets) ? nullptr : found;
}

}  // namespace

int main(int argc, char** argv) {
  const Target* target = argc < 3 ? nullptr : find(argv[1]);
  if (target == nullptr) {
    std::fprintf(stderr, "usage: %s TARGET FOLDER ...\n", argv[0]);
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    const std::vector<fs::path> files = files_in(argv[i]);
    if (files.empty()) {
      std::fprintf(stderr, "%s holds no file\n", argv[i]);
      return 1;
    }
    for (const fs::path& file : files) {
      try {
        replay(*target, file);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "%s: %s\n", file.c_str(), e.what());
        return 1;
      }
    }
    std::printf("%s: %zu files\n", argv[i], files.size());
  }
  return 0;
}
