// A profile, with its calibration and observations, read, written and read back.
#include "io/catalog/profile_reader.h"

#include <cmath>

#include "io/output/profile_json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

namespace {

void check(const models::Profile& p) {
  for (const models::Parameter of : p.schema->parameters()) {
    const models::Value& v = p.value(of);
    fuzz::ensure(std::isfinite(v.median) && v.median > 0, "a median is a positive number");
    fuzz::ensure(std::isfinite(v.log_sd) && v.log_sd >= 0, "a spread is a number");
  }
}

models::Profile read(const std::string& text) {
  return io::profile_from(parse_document(text, "p.json"), &fuzz::catalog());
}

/// What the file of a profile says does not change by being written again.
void check_again(const models::Profile& p) {
  const std::string text = io::profile_json(p, std::nullopt, p.schema->parameters(), "", "");
  try {
    const models::Profile again = read(text);
    check(again);
    fuzz::ensure(again.schema == p.schema, "a schema is kept");
    for (const models::Parameter of : p.schema->parameters()) {
      fuzz::ensure(again.value(of).median == p.value(of).median, "a median is read back as it was");
      fuzz::ensure(again.value(of).log_sd == p.value(of).log_sd, "a spread is read back as it was");
    }
    fuzz::ensure((again.calibration == nullptr) == (p.calibration == nullptr), "a calibration is kept");
    if (p.calibration != nullptr)
      fuzz::ensure(again.calibration->covariance == p.calibration->covariance, "a covariance is kept");
  } catch (const InputError& e) {
    fuzz::ensure(false, "what was written is read: " + std::string(e.what()));
  }
}

}  // namespace

void fuzz::profile_target(const std::uint8_t* data, std::size_t size) {
  fuzz::refusable([&] {
    const models::Profile p = read(fuzz::text_of(data, size));
    check(p);
    check_again(p);
  });
}
