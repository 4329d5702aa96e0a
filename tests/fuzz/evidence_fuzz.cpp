// The list "observations" of a profile: read, written, read back, and reported with a job.
#include "io/catalog/observations.h"

#include "io/input/strategy_text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

namespace {

const char* const kProfile = R"({"name": "mine", "base": "trn1", "parameters": {}, "evidence": )";

models::Job job() {
  models::Job job;
  job.architecture = fuzz::catalog().architecture("llama3-8b");
  job.training = {8192, 1024, 0, models::Precision::mixed_precision};
  job.cluster = {fuzz::catalog().instance("trn1.32xlarge"), 1};
  return job;
}

std::vector<planner::Observation> observations_in(const std::string& text) {
  std::vector<Diagnostic> faults;
  const Node root = parse_document(text, "p.json");
  const Node* list = root.find("evidence");
  std::vector<planner::Observation> all =
      list == nullptr ? std::vector<planner::Observation>() : io::observations_from(*list, faults);
  if (!faults.empty()) throw InputError(std::move(faults));
  return all;
}

}  // namespace

void fuzz::evidence_target(const std::uint8_t* data, std::size_t size) {
  static const models::Job asked = job();
  static const models::Strategy strategy = io::parse_strategy("tp=16,recompute=CoreAttention", asked);
  fuzz::refusable([&] {
    const auto all = observations_in(kProfile + fuzz::text_of(data, size) + "}");
    for (const std::string& line : planner::remarks_on(all, asked, strategy))
      fuzz::ensure(fuzz::is_printable(line), "a remark is safe to print");
    const std::string text = io::with_observations(std::string(kProfile) + "[]}", all);
    try {
      const auto again = observations_in(text);
      fuzz::ensure(again.size() <= all.size(), "nothing is added");
      fuzz::ensure(io::with_observations(text, all) == text, "recorded again, the same bytes");
    } catch (const InputError& e) {
      fuzz::ensure(false, "what was written is read: " + std::string(e.what()));
    }
  });
}
