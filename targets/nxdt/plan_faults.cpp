#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "targets/nxdt/baseline.h"
#include "targets/nxdt/nxdt_target.h"

namespace trnplan::targets {

namespace {

constexpr int kShown = 5;

/// Keys that the emitted config has and this one lacks.
void add_missing(const NxdtConfig& planned, const NxdtConfig& config, const std::string& anew,
                 std::vector<Diagnostic>& faults) {
  std::string missing;
  int count = 0;
  for (const NxdtKey& key : planned.keys) {
    if (config.find(key.key) != nullptr || config.has_section(key.key)) continue;
    if (++count <= kShown) missing += (missing.empty() ? "" : ", ") + key.key;
  }
  if (count > kShown) missing += fmt::format(" and {} more", count - kShown);
  if (count == 0) return;
  faults.push_back({{config.file, 0, 0},
                    "",
                    "keys that plan --out wrote are missing: " + missing,
                    "set a key to null to leave it to NxDT; if the file was cut off, " + anew});
}

void add_lint(const NxdtConfig& config, const models::Architecture& trained, const std::string& release,
              const std::string& version, const std::string& anew, std::vector<Diagnostic>& faults) {
  for (const Finding& f : lint(config, trained, release, version)) {
    if (f.severity != Severity::error) continue;
    SourcePos at = f.at;
    if (at.file.empty()) at.file = config.file;
    faults.push_back({at, f.key, f.message, f.fix.empty() ? anew : f.fix});
  }
}

}  // namespace

std::vector<Diagnostic> plan_faults(const NxdtConfig& config, const models::Job& job,
                                    const models::Strategy& strategy, const std::string& anew) {
  const models::Architecture trained = trained_architecture(config, job.architecture);
  std::vector<Diagnostic> faults = baseline_faults(job, config, trained);
  for (Diagnostic& d : faults) d.fix = anew;
  const NxdtConfig planned = to_nxdt(job, strategy);
  for (const Change& c : changes_to(job, strategy, config, trained)) {
    if (config.find(c.key) == nullptr && planned.find(c.key) != nullptr) continue;  // missing: told below
    faults.push_back({c.at, c.key, printable(c.from) + ", but plan.json says " + printable(c.to),
                      "write " + printable(c.to) + ", or pin it in the job and plan anew"});
  }
  add_missing(planned, config, anew, faults);
  add_lint(config, trained, job.software.release, job.software.version, anew, faults);
  return faults;
}

}  // namespace trnplan::targets
