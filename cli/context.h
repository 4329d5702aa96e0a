// What every command shares: options, exit codes, where results and remarks go.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "text/diagnostic.h"
#include "text/remarks.h"

namespace trnplan::cli {

enum ExitCode : int {
  kDone = 0,
  kBadInput = 2,          ///< the user's input is wrong
  kNoPlan = 3,            ///< no feasible plan, or a refused config
  kSchedulerRefused = 4,  ///< or a program it was to run failed
  kBug = 70,              ///< our fault
  kInterrupted = 130,     ///< by Ctrl-C
};

/// Options every command has.
struct Common {
  std::string format = "text";  ///< text or json
  std::string profile;          ///< a catalogue profile or a file; "": the catalogue's
  std::string document;         ///< --json, of commands that have it: the document goes into this file, too

  bool json() const { return format == "json"; }
};

/// Results go to standard output, remarks to standard error. Of both only printable text reaches a terminal:
/// names that a user's file holds may not drive it. print() throws InputError when the output is lost (disk
/// full, closed pipe). print_text() is for what people read: it breaks lines that do not fit
/// (cli/text/wrap.h). Remarks and errors are broken for a terminal alone.
void print(std::string_view text);
void print_text(std::string_view text);
/// As print() does it: `text` with what is not printable replaced, line by line; tabs stay.
std::string printable_lines(std::string_view text);
/// The one or the other, by the format that was asked for.
void print_result(const Common& common, std::string_view result);
/// Likewise, and the document into the file of --json; `force` overwrites it. check_document() throws InputError,
/// before any work, where that would, and where the file is one of `others`, which the command reads or writes besides.
void print_answer(const Common& common, bool force, const std::function<std::string()>& text,
                  const std::function<std::string()>& document);
void check_document(const Common& common, bool force, const std::vector<std::string>& others);
/// Columns of standard output, for tables.
int text_width();
void remark(std::string_view text);
/// A fault that does not end the run, with its place and fix.
void remark(const Diagnostic& fault);
void say(const Remark& r);
/// For functions of api/: what they remark is said at once.
Remarks heard_remarks();
/// The faults of wrong input, all of them.
void report_faults(const InputError& e);

}  // namespace trnplan::cli
