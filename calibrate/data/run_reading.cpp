#include "calibrate/data/run_reading.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace trnplan::calibrate {

namespace {

/// The two numbers of "2.19".
std::optional<std::pair<int, int>> numbers_of(std::string_view release) {
  const std::size_t point = release.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view text) {
    int value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  const std::pair<int, int> both(number(release.substr(0, point)), number(release.substr(point + 1)));
  if (both.first < 0 || both.second < 0) return std::nullopt;
  return both;
}

bool before(const std::string& release, const std::string& other) {
  const auto a = numbers_of(release), b = numbers_of(other);
  return a && b && *a < *b;
}

}  // namespace

QuantityReading quantity_of(const RunReading& reading, const models::MeasuredRun& run,
                            const std::string& framework, const std::string& release) {
  QuantityReading found;
  for (const QuantityReading& q : reading.quantities) {
    if (!run.quantity.starts_with(q.quantity)) continue;
    if (!q.framework.empty() && q.framework != framework) continue;
    if (!q.from_release.empty() && (!numbers_of(release) || before(release, q.from_release))) continue;
    found = q;
  }
  return found;
}

models::Precision precision_of(const RunReading& reading, models::Precision stated,
                               const std::string& framework, const std::string& release) {
  for (const PrecisionReading& p : reading.precisions) {
    if (p.framework == framework && p.stated == stated && before(release, p.before_release)) return p.meant;
  }
  return stated;
}

}  // namespace trnplan::calibrate
