// A profile, with its calibration and observations, read, written and read back.
#include "io/catalog/profile_reader.h"

#include <cmath>

#include "io/output/profile_json.h"
#include "tests/fuzz/fuzz.h"

using namespace trnplan;

namespace {

constexpr auto kParameters = static_cast<std::size_t>(models::Parameter::count);

void check(const models::Profile& p) {
  for (std::size_t i = 0; i < kParameters; ++i) {
    const models::Value& v = p.values[i];
    fuzz::ensure(std::isfinite(v.median) && v.median > 0, "a median is a positive number");
    fuzz::ensure(std::isfinite(v.log_sd) && v.log_sd >= 0, "a spread is a number");
  }
}

models::Profile read(const std::string& text) {
  return io::profile_from(parse_document(text, "p.json"), &fuzz::catalog());
}

/// What the file of a profile says does not change by being written again.
void check_again(const models::Profile& p) {
  std::vector<models::Parameter> all;
  for (std::size_t i = 0; i < kParameters; ++i) all.push_back(static_cast<models::Parameter>(i));
  const std::string text = io::profile_json(p, std::nullopt, all, "", "");
  try {
    const models::Profile again = read(text);
    check(again);
    for (std::size_t i = 0; i < kParameters; ++i) {
      fuzz::ensure(again.values[i].median == p.values[i].median, "a median is read back as it was");
      fuzz::ensure(again.values[i].log_sd == p.values[i].log_sd, "a spread is read back as it was");
    }
    fuzz::ensure((again.calibration == nullptr) == (p.calibration == nullptr), "a calibration is kept");
    if (p.calibration != nullptr)
      fuzz::ensure(again.calibration->covariance == p.calibration->covariance, "a covariance is kept");
  } catch (const InputError& e) {
    fuzz::ensure(false, "what was written is read: " + std::string(e.what()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::refusable([&] {
    const models::Profile p = read(fuzz::text_of(data, size));
    check(p);
    check_again(p);
  });
  return 0;
}
