#include "calibrate/event_file.h"

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "calibrate/step_log.h"
#include "calibrate/wire_reader.h"

namespace trnplan::calibrate {

namespace {

constexpr std::size_t kHeader = 12, kFooter = 4;
constexpr std::string_view kTimes[] = {"train_step_timing", "train_step_timing in s", "iteration_time"};
constexpr std::size_t kTags = 1000;
constexpr std::size_t kPoints = 2'000'000;
constexpr std::uint32_t kCrcPolynomial = 0x82F63B78;  // reflected
constexpr std::uint32_t kMaskDelta = 0xA282EAD8;

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCrcPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

struct Point {
  std::int64_t step = 0;
  double wall = 0;   ///< s
  double value = 0;  ///< NaN: no scalar
  int record = 0;
};

/// The only element of a tensor of rank 0; NaN for other types (tensor.proto: dtype 1 float, 2 double, 3
/// int32, 9 int64).
double scalar_of_tensor(std::string_view message) {
  double value = std::nan("");
  std::uint64_t type = 0;
  std::string_view content;
  bool empty = true;
  WireReader fields(message);
  while (fields.next()) {
    const bool packed = fields.wire == WireReader::Wire::bytes;
    if (fields.field == 1 && !packed) type = fields.number;
    if (fields.field == 4 && packed) content = fields.bytes;
    if (fields.field < 5 || fields.field > 10 || fields.field == 8 || fields.field == 9) continue;
    empty = false;
    if (packed && (fields.field == 5 || fields.field == 6)) {
      content = fields.bytes;
    } else if (packed) {
      // Of packed varints the first.
      const std::string one = "\x08" + std::string(fields.bytes.substr(0, 10));
      WireReader first(one);
      if (first.next()) value = static_cast<double>(static_cast<std::int64_t>(first.number));
    } else {
      value =
          fields.field <= 6 ? fields.real() : static_cast<double>(static_cast<std::int64_t>(fields.number));
    }
  }
  if (content.empty()) return empty && !fields.failed() ? 0 : value;
  if (type == 1 && content.size() >= 4) {
    return static_cast<double>(std::bit_cast<float>(little_endian<std::uint32_t>(content)));
  }
  if (type == 2 && content.size() >= 8) return std::bit_cast<double>(little_endian<std::uint64_t>(content));
  if (type == 3 && content.size() >= 4) {
    return static_cast<std::int32_t>(little_endian<std::uint32_t>(content));
  }
  if (type == 9 && content.size() >= 8) {
    return static_cast<double>(static_cast<std::int64_t>(little_endian<std::uint64_t>(content)));
  }
  return value;
}

class EventReader {
 public:
  EventReader(std::string_view bytes, const std::string& name, Samples& out)
      : rest_(bytes), name_(name), out_(out) {}

  void read() {
    for (record_ = 1; rest_.size() >= kHeader + kFooter; ++record_) {
      const auto length = little_endian<std::uint64_t>(rest_);
      if (little_endian<std::uint32_t>(rest_.substr(8)) != masked_crc32c(rest_.substr(0, 8))) {
        out_.warnings.add({name_, record_, 0}, "",
                          "the checksum of this record's length is wrong; the rest is not read",
                          "copy the file again");
        break;
      }
      if (length > rest_.size() - kHeader - kFooter) break;
      const std::string_view data = rest_.substr(kHeader, static_cast<std::size_t>(length));
      const auto crc = little_endian<std::uint32_t>(rest_.substr(kHeader + data.size()));
      rest_.remove_prefix(kHeader + data.size() + kFooter);
      if (crc != masked_crc32c(data)) {
        out_.warnings.add({name_, record_, 0}, "", "the checksum of this record is wrong; it is left out",
                          "copy the file again");
        continue;
      }
      read_event(data);
    }
    finish();
  }

 private:
  void read_event(std::string_view message) {
    Point point;
    point.record = record_;
    std::vector<std::string_view> summaries;
    WireReader fields(message);
    while (fields.next()) {
      if (fields.field == 1 && fields.wire == WireReader::Wire::fixed64) point.wall = fields.real();
      if (fields.field == 2 && fields.wire == WireReader::Wire::varint) {
        point.step = static_cast<std::int64_t>(fields.number);
      }
      if (fields.field == 5 && fields.wire == WireReader::Wire::bytes) summaries.push_back(fields.bytes);
    }
    if (fields.failed()) {
      out_.warnings.add({name_, record_, 0}, "",
                        "this record is no event; what stands before the fault is read",
                        "copy the file again");
    }
    if (point.step < 0 || !std::isfinite(point.wall)) return;
    for (const std::string_view summary : summaries) {
      WireReader values(summary);
      while (values.next()) {
        if (values.field == 1 && values.wire == WireReader::Wire::bytes) read_value(values.bytes, point);
      }
    }
  }

  void read_value(std::string_view message, Point point) {
    std::string_view tag;
    bool scalar = true, stated = false;
    WireReader fields(message);
    while (fields.next()) {
      const bool bytes = fields.wire == WireReader::Wire::bytes;
      if (fields.field == 1 && bytes) tag = fields.bytes;
      if (fields.field == 2 && fields.wire == WireReader::Wire::fixed32) {
        point.value = fields.real();
        stated = true;
      }
      if (fields.field >= 4 && fields.field <= 6) scalar = stated;
      if (fields.field == 8 && bytes && !stated) point.value = scalar_of_tensor(fields.bytes);
    }
    if (!scalar || tag.empty() || tag.size() > 256 || points_ >= kPoints) return;
    auto found = tags_.find(tag);
    if (found == tags_.end()) {
      if (tags_.size() == kTags) return;
      found = tags_.emplace(std::string(tag), std::vector<Point>()).first;
    }
    found->second.push_back(point);
    ++points_;
  }

  const std::vector<Point>* points_of(std::string_view tag) const {
    const auto found = tags_.find(tag);
    return found == tags_.end() ? nullptr : &found->second;
  }

  /// Of `tag`, by step; the last one where a step was written again.
  std::map<std::int64_t, double> by_step(std::string_view tag) const {
    std::map<std::int64_t, double> values;
    if (const auto* points = points_of(tag)) {
      for (const Point& p : *points) {
        if (std::isfinite(p.value)) values[p.step] = p.value;
      }
    }
    return values;
  }

  void finish() {
    const std::vector<Point>* points = nullptr;
    std::string_view tag;
    for (const std::string_view time : kTimes) {
      if (points == nullptr && (points = points_of(time)) != nullptr) tag = time;
    }
    const bool stated = points != nullptr;
    if (!stated) {
      for (const auto& [name, all] : tags_) {
        if (points == nullptr || all.size() > points->size()) points = &all, tag = name;
      }
    }
    if (points == nullptr) {
      out_.warnings.add({name_, 0, 0}, "", "no scalar in this event file",
                        "give the file of a run that trained");
      return;
    }
    add_steps(*points, tag, stated);
  }

  void add_steps(const std::vector<Point>& points, std::string_view tag, bool stated) {
    const auto rates = by_step("throughput"), consumed = by_step("consumed_samples"),
               global = by_step("global_step");
    StepLog log({"TensorBoard events", printable(tag, 60) + " as written", false, 0}, name_);
    for (const Point& p : points) {
      StepRecord record;
      record.step = p.step;
      record.line = p.record;
      record.clock = p.wall;
      if (stated && std::isfinite(p.value)) record.seconds = p.value;
      const auto at = [&](const std::map<std::int64_t, double>& values) -> std::optional<double> {
        const auto found = values.find(p.step);
        return found == values.end() ? std::nullopt : std::optional(found->second);
      };
      record.sequences_per_second = at(rates);
      record.consumed = at(consumed);
      record.global_step = at(global);
      log.add(record, out_);
    }
    const bool nxdt = tags_.contains("throughput_peak") || tags_.contains("parameter_norm");
    const bool nxd = tags_.contains("step loss");
    log.finish(nxd ? "nxd" : nxdt ? "nxdt" : "", std::nullopt, out_);
  }

  std::string_view rest_;
  const std::string& name_;
  Samples& out_;
  int record_ = 0;
  std::size_t points_ = 0;
  std::map<std::string, std::vector<Point>, std::less<>> tags_;
};

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + kMaskDelta;
}

bool is_event_file(std::string_view bytes) {
  if (bytes.size() < kHeader) return false;
  if (little_endian<std::uint32_t>(bytes.substr(8)) == masked_crc32c(bytes.substr(0, 8))) return true;
  return bytes.substr(0, 64).find("brain.Event:") != std::string_view::npos;
}

void read_event_file(std::string_view bytes, const std::string& name, Samples& out) {
  EventReader(bytes, name, out).read();
}

}  // namespace trnplan::calibrate
