#include "io/output/launch_json.h"

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

template <>
const Record<Diagnostic>& record() {
  static const Record<Diagnostic> described("Fault", "What has to be mended.",
                                            {{"file", path(&Diagnostic::at, &SourcePos::file)},
                                             {"line", path(&Diagnostic::at, &SourcePos::line), "0: none"},
                                             {"column", path(&Diagnostic::at, &SourcePos::column), "0: none"},
                                             {"key", &Diagnostic::key},
                                             {"problem", &Diagnostic::problem},
                                             {"fix", &Diagnostic::fix}});
  return described;
}

template <>
const Record<LaunchStory>& record() {
  using L = LaunchStory;
  static const Record<L> described(
      "LaunchResult", "What was submitted, or would be.",
      {{"scheduler", &L::scheduler},
       {"dry_run", &L::dry_run},
       {"already_submitted", &L::already,
        "`launch.json` in the folder, which has `schema_version`, `scheduler` and `jobs`, knew the jobs; its "
        "`begun` names a job whose submission was not seen to end"},
       {"jobs", &L::jobs, "the id of each; empty with `--dry-run`"},
       {"commands", &L::commands,
        "with `--dry-run` the argument vectors; COMPILE_JOB_ID stands for the id that compiling will get, "
        "trnplan-UNIQUE for a job's name. Where a check failed (exit code 2) they are what would run without "
        "it"},
       {"faults", [](const L& l) { return l.faults.empty() ? std::nullopt : std::optional(l.faults); },
        "where a check failed, what has to be mended", Absent::left_out}});
  return described;
}

std::string launch_json(const LaunchStory& story) {
  return document_of(story, 1);
}

const Description& launch_document() {
  return record<LaunchStory>().description();
}

}  // namespace trnplan::io
