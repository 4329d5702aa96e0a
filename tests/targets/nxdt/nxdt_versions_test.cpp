#include "targets/nxdt/nxdt_versions.h"

#include <algorithm>

#include "planner/plan/space.h"
#include "targets/nxdt/nxdt_config.h"
#include "targets/nxdt/nxdt_target.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using targets::find_version;

namespace {

models::Software software(std::string version, std::string release = "") {
  models::Software s;
  s.framework = "nxdt";
  s.version = std::move(version);
  s.release = std::move(release);
  return s;
}

std::string version_of(const models::Software& s) {
  const targets::NxdtVersion* v = targets::version_of(s);
  return v == nullptr ? "" : std::string(v->version);
}

}  // namespace

TEST_CASE("a version is that of the job, else that of the release", "[targets]") {
  CHECK(version_of(software("1.4")) == "1.4");
  CHECK(version_of(software("1.1.1")) == "1.1");
  CHECK(version_of(software("1.6", "2.24")) == "1.6");
  CHECK(version_of(software("", "2.26.1")) == "1.6");
  CHECK(version_of(software("", "2.27")) == "1.7");  // by the manifest; the notes say 1.6
  CHECK(version_of(software("", "2.28")) == "1.7");
  CHECK(version_of(software("", "2.30")) == "1.7");
  for (const char* release : {"", "2.9", "2.20", "2.32", "x", "2"})
    CHECK(version_of(software("", release)).empty());
  for (const char* version : {"1.0", "1.8", "2.3", "new"}) CHECK(version_of(software(version)).empty());
}

TEST_CASE("the table of versions is in order", "[targets]") {
  const auto& all = targets::nxdt_versions();
  CHECK(std::is_sorted(all.begin(), all.end(),
                       [](const auto& a, const auto& b) { return a.version < b.version; }));
  for (const auto& v : all) CHECK(v.first_release <= v.last_release);
  CHECK(find_version(targets::kVersionRead) != nullptr);
}

TEST_CASE("what is not known of a version is a doubt, never a refusal", "[targets]") {
  CHECK(targets::version_doubts(software("1.6")).empty());
  CHECK(targets::version_doubts(software("1.6", "2.26")).empty());
  CHECK(targets::version_doubts(software("")).empty());
  CHECK(targets::version_doubts(software("1.9")).size() == 1);
  CHECK(targets::version_doubts(software("", "2.28")).empty());
  CHECK(targets::version_doubts(software("", "2.32")).size() == 1);
  const auto apart = targets::version_doubts(software("1.6", "2.24"));
  REQUIRE(apart.size() == 1);
  CHECK(apart[0] == "NxDT 1.6 came with Neuron 2.26, not with 2.24");
  models::Job job = job_of("llama3-8b", 1, 8192, 64);
  const models::Strategy cp = strategy_of(job, "tp=8,cp=2");
  for (const char* version : {"", "1.0", "1.9", "7.7"}) {
    job.software = software(version);
    CHECK(targets::nxdt().violations(job, cp).empty());
  }
}

// Context parallel and autocast came with 1.3, Neuron 2.23.
TEST_CASE("an old version plans without what it lacks", "[targets]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 64);
  const models::Strategy cp = strategy_of(job, "tp=8,cp=2");
  job.software = software("1.2");
  REQUIRE(targets::nxdt().violations(job, cp).size() == 1);
  CHECK(targets::nxdt().violations(job, cp)[0].message ==
        "context parallel came with NxDT 1.3 (Neuron 2.23), 1.2 does not have it");
  const planner::Space old = planner::space_of(job, &targets::nxdt());
  CHECK(std::all_of(old.strategies.begin(), old.strategies.end(),
                    [](const models::Strategy& s) { return s.context_parallel == 1; }));
  job.software = software("", "2.22");
  CHECK_FALSE(targets::nxdt().expresses(job, cp));
  job.software = software("", "2.23");
  CHECK(targets::nxdt().expresses(job, cp));
  models::Strategy autocast = strategy_of(job, "tp=8");
  autocast.precision = models::Precision::autocast;
  CHECK(targets::nxdt().expresses(job, autocast));
  job.software = software("1.2");
  CHECK_FALSE(targets::nxdt().expresses(job, autocast));
}

TEST_CASE("the linter knows versions", "[targets]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 64);
  const auto found = [&](const targets::NxdtConfig& config, const std::string& release,
                         const std::string& version) {
    std::string text;
    for (const targets::Finding& f : targets::lint(config, job.architecture, release, version)) {
      if (f.rule != "version") continue;
      text += f.severity == targets::Severity::error     ? 'E'
              : f.severity == targets::Severity::warning ? 'W'
                                                         : 'N';
    }
    return text;
  };
  const targets::NxdtConfig cp = targets::to_nxdt(job, strategy_of(job, "tp=8,cp=2"));
  CHECK(found(cp, "", "").empty());
  CHECK(found(cp, "", "1.6").empty());
  CHECK(found(cp, "", "1.4") == "N");
  CHECK(found(cp, "2.22", "") == "NE");
  CHECK(found(cp, "2.28", "") == "N");
  CHECK(found(cp, "2.32", "") == "W");
  CHECK(found(cp, "", "1.9") == "W");
  CHECK(found(cp, "2.24", "1.6") == "W");
  targets::NxdtConfig flags = targets::to_nxdt(job, strategy_of(job, "tp=8"));
  for (targets::NxdtKey& key : flags.keys) {
    if (key.key == "compiler_flags") key.text += " --distribution-strategy=llm-training";
  }
  CHECK(found(flags, "", "1.1") == "N");
  CHECK(found(flags, "", "1.6") == "W");
}

TEST_CASE("a config names the version it is for", "[targets]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 64);
  const auto text = [&] {
    return targets::nxdt().emit(job, strategy_of(job, "tp=8"), {"heading"}).front().text;
  };
  CHECK(text().find("Written for NxDT") == std::string::npos);
  job.software = software("1.4");
  job.software.in_flight = 3;
  CHECK(text().find("# Written for NxDT 1.4.\n") != std::string::npos);
  CHECK(text().find("aync_exec_max_inflight_requests: 3\n") != std::string::npos);
  CHECK(text().find("fuse_qkv: True\n") != std::string::npos);
  CHECK(text().find("sequential_move_factor") == std::string::npos);
  job.software.fuse_qkv = false;
  job.software.sequential_move = 8;
  CHECK(text().find("fuse_qkv: False\n") != std::string::npos);
  CHECK(text().find("sequential_move_factor: 8\n") != std::string::npos);
}
