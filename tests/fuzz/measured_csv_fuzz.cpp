// The CSV tables of published measurements.
#include "logs/table/measured_collectives.h"
#include "logs/table/measured_runs.h"
#include "logs/table/memory_cases.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::measured_csv_target(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::refusable([&] { logs::parse_measured_collectives(text, "collectives.csv"); });
  fuzz::refusable([&] { logs::parse_memory_cases(text, "cases.csv"); });
  fuzz::refusable(
      [&] { logs::memory_cases_of(logs::parse_measured_runs(text, "runs.csv"), {"trn1.32xlarge"}); });
}
