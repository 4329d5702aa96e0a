// What every command shares: options, exit codes, where results and remarks go.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/catalog/catalog.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "text/diagnostic.h"

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
  std::string format = "text";   ///< text or json
  std::string profile = "trn1";  ///< a catalogue profile or a file

  bool json() const { return format == "json"; }
};

/// The profile by name, or from a file when `common.profile` ends in .json. Throws InputError.
models::Profile load_profile(const io::Catalog& catalog, const Common& common);
/// Says so when the profile is for another family than that of `instance`.
void remark_family(const io::Catalog& catalog, const models::Profile& profile,
                   const topology::Instance& instance);
/// The catalogue's instance of that name; an unknown one is blamed on --instance.
topology::Instance instance_option(const io::Catalog& catalog, const std::string& name);

/// For a command that looks at one cluster and one batch: says which of those the job leaves free it takes.
void settle(models::Job& job);

/// How to get a group over several nodes where the instance has no EFA device.
std::string no_efa_fix();

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
/// Columns of standard output, for tables.
int text_width();
void remark(std::string_view text);
/// A fault that does not end the run, with its place and fix.
void remark(const Diagnostic& fault);
void remarks(const std::vector<std::string>& notes);
/// The faults of wrong input, all of them.
void report_faults(const InputError& e);

}  // namespace trnplan::cli
