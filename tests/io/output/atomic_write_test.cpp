#include "io/output/atomic_write.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>

#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/folder.h"

using namespace trnplan;
namespace fs = std::filesystem;

namespace {

std::string content_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::vector<Diagnostic> write_faults(const fs::path& folder, const std::vector<io::OutputFile>& files,
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
  const TestFolder scratch;
  const fs::path folder = scratch.path / "a" / "b/";
  io::write_files(folder, {{"config.yaml", "x: 1\n"}, {"run.sh", "#!/bin/sh\n", true}, {"empty", ""}}, false);
  CHECK(entries(folder) == 3);
  CHECK(content_of(folder / "config.yaml") == "x: 1\n");
  CHECK((fs::status(folder / "run.sh").permissions() & fs::perms::owner_exec) != fs::perms::none);
  CHECK((fs::status(folder / "config.yaml").permissions() & fs::perms::owner_exec) == fs::perms::none);
}

TEST_CASE("a file piece by piece is the same file, and gone when a piece fails", "[io][write]") {
  const TestFolder scratch;
  const auto pieces = [](int count, bool fails) {
    return [=](const std::function<void(std::string_view)>& write) {
      for (int i = 0; i < count; ++i) write(std::string(1000, static_cast<char>('a' + i % 26)));
      if (fails) throw std::runtime_error("no more");
    };
  };
  std::string whole;
  for (int i = 0; i < 3000; ++i) whole += std::string(1000, static_cast<char>('a' + i % 26));
  io::OutputFile large{"large", ""};
  large.pieces = pieces(3000, false);
  io::write_files(scratch.path / "new", {{"small", "1"}, large}, false);
  CHECK(content_of(scratch.path / "new" / "large") == whole);
  large.pieces = pieces(3000, true);
  CHECK_THROWS_AS(io::write_files(scratch.path / "other", {{"small", "1"}, large}, false),
                  std::runtime_error);
  CHECK_FALSE(fs::exists(scratch.path / "other"));
  CHECK_THROWS_AS(io::write_files(scratch.path / "new", {{"small", "2"}, large}, true), std::runtime_error);
  CHECK(content_of(scratch.path / "new" / "large") == whole);
  CHECK(entries(scratch.path / "new") == 2);
}

TEST_CASE("a disk without room is reported before the work", "[io][write]") {
  const TestFolder scratch;
  CHECK_NOTHROW(io::check_space(scratch.path / "not" / "there", 1));
  try {
    io::check_space(scratch.path / "not" / "there", 1'000'000'000'000'000'000);
    FAIL("an exabyte fits");
  } catch (const InputError& e) {
    CHECK(e.faults().front().problem.find("about 1000000000.0 GB are to be written") == 0);
    CHECK_FALSE(e.faults().front().fix.empty());
  }
  CHECK_FALSE(fs::exists(scratch.path / "not"));
}

TEST_CASE("files may lie one folder below, and go together", "[io][write]") {
  const TestFolder scratch;
  io::write_files(scratch.path / "new", {{"a", "1"}, {"a", "2", false, "below"}, {"b", "3", true, "below"}},
                  false);
  CHECK(content_of(scratch.path / "new" / "a") == "1");
  CHECK(content_of(scratch.path / "new" / "below" / "a") == "2");
  CHECK(content_of(scratch.path / "new" / "below" / "b") == "3");
  CHECK(entries(scratch.path / "new") == 2);
  const auto faults = write_faults(scratch.path / "new", {{"c", "4"}, {"a", "5", false, "below"}});
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].at.file == (scratch.path / "new" / "below" / "a").string());
  CHECK(entries(scratch.path / "new") == 2);
  for (const char* folder : {".", "..", "x/y", "/etc"}) {
    CAPTURE(folder);
    CHECK(write_faults(scratch.path / "other", {{"a", "1", false, folder}}).size() == 1);
  }
  CHECK(write_faults(scratch.path / "other", {{"a", "1", false, "x"}, {"a", "2", false, "x"}}).size() == 1);
  // A file stands where the folder would be.
  CHECK(write_faults(scratch.path / "new", {{"d", "1"}, {"d", "1", false, "a"}}).size() == 1);
  CHECK(entries(scratch.path) == 1);
}

TEST_CASE("nothing is overwritten unasked", "[io][write]") {
  const TestFolder scratch;
  io::write_files(scratch.path, {{"a", "1"}, {"b", "2"}}, false);
  const auto faults = write_faults(scratch.path, {{"a", "3"}, {"b", "4"}, {"c", "5"}});
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].problem.starts_with("2 of the 3 files"));
  CHECK(content_of(scratch.path / "a") == "1");
  CHECK(entries(scratch.path) == 2);
  io::write_files(scratch.path, {{"a", "3"}, {"c", "5"}}, true);
  CHECK(content_of(scratch.path / "a") == "3");
  CHECK(entries(scratch.path) == 3);
}

TEST_CASE("a link is replaced, not followed", "[io][write]") {
  const TestFolder scratch;
  std::ofstream(scratch.path / "target") << "old";
  fs::create_symlink("target", scratch.path / "link");
  CHECK(write_faults(scratch.path, {{"link", "new"}}).size() == 1);
  io::write_files(scratch.path, {{"link", "new"}}, true);
  CHECK(content_of(scratch.path / "target") == "old");
  CHECK(content_of(scratch.path / "link") == "new");
}

TEST_CASE("bad names and places are refused and leave nothing", "[io][write]") {
  const TestFolder scratch;
  for (const char* name : {"", ".", "..", "a/b", "../a", "/etc/x", "a\nb"}) {
    CAPTURE(name);
    CHECK(write_faults(scratch.path / "new", {{name, "x"}}).size() == 1);
  }
  CHECK(write_faults(scratch.path / "new", {{"a", "x"}, {"a", "y"}}).size() == 1);
  CHECK(write_faults("", {{"a", "x"}}).size() == 1);
  std::ofstream(scratch.path / "file") << "x";
  CHECK(write_faults(scratch.path / "file", {{"a", "x"}}).size() == 1);
  CHECK(write_faults(scratch.path / "file" / "below", {{"a", "x"}}).size() == 1);
  fs::create_directory(scratch.path / "folder");
  CHECK(write_faults(scratch.path, {{"folder", "x"}}, true).size() == 1);
  CHECK(write_faults(scratch.path / "new" / "deep", {{"ok", "x"}, {std::string(300, 'n'), "x"}}).size() == 1);
  CHECK(entries(scratch.path) == 2);
}

TEST_CASE("a full disk leaves neither files nor folders", "[io][write]") {
  const TestFolder scratch;
  // A limit on file size fails a write half way, as a full disk does.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto faults =
      write_faults(scratch.path / "new" / "deep", {{"a", "1"}, {"big", std::string(100'000, 'x')}});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].problem.find("cannot write") != std::string::npos);
  CHECK(entries(scratch.path) == 0);
}

TEST_CASE("a folder without the right to write is refused", "[io][write]") {
  if (geteuid() == 0) return;  // root may write everywhere
  const TestFolder scratch;
  chmod(scratch.path.c_str(), 0500);
  CHECK(write_faults(scratch.path, {{"a", "x"}}).size() == 1);
  CHECK(write_faults(scratch.path / "new", {{"a", "x"}}).size() == 1);
}

TEST_CASE("of files that exist already one fault tells", "[io][write]") {
  const TestFolder scratch;
  const auto faults = [&](const std::vector<std::string>& names) {
    try {
      io::check_files(scratch.path, names, false);
    } catch (const InputError& e) {
      return e.faults();
    }
    return std::vector<Diagnostic>{};
  };
  io::write_files(scratch.path, {{"a", ""}, {"b", ""}, {"c", ""}}, false);
  REQUIRE(faults({"x", "a"}).size() == 1);
  CHECK(faults({"x", "a"}).front().at.file == (scratch.path / "a").string());
  CHECK(faults({"a"}).front().fix == "choose another name, or overwrite with --force");
  REQUIRE(faults({"a", "b", "c", "x"}).size() == 1);
  const Diagnostic several = faults({"a", "b", "c", "x"}).front();
  CHECK(several.at.file == scratch.path.string());
  CHECK(several.problem == "3 of the 4 files to be written exist already, a among them");
  CHECK(several.fix == "choose another folder, or overwrite with --force");
}

TEST_CASE("one file names the path it was given", "[io][write]") {
  const TestFolder scratch;
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

namespace {

/// Runs `work` in a process of its own; its wait status.
template <class Work>
pid_t in_process(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) std::signal(signal, SIG_DFL);  // not Catch2's
    try {
      work();
    } catch (const InputError&) {
      ::_exit(2);
    }
    ::_exit(0);
  }
  return child;
}

int status_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

bool ended(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == child;
}

bool has_temporary(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& e : fs::directory_iterator(folder, error))
    if (e.path().filename().string().starts_with(".trnplan-")) return true;
  return false;
}

}  // namespace

TEST_CASE("a signal that ends us leaves no temporary file", "[io][write]") {
  const std::vector<io::OutputFile> files = [] {
    std::vector<io::OutputFile> all;
    for (int i = 0; i < 30; ++i) all.push_back({"file-" + std::to_string(i), std::string(1 << 18, 'x')});
    return all;
  }();
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) {
    TestFolder scratch;
    const fs::path folder = scratch.path / "new";
    const pid_t child = in_process([&] { io::write_files(folder, files, false); });
    while (!has_temporary(folder) && !ended(child)) {
    }
    ::kill(child, signal);
    const int status = status_of(child);
    INFO("signal " << signal << ", status " << status);
    CHECK_FALSE(has_temporary(folder));
    // All of them, when it came too late, or none.
    const bool all = fs::exists(folder) && entries(folder) == 30;
    CHECK((all || !fs::exists(folder)));
    CHECK((WIFSIGNALED(status) ? WTERMSIG(status) == signal : all));
  }
}

TEST_CASE("a file that grows beyond its limit is reported and leaves nothing", "[io][write]") {
  TestFolder scratch;
  const int status = status_of(in_process([&] {
    const rlimit limit{1 << 16, 1 << 16};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    io::write_files(scratch.path, {{"large", std::string(1 << 20, 'x')}}, false);
  }));
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 2));
  CHECK(entries(scratch.path) == 0);
}

TEST_CASE("processes that change a file at once lose nothing", "[io][write]") {
  TestFolder scratch;
  const fs::path file = scratch.path / "list";
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(in_process([&] {
      for (int n = 0; n < 10; ++n)
        io::update_file(file, true, [&] { return (fs::exists(file) ? content_of(file) : "") + "line\n"; });
    }));
  }
  for (const pid_t child : children) CHECK(status_of(child) == 0);
  CHECK(content_of(file).size() == 8 * 10 * 5);
  CHECK(entries(scratch.path) == 1);
}

TEST_CASE("processes that write a folder at once never mix", "[io][write]") {
  for (const bool force : {false, true}) {
    TestFolder scratch;
    const fs::path folder = scratch.path / "new";
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
      children.push_back(in_process([&] {
        std::vector<io::OutputFile> files;
        for (int n = 0; n < 8; ++n) files.push_back({"file-" + std::to_string(n), std::to_string(i)});
        io::write_files(folder, files, force);
      }));
    }
    int done = 0;
    for (const pid_t child : children) {
      const int status = status_of(child);
      CHECK((WIFEXITED(status) && (WEXITSTATUS(status) == 0 || (!force && WEXITSTATUS(status) == 2))));
      done += status == 0 ? 1 : 0;
    }
    CHECK(done == (force ? 6 : 1));
    CHECK(entries(folder) == 8);
    for (int n = 1; n < 8; ++n)
      CHECK(content_of(folder / ("file-" + std::to_string(n))) == content_of(folder / "file-0"));
  }
}

TEST_CASE("what could not be written is known before the work", "[io][write]") {
  TestFolder scratch;
  io::write_file(scratch.path / "file", "x", false);
  const auto faults = [&](const fs::path& folder, const std::vector<std::string>& names, bool force) {
    return faults_in([&] { io::check_files(folder, names, force); }).size();
  };
  CHECK(faults(scratch.path, {"a"}, false) == 0);
  CHECK(faults(scratch.path / "new" / "deep", {"a"}, false) == 0);
  CHECK(faults(scratch.path, {"a", "file"}, false) == 1);
  CHECK(faults(scratch.path, {"a", "file"}, true) == 0);
  CHECK(faults(scratch.path / "file", {"a"}, true) == 1);
  CHECK(faults(scratch.path / "file" / "below", {"a"}, true) == 1);
  CHECK(faults("/dev/null", {"a"}, true) == 1);
  CHECK(faults("", {"a"}, true) == 1);
  CHECK(faults(scratch.path / std::string(300, 'n'), {"a"}, true) == 1);
  CHECK(entries(scratch.path) == 1);
  CHECK(faults_in([&] { io::check_file("/dev/null", true); }).size() == 1);  // devices are not replaced
}
