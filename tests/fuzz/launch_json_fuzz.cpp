// launch.json of a plan's folder.
#include "launch/submit/submit.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::launch_json_target(const std::uint8_t* data, std::size_t size) {
  fuzz::refusable([&] {
    const launch::Submission s = launch::submission_from(fuzz::text_of(data, size), "launch.json");
    fuzz::ensure(!s.jobs.empty() || s.begun, "something was submitted");
    std::vector<launch::SubmittedJob> all = s.jobs;
    if (s.begun) all.push_back(*s.begun);
    for (const launch::SubmittedJob& j : all) {
      // Ids and names become arguments of squeue and sacct.
      fuzz::ensure(launch::is_plain_id(j.id), "an id is not an option and needs no escape");
      fuzz::ensure(j.what == "compile" || j.what == "train", "a job is known");
    }
    fuzz::ensure(fuzz::is_printable(s.scheduler), "a scheduler is safe to print");
    const launch::Submission again = launch::submission_from(launch::submission_json(s), "launch.json");
    fuzz::ensure(again.jobs.size() == s.jobs.size() && again.scheduler == s.scheduler &&
                     again.begun.has_value() == s.begun.has_value(),
                 "what was written is read");
  });
}
