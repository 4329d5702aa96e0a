#include "launch/scheduler/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "io/output/atomic_write.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

std::string pairs(const std::vector<SubmittedJob>& jobs) {
  std::string text;
  for (const SubmittedJob& j : jobs)
    text += fmt::format("{}\"{}\": \"{}\"", text.empty() ? "" : ", ", j.what, j.id);
  return "{" + text + "}";
}

}  // namespace

const SubmittedJob* Submission::find(std::string_view what) const {
  const auto it =
      std::find_if(jobs.begin(), jobs.end(), [&](const SubmittedJob& j) { return j.what == what; });
  return it == jobs.end() ? nullptr : &*it;
}

bool is_plain_id(const std::string& id) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  return !id.empty() && id[0] != '-' && id.find_first_not_of(kPlain) == std::string::npos;
}

std::string submission_json(const Submission& s) {
  const std::string begun = s.begun ? ", \"begun\": " + pairs({*s.begun}) : "";
  return fmt::format("{{\"schema_version\": 1, \"scheduler\": \"{}\", \"jobs\": {}{}}}\n", s.scheduler,
                     pairs(s.jobs), begun);
}

void keep(const fs::path& folder, const Submission& s) {
  io::write_file(folder / kStateFile, submission_json(s), true);
}

void forget(const fs::path& folder) {
  std::error_code ignored;
  fs::remove(folder / kStateFile, ignored);
}

}  // namespace trnplan::launch
