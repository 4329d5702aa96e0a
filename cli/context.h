// Shared by all commands: options, exit codes, and the output of results and remarks.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "io/output/document_rows.h"
#include "text/diagnostic.h"
#include "text/remarks.h"

namespace trnplan::cli {

enum ExitCode : int {
  kDone = 0,
  kBadInput = 2,          ///< the user's input is wrong
  kNoPlan = 3,            ///< no feasible plan, or a refused config
  kSchedulerRefused = 4,  ///< or a program that it ran failed
  kNotMet = 5,            ///< a plan misses what --require asks for
  kBug = 70,              ///< our own fault
  kInterrupted = 130,     ///< by Ctrl-C
};

/// Options of every command.
struct Common {
  std::string format = "text";  ///< text or json; csv or markdown of commands that have rows
  std::string profile;          ///< a catalogue profile or a file; "" = the catalogue's
  std::string document;         ///< --json, if the command has it: file for the document

  bool json() const { return format == "json"; }
  bool rows() const { return format == "csv" || format == "markdown"; }
};

/// Results go to standard output, remarks to standard error. Only printable text of both reaches a terminal,
/// so that names in a user's file cannot control it. print() throws InputError if the output is lost (disk
/// full, closed pipe). print_text() is for text that people read: it breaks lines that do not fit
/// (cli/text/wrap.h). Remarks and errors are broken only for a terminal.
void print(std::string_view text);
void print_text(std::string_view text);
/// `text` as print() writes it: unprintable characters are replaced, line by line; tabs stay.
std::string printable_lines(std::string_view text);
/// Prints the text or the document, by the requested format.
void print_result(const Common& common, std::string_view result);
/// Prints the rows of a document as CSV or Markdown. Requires: that is the requested format.
void print_rows(const Common& common, std::string_view document, const io::DocumentRows& rows);
/// Prints the text, the document or its rows, by the requested format, and writes the document into the file
/// of --json; `force` overwrites it. check_document() throws InputError, before any work, if that would fail,
/// or if the file is among `others`, which the command also reads or writes.
void print_answer(const Common& common, bool force, const std::function<std::string()>& text,
                  const std::function<std::string()>& document, const io::DocumentRows* rows = nullptr);
void check_document(const Common& common, bool force, const std::vector<std::string>& others);
/// Columns of standard output, for tables.
int text_width();
void remark(std::string_view text);
/// Prints a fault that does not end the run, with its place and fix.
void remark(const Diagnostic& fault);
void say(const Remark& r);
/// Receiver of remarks for functions of api/ that prints each at once.
Remarks printed_remarks();
/// Prints all faults of a wrong input.
void report_faults(const InputError& e);

}  // namespace trnplan::cli
