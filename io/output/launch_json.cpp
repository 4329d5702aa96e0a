#include "io/output/launch_json.h"

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

template <>
const Record<Diagnostic>& record() {
  static const Record<Diagnostic> described("Fault", "A fault that must be fixed.",
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
      "LaunchResult", "What was submitted, or would be submitted.",
      {{"scheduler", &L::scheduler},
       {"dry_run", &L::dry_run},
       {"already_submitted", &L::already,
        "`launch.json` in the folder, which has `schema_version`, `scheduler` and `jobs`, already had the "
        "jobs; its `begun` names a job whose submission did not visibly end"},
       {"jobs", &L::jobs, "the id of each; empty with `--dry-run`"},
       {"commands", &L::commands,
        "with `--dry-run` the argument vectors; COMPILE_JOB_ID is a placeholder for the id of the compile "
        "job, trnplan-UNIQUE for a job's name. If a check failed (exit code 2), they are what would run "
        "otherwise"},
       {"faults", [](const L& l) { return l.faults.empty() ? std::nullopt : std::optional(l.faults); },
        "if a check failed, what must be fixed", Absent::left_out}});
  return described;
}

std::string launch_json(const LaunchStory& story) {
  return document_of(story, 1);
}

const Description& launch_document() {
  return record<LaunchStory>().description();
}

}  // namespace trnplan::io
