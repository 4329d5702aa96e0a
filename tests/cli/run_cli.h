// Runs the command line in this process, as main() would, and looks at what it printed: a thousand runs take
// no longer than their work. What needs the real program (signals, pipes, what bash makes of its files) is in
// run.sh.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace trnplan::cli {

/// What a run left: its exit code, standard output and standard error.
struct Ran {
  int exit = 0;
  std::string out, err;
};

/// trnplan with `arguments` (those behind the program's name), in folder `here`, without standard input, with
/// the catalogue of the source folder unless TRNPLAN_CATALOG is set. The caller's folder is the current one
/// again after it.
Ran run(const std::vector<std::string>& arguments, const std::filesystem::path& here);

/// Whether a line of `text` matches the POSIX extended regular expression, as grep -E has it.
bool matches(const std::string& text, const std::string& regex);

/// The words of a command line as a shell has them: blanks divide, '...' keeps, $name and ${name} are
/// replaced (also between "..."); nothing else is special.
std::vector<std::string> words(const std::string& line, const std::map<std::string, std::string>& names);

/// Runs of one test case, each in an empty folder, beside a folder for its files. Both are removed at the
/// end. Commands are lines of words() that may name $source, $work, $here, $regress, $job
/// (tests/regress/job), $example (a job of one node) and what set() adds. Every function is a check of Catch2
/// that tells the command.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// A name for commands.
  void set(const std::string& name, const std::string& value) { names_[name] = value; }
  const std::string& get(const std::string& name) const { return names_.at(name); }
  std::string work(const std::string& file) const { return (work_ / file).string(); }

  const Ran& run(const std::string& command);
  /// As run(), with one variable of the environment set.
  const Ran& run_with(const std::string& variable, const std::string& value, const std::string& command);
  /// The exit code, and a line of the output or of the error.
  void expect(int code, const std::string& regex, const std::string& command);
  /// Wrong input: exit 2, a message that matches and a fix on standard error, nothing else anywhere.
  void refuse(const std::string& regex, const std::string& command);
  /// A wrong command line may point to --help in place of a fix.
  void refuse_usage(const std::string& regex, const std::string& command);
  /// Of the last run: a line of standard output, or of standard error, that matches; or none that does.
  void prints(const std::string& regex);
  void prints_no(const std::string& regex);
  void says(const std::string& regex);
  void says_no(const std::string& regex);
  /// The run's folder is empty.
  void wrote_nothing();

  /// A file of the folder `work`; parents are made.
  void write(const std::string& file, const std::string& text);
  std::string read(const std::string& path) const;
  /// A line of a file (a word of words()) that matches; or none that does.
  void holds(const std::string& path, const std::string& regex);
  void lacks(const std::string& path, const std::string& regex);
  /// A copy of a file into `work`, every match of the regular expression (ECMAScript) replaced.
  void change(const std::string& from, const std::string& to,
              const std::vector<std::pair<std::string, std::string>>& replacements);

  /// A job of so many trn1.32xlarge; the model is written as a quoted YAML string, the pins between braces.
  void write_job(const std::string& file, const std::string& model, int nodes, int batch,
                 const std::string& pins = "");
  /// A job of Llama-3 8B: the rest of training, the cluster, further lines.
  void write_free(const std::string& file, const std::string& training, const std::string& cluster,
                  const std::string& lines = "");

  Ran last;

 private:
  void refused(const std::string& regex, const std::string& fix, const std::string& command);

  std::filesystem::path work_, here_;
  std::map<std::string, std::string> names_;
  std::string shown_;
};

}  // namespace trnplan::cli
