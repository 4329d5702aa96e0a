// Runs fuzz targets over the files of folders, without a fuzzing engine. With --numbers N it adds N texts per
// file, in which numbers at their bounds replace the file's.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/numbers.h"
#include "tests/fuzz/targets.h"

namespace {

namespace fs = std::filesystem;
using trnplan::fuzz::Target;

/// Bytes; larger files are for what is slow of size, and are run as they are.
constexpr std::size_t kMostVaried = 1 << 14;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// What runs, for who looks for it when a signal ended the program.
const std::string* running = nullptr;

extern "C" void show_running(int signal) {
  if (running != nullptr) {
    (void)!::write(STDERR_FILENO, running->data(), running->size());
    running = nullptr;
  }
  ::raise(signal);  // by its default, since SA_RESETHAND
}

void show_what_ends() {
  struct sigaction action {};
  action.sa_handler = show_running;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGABRT, SIGFPE, SIGSEGV}) ::sigaction(signal, &action, nullptr);
}

void run(const Target& target, const std::string& text) {
  running = &text;
  target.run(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

void replay(const Target& target, const fs::path& file, int numbers) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  run(target, text);
  if (text.size() > kMostVaried) return;
  const auto seed =
      std::accumulate(text.begin(), text.end(), std::uint64_t{0},
                      [](std::uint64_t sum, char c) { return sum * 31 + static_cast<unsigned char>(c); });
  for (int i = 0; i < numbers; ++i)
    run(target, trnplan::fuzz::with_numbers(text, seed + static_cast<std::uint64_t>(i)));
}

const Target* find(std::string_view name) {
  const auto* found = std::find_if(std::begin(trnplan::fuzz::kTargets), std::end(trnplan::fuzz::kTargets),
                                   [&](const Target& t) { return name == t.name; });
  return found == std::end(trnplan::fuzz::kTargets) ? nullptr : found;
}

}  // namespace

int main(int argc, char** argv) {
  const Target* target = argc < 3 ? nullptr : find(argv[1]);
  const bool varied = argc > 4 && std::string_view(argv[2]) == "--numbers";
  if (target == nullptr) {
    std::fprintf(stderr, "usage: %s TARGET [--numbers N] FOLDER ...\n", argv[0]);
    return 2;
  }
  show_what_ends();
  const int numbers = varied ? std::atoi(argv[3]) : 0;
  for (int i = varied ? 4 : 2; i < argc; ++i) {
    const std::vector<fs::path> files = files_in(argv[i]);
    if (files.empty()) {
      std::fprintf(stderr, "%s holds no file\n", argv[i]);
      return 1;
    }
    for (const fs::path& file : files) {
      try {
        replay(*target, file, numbers);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "%s: %s\n", file.c_str(), e.what());
        return 1;
      }
    }
    std::printf("%s: %zu files\n", argv[i], files.size());
  }
  return 0;
}
