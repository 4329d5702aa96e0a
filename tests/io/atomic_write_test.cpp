#include "io/atomic_write.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/catch.h"

using namespace trnplan;
namespace fs = std::filesystem;

namespace {

struct Scratch {
  fs::path path;
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "trnplan-write-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~Scratch() {
    chmod(path.c_str(), 0700);
    fs::remove_all(path);
  }
};

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::vector<Diagnostic> faults_of(const fs::path& folder, const std::vector<io::OutputFile>& files,
                                  bool force = false) {
  try {
    io::write_files(folder, files, force);
  } catch (const InputError& e) {
    for (const Diagnostic& d : e.faults()) CHECK_FALSE(d.fix.empty());
    return e.faults();
  }
  return {};
}

}  // namespace

TEST_CASE("files appear with their text and rights", "[io][write]") {
  const Scratch scratch;
  const fs::path folder = scratch.path / "a" / "b/";
  io::write_files(folder, {{"config.yaml", "x: 1\n"}, {"run.sh", "#!/bin/sh\n", true}, {"empty", ""}}, false);
  CHECK(entries(folder) == 3);
  CHECK(text_of(folder / "config.yaml") == "x: 1\n");
  CHECK((fs::status(folder / "run.sh").permissions() & fs::perms::owner_exec) != fs::perms::none);
  CHECK((fs::status(folder / "config.yaml").permissions() & fs::perms::owner_exec) == fs::perms::none);
}

TEST_CASE("files may lie one folder below, and go together", "[io][write]") {
  const Scratch scratch;
  io::write_files(scratch.path / "new", {{"a", "1"}, {"a", "2", false, "below"}, {"b", "3", true, "below"}},
                  false);
  CHECK(text_of(scratch.path / "new" / "a") == "1");
  CHECK(text_of(scratch.path / "new" / "below" / "a") == "2");
  CHECK(text_of(scratch.path / "new" / "below" / "b") == "3");
  CHECK(entries(scratch.path / "new") == 2);
  const auto faults = faults_of(scratch.path / "new", {{"c", "4"}, {"a", "5", false, "below"}});
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].at.file == (scratch.path / "new" / "below" / "a").string());
  CHECK(entries(scratch.path / "new") == 2);
  for (const char* folder : {".", "..", "x/y", "/etc"}) {
    CAPTURE(folder);
    CHECK(faults_of(scratch.path / "other", {{"a", "1", false, folder}}).size() == 1);
  }
  CHECK(faults_of(scratch.path / "other", {{"a", "1", false, "x"}, {"a", "2", false, "x"}}).size() == 1);
  // A file stands where the folder would be.
  CHECK(faults_of(scratch.path / "new", {{"d", "1"}, {"d", "1", false, "a"}}).size() == 1);
  CHECK(entries(scratch.path) == 1);
}

TEST_CASE("nothing is overwritten unasked", "[io][write]") {
  const Scratch scratch;
  io::write_files(scratch.path, {{"a", "1"}, {"b", "2"}}, false);
  const auto faults = faults_of(scratch.path, {{"a", "3"}, {"b", "4"}, {"c", "5"}});
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].at.file == (scratch.path / "a").string());
  CHECK(text_of(scratch.path / "a") == "1");
  CHECK(entries(scratch.path) == 2);
  io::write_files(scratch.path, {{"a", "3"}, {"c", "5"}}, true);
  CHECK(text_of(scratch.path / "a") == "3");
  CHECK(entries(scratch.path) == 3);
}

TEST_CASE("a link is replaced, not followed", "[io][write]") {
  const Scratch scratch;
  std::ofstream(scratch.path / "target") << "old";
  fs::create_symlink("target", scratch.path / "link");
  CHECK(faults_of(scratch.path, {{"link", "new"}}).size() == 1);
  io::write_files(scratch.path, {{"link", "new"}}, true);
  CHECK(text_of(scratch.path / "target") == "old");
  CHECK(text_of(scratch.path / "link") == "new");
}

TEST_CASE("bad names and places are refused and leave nothing", "[io][write]") {
  const Scratch scratch;
  for (const char* name : {"", ".", "..", "a/b", "../a", "/etc/x", "a\nb"}) {
    CAPTURE(name);
    CHECK(faults_of(scratch.path / "new", {{name, "x"}}).size() == 1);
  }
  CHECK(faults_of(scratch.path / "new", {{"a", "x"}, {"a", "y"}}).size() == 1);
  CHECK(faults_of("", {{"a", "x"}}).size() == 1);
  std::ofstream(scratch.path / "file") << "x";
  CHECK(faults_of(scratch.path / "file", {{"a", "x"}}).size() == 1);
  CHECK(faults_of(scratch.path / "file" / "below", {{"a", "x"}}).size() == 1);
  fs::create_directory(scratch.path / "folder");
  CHECK(faults_of(scratch.path, {{"folder", "x"}}, true).size() == 1);
  CHECK(faults_of(scratch.path / "new" / "deep", {{"ok", "x"}, {std::string(300, 'n'), "x"}}).size() == 1);
  CHECK(entries(scratch.path) == 2);
}

TEST_CASE("a full disk leaves neither files nor folders", "[io][write]") {
  const Scratch scratch;
  // A limit on file size fails a write half way, as a full disk does.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto faults =
      faults_of(scratch.path / "new" / "deep", {{"a", "1"}, {"big", std::string(100'000, 'x')}});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].problem.find("cannot write") != std::string::npos);
  CHECK(entries(scratch.path) == 0);
}

TEST_CASE("a folder without the right to write is refused", "[io][write]") {
  if (geteuid() == 0) return;  // root may write everywhere
  const Scratch scratch;
  chmod(scratch.path.c_str(), 0500);
  CHECK(faults_of(scratch.path, {{"a", "x"}}).size() == 1);
  CHECK(faults_of(scratch.path / "new", {{"a", "x"}}).size() == 1);
}

TEST_CASE("one file names the path it was given", "[io][write]") {
  const Scratch scratch;
  const auto problem = [](const std::filesystem::path& path, bool force) -> Diagnostic {
    try {
      io::write_file(path, "text", force);
    } catch (const InputError& e) {
      return e.faults().front();
    }
    return {};
  };
  const auto file = scratch.path / "a.json";
  CHECK(problem(file, false).problem.empty());
  CHECK(problem(file, false).problem == "the file exists already");
  CHECK(problem(file, false).fix == "choose another file, or overwrite with --force");
  CHECK(problem(file, true).problem.empty());
  CHECK(problem(scratch.path / "new" / "a.json", false).problem == "its folder does not exist");
  CHECK(problem(file / "b.json", false).at.file == (file / "b.json").string());
  CHECK(problem(scratch.path, true).problem == "is a folder");
  CHECK(entries(scratch.path) == 1);
  const auto long_name = scratch.path / std::string(300, 'n');
  CHECK(problem(long_name, false).at.file == long_name.string());
  CHECK(problem(long_name, false).fix == "choose another file");
}
