#include "tests/cli/run_cli.h"

#include <fcntl.h>
#include <regex.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>
#include <utility>

#include "cli/commands.h"
#include "tests/catch.h"

namespace trnplan::cli {

namespace fs = std::filesystem;

namespace {

const fs::path& source() {
  static const fs::path folder = fs::canonical(TRNPLAN_SOURCE_DIR);
  return folder;
}

/// Sends a file descriptor to memory while it lives.
class Captured {
 public:
  explicit Captured(int descriptor)
      : descriptor_(descriptor), before_(::dup(descriptor)), memory_(::memfd_create("trnplan", 0)) {
    if (before_ < 0 || memory_ < 0 || ::dup2(memory_, descriptor) < 0)
      throw std::runtime_error("no descriptors left");
  }
  ~Captured() {
    ::dup2(before_, descriptor_);
    ::close(before_);
    ::close(memory_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  std::string text() const {
    std::string all(static_cast<std::size_t>(::lseek(memory_, 0, SEEK_END)), '\0');
    if (::pread(memory_, all.data(), all.size(), 0) != static_cast<ssize_t>(all.size()))
      throw std::runtime_error("cannot read what was printed");
    return all;
  }

 private:
  int descriptor_, before_, memory_;
};

struct Folder {
  explicit Folder(const fs::path& to) : before(fs::current_path()) { fs::current_path(to); }
  ~Folder() { fs::current_path(before); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path before;
};

bool name_letter(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c));
}

}  // namespace

Ran run(const std::vector<std::string>& arguments, const fs::path& here) {
  ::setenv("TRNPLAN_CATALOG", (source() / "catalog").c_str(), 0);
  ::setenv("COLUMNS", "1000", 0);  // what tests look for is not broken into lines
  std::vector<const char*> argv{"trnplan"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  const Folder folder(here);
  std::fflush(stdout);
  std::fflush(stderr);
  const int input = ::dup(0), nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::close(nothing);
  Ran ran;
  {
    const Captured out(1), err(2);
    ran.exit = run_cli(static_cast<int>(argv.size()) - 1, argv.data());
    std::fflush(stdout);
    std::fflush(stderr);
    ran.out = out.text();
    ran.err = err.text();
  }
  ::dup2(input, 0);
  ::close(input);
  return ran;
}

bool matches(const std::string& text, const std::string& regex) {
  regex_t compiled;
  if (::regcomp(&compiled, regex.c_str(), REG_EXTENDED | REG_NOSUB | REG_NEWLINE) != 0) {
    throw std::invalid_argument("no regular expression: " + regex);
  }
  const bool found = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  ::regfree(&compiled);
  return found;
}

std::vector<std::string> words(const std::string& line, const std::map<std::string, std::string>& names) {
  std::vector<std::string> all;
  std::string word;
  bool within = false, kept = false, quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (kept) {
      if (c == '\'')
        kept = false;
      else
        word += c;
    } else if (c == '\'' && !quoted) {
      kept = within = true;
    } else if (c == '"') {
      quoted = !quoted;
      within = true;
    } else if (c == ' ' && !quoted) {
      if (within) all.push_back(std::exchange(word, {}));
      within = false;
    } else if (c == '$') {
      const bool braces = i + 1 < line.size() && line[i + 1] == '{';
      std::size_t end = i + 1 + braces;
      while (end < line.size() && name_letter(line[end])) ++end;
      word += names.at(line.substr(i + 1 + braces, end - i - 1 - braces));
      i = end - 1 + braces;
      within = true;
    } else {
      word += c;
      within = true;
    }
  }
  if (within) all.push_back(word);
  return all;
}

Session::Session() {
  std::string name = (fs::temp_directory_path() / "trnplan-cli-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for files: " + name);
  work_ = name;
  here_ = work_ / "here";
  fs::create_directory(here_);
  names_ = {{"source", source().string()},
            {"work", work_.string()},
            {"here", here_.string()},
            {"regress", (source() / "tests/regress").string()},
            {"job", (source() / "tests/regress/job").string()},
            {"example", (source() / "examples/llama3-8b-one-node/job.yaml").string()}};
}

Session::~Session() {
  std::error_code ignored;
  fs::remove_all(work_, ignored);
}

const Ran& Session::run(const std::string& command) {
  shown_ = "trnplan " + command;
  last = cli::run(words(command, names_), here_);
  return last;
}

const Ran& Session::run_with(const std::string& variable, const std::string& value,
                             const std::string& command) {
  const char* before = std::getenv(variable.c_str());
  const std::string kept = before == nullptr ? "" : before;
  ::setenv(variable.c_str(), value.c_str(), 1);
  run(command);
  if (before == nullptr)
    ::unsetenv(variable.c_str());
  else
    ::setenv(variable.c_str(), kept.c_str(), 1);
  return last;
}

void Session::expect(int code, const std::string& regex, const std::string& command) {
  run(command);
  INFO(shown_ << "\n" << last.err.substr(0, 400));
  CHECK(last.exit == code);
  INFO("no line matches " << regex << " in\n" << last.out.substr(0, 2000));
  CHECK((matches(last.out, regex) || matches(last.err, regex)));
}

void Session::refused(const std::string& regex, const std::string& fix, const std::string& command) {
  run(command);
  INFO(shown_ << "\n" << last.err.substr(0, 1000));
  CHECK(last.exit == 2);
  CHECK(last.out.empty());
  INFO("no message matches " << regex);
  CHECK(matches(last.err, regex));
  CHECK(matches(last.err, fix));
  wrote_nothing();
}

void Session::refuse(const std::string& regex, const std::string& command) {
  refused(regex, "^  fix: .", command);
}

void Session::refuse_usage(const std::string& regex, const std::string& command) {
  refused(regex, "fix: .|--help", command);
}

void Session::prints(const std::string& regex) {
  INFO(shown_ << " does not print " << regex << " in\n" << last.out.substr(0, 3000));
  CHECK(matches(last.out, regex));
}

void Session::prints_no(const std::string& regex) {
  INFO(shown_ << " prints " << regex);
  CHECK_FALSE(matches(last.out, regex));
}

void Session::says(const std::string& regex) {
  INFO(shown_ << " does not say " << regex << " in\n" << last.err.substr(0, 3000));
  CHECK(matches(last.err, regex));
}

void Session::says_no(const std::string& regex) {
  INFO(shown_ << " says " << regex);
  CHECK_FALSE(matches(last.err, regex));
}

void Session::wrote_nothing() {
  INFO(shown_ << " left files behind");
  CHECK(fs::is_empty(here_));
  for (const auto& entry : fs::directory_iterator(here_)) fs::remove_all(entry);
}

void Session::write(const std::string& file, const std::string& text) {
  const fs::path path = work_ / file;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string Session::read(const std::string& path) const {
  std::ifstream stream(words(path, names_).at(0), std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void Session::holds(const std::string& path, const std::string& regex) {
  INFO(shown_ << ": " << path << " does not hold " << regex);
  CHECK(matches(read(path), regex));
}

void Session::lacks(const std::string& path, const std::string& regex) {
  INFO(shown_ << ": " << path << " holds " << regex);
  const std::string text = read(path);
  CHECK_FALSE(text.empty());
  CHECK_FALSE(matches(text, regex));
}

void Session::change(const std::string& from, const std::string& to,
                     const std::vector<std::pair<std::string, std::string>>& replacements) {
  std::string text = read(from);
  for (const auto& [regex, by] : replacements) {
    const std::string changed = std::regex_replace(text, std::regex(regex), by);
    INFO(from << " holds no " << regex);
    CHECK(changed != text);
    text = changed;
  }
  write(to, text);
}

void Session::write_job(const std::string& file, const std::string& model, int nodes, int batch,
                        const std::string& pins) {
  std::string quoted;
  const std::string name = words(model, names_).at(0);
  for (const char c : name) {
    if (c == '\\' || c == '"') quoted += '\\';
    quoted += c;
  }
  write(file, "model: \"" + quoted + "\"\ntraining: {sequence: 8192, global_batch: " + std::to_string(batch) +
                  "}\ncluster: {instance: trn1.32xlarge, nodes: " + std::to_string(nodes) + "}\npin: {" +
                  pins + "}\n");
}

void Session::write_free(const std::string& file, const std::string& training, const std::string& cluster,
                         const std::string& lines) {
  write(file, "model: llama3-8b\ntraining: {sequence: 8192, " + training + "}\ncluster: {" + cluster + "}\n" +
                  lines);
}

}  // namespace trnplan::cli
