// Runs the command line in this process, as main() would, and checks its output: a thousand runs take no
// longer than their work. Tests that need the real program (signals, pipes, files read by bash) are in
// run.sh.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace trnplan::cli {

/// Results of a run: its exit code, standard output and standard error.
struct Ran {
  int exit = 0;
  std::string out, err;
};

/// Runs trnplan with `arguments` (those after the program's name), in folder `here`, without standard input,
/// with the catalogue of the source folder unless TRNPLAN_CATALOG is set. Restores the caller's current
/// folder.
Ran run(const std::vector<std::string>& arguments, const std::filesystem::path& here);

/// True if a line of `text` matches the POSIX extended regular expression, as in grep -E.
bool matches(const std::string& text, const std::string& regex);

/// Words of a command line as a shell splits them: blanks separate, '...' quotes, $name and ${name} are
/// replaced (also inside "..."). Nothing else is special.
std::vector<std::string> words(const std::string& line, const std::map<std::string, std::string>& names);

/// Runs of one test case, each in an empty folder, next to a folder for its files. Both are removed at the
/// end. Commands are lines of words() that may name $source, $work, $here, $regress, $job
/// (tests/regress/job), $example (a job of one node) and the names added by set(). Every function is a check
/// of Catch2 that reports the command.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Adds a name for commands.
  void set(const std::string& name, const std::string& value) { names_[name] = value; }
  const std::string& get(const std::string& name) const { return names_.at(name); }
  std::string work(const std::string& file) const { return (work_ / file).string(); }

  const Ran& run(const std::string& command);
  /// Runs as run() does, with one variable of the environment set.
  const Ran& run_with(const std::string& variable, const std::string& value, const std::string& command);
  /// Checks the exit code, and a line of the output or of the error.
  void expect(int code, const std::string& regex, const std::string& command);
  /// Checks a wrong input: exit 2, a message that matches and a fix on standard error, no other output.
  void refuse(const std::string& regex, const std::string& command);
  /// Checks a wrong command line, for which the message may point to --help instead of a fix.
  void refuse_usage(const std::string& regex, const std::string& command);
  /// Checks the last run: a line of standard output, or of standard error, matches; or none does.
  void prints(const std::string& regex);
  void prints_no(const std::string& regex);
  void says(const std::string& regex);
  void says_no(const std::string& regex);
  /// Checks that the run's folder is empty.
  void wrote_nothing();

  /// Writes a file of the folder `work`, and creates its parents.
  void write(const std::string& file, const std::string& text);
  std::string read(const std::string& path) const;
  /// Checks a file (a word of words()): a line matches; or none does.
  void holds(const std::string& path, const std::string& regex);
  void lacks(const std::string& path, const std::string& regex);
  /// Copies a file into `work`, with every match of the regular expression (ECMAScript) replaced.
  void change(const std::string& from, const std::string& to,
              const std::vector<std::pair<std::string, std::string>>& replacements);

  /// Writes a job for that many trn1.32xlarge; the model is a quoted YAML string, the pins are between
  /// braces.
  void write_job(const std::string& file, const std::string& model, int nodes, int batch,
                 const std::string& pins = "");
  /// Writes a job of Llama-3 8B: further keys of training, the cluster, further lines.
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
