#include "logs/training/event_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "logs/training/step_log.h"
#include "logs/training/step_times.h"
#include "text/wire_reader.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kHeader = 12, kFooter = 4;
constexpr std::uint64_t kRecord = 64u << 20;  ///< a larger one is read for its checksum alone
/// Names of the loss: that of NxDT and NeMo, and that of NxD's scripts.
constexpr std::string_view kLosses[] = {"reduced_train_loss", "step loss"};
constexpr std::string_view kNorms[] = {"gradient_norm", "global_norm", "grad-norm"};
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
      // The first of packed varints.
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

std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return crc;
}

constexpr std::uint32_t kCrcStart = 0xFFFFFFFF;

std::uint32_t masked(std::uint32_t crc) {
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + kMaskDelta;
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  return masked(crc32c(kCrcStart, bytes));
}

bool is_event_file(std::string_view bytes) {
  if (bytes.size() < kHeader) return false;
  if (little_endian<std::uint32_t>(bytes.substr(8)) == masked_crc32c(bytes.substr(0, 8))) return true;
  return bytes.substr(0, 64).find("brain.Event:") != std::string_view::npos;
}

void EventFile::warn(std::string problem) {
  warnings_.add({name_, record_, 0}, "", std::move(problem), "copy the file again");
}

void EventFile::feed(std::string_view bytes) {
  if (damaged_) return;
  pending_.append(bytes);
  std::string_view rest = pending_;
  while (take(rest)) {
  }
  pending_.erase(0, pending_.size() - rest.size());
}

/// Reads one record, or a part of a large one. False if more bytes are needed, or nothing more can be found.
bool EventFile::take(std::string_view& rest) {
  if (damaged_) return rest = {}, false;
  if (large_) return skip(rest), !rest.empty() && !large_;
  if (rest.size() < kHeader + kFooter) return false;
  const auto length = little_endian<std::uint64_t>(rest);
  if (little_endian<std::uint32_t>(rest.substr(8)) != masked_crc32c(rest.substr(0, 8))) {
    warn("the checksum of this record's length is wrong; the rest is not read");
    damaged_ = true;
    return rest = {}, false;
  }
  if (length > kRecord) {
    rest.remove_prefix(kHeader);
    large_ = true;
    skipping_ = length;
    crc_ = kCrcStart;
    return true;
  }
  if (length > rest.size() - kHeader - kFooter) return false;
  const std::string_view data = rest.substr(kHeader, static_cast<std::size_t>(length));
  const auto stated = little_endian<std::uint32_t>(rest.substr(kHeader + data.size()));
  rest.remove_prefix(kHeader + data.size() + kFooter);
  end_record(stated, masked_crc32c(data), data);
  return true;
}

void EventFile::skip(std::string_view& rest) {
  const auto part = rest.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(skipping_, rest.size())));
  crc_ = crc32c(crc_, part);
  skipping_ -= part.size();
  rest.remove_prefix(part.size());
  if (skipping_ > 0 || rest.size() < kFooter) return;
  const auto stated = little_endian<std::uint32_t>(rest);
  rest.remove_prefix(kFooter);
  large_ = false;
  end_record(stated, masked(crc_), {});
}

void EventFile::end_record(std::uint32_t stated, std::uint32_t found, std::string_view data) {
  if (stated != found) {
    warn("the checksum of this record is wrong; it is left out");
  } else {
    read_event(data);
  }
  if (record_ < std::numeric_limits<int>::max()) ++record_;
}

void EventFile::read_event(std::string_view message) {
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
    warn("this record is not an event; what comes before it is read");
  }
  if (point.step < 0 || !std::isfinite(point.wall)) return;
  for (const std::string_view summary : summaries) {
    WireReader values(summary);
    while (values.next()) {
      if (values.field == 1 && values.wire == WireReader::Wire::bytes) read_value(values.bytes, point);
    }
  }
}

void EventFile::read_value(std::string_view message, Point point) {
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
    found = tags_.emplace(std::string(tag), Points()).first;
  }
  found->second.push_back(point);
  ++points_;
}

const EventFile::Points* EventFile::points_of(std::string_view tag) const {
  const auto found = tags_.find(tag);
  return found == tags_.end() ? nullptr : &found->second;
}

/// Values of `tag` by step; the last one if a step was written again.
std::map<std::int64_t, double> EventFile::by_step(std::string_view tag) const {
  std::map<std::int64_t, double> values;
  if (const auto* points = points_of(tag)) {
    for (const Point& p : *points) {
      if (std::isfinite(p.value)) values[p.step] = p.value;
    }
  }
  return values;
}

void EventFile::finish(Samples& out) const {
  out.warnings = warnings_;
  const Points* points = nullptr;
  std::string_view tag;
  for (const std::string_view time : kStepTimes) {
    if (points == nullptr && (points = points_of(time)) != nullptr) tag = time;
  }
  const bool stated = points != nullptr;
  if (!stated) {
    for (const auto& [name, all] : tags_) {
      if (points == nullptr || all.size() > points->size()) points = &all, tag = name;
    }
  }
  if (points == nullptr) {
    out.warnings.add({name_, 0, 0}, "", "this event file has no scalar",
                     "give the file of a run that trained");
    return;
  }
  add_steps(*points, tag, stated, out);
}

void EventFile::add_steps(const Points& points, std::string_view tag, bool stated, Samples& out) const {
  const auto rates = by_step("throughput"), consumed = by_step("consumed_samples"),
             global = by_step("global_step");
  const auto first_of = [&](const auto& tags) {
    for (const std::string_view t : tags) {
      if (points_of(t) != nullptr) return by_step(t);
    }
    return std::map<std::int64_t, double>();
  };
  const auto losses = first_of(kLosses), norms = first_of(kNorms);
  StepLog log({"TensorBoard events", printable(tag, 60) + " as written"}, name_);
  for (const Point& p : points) {
    StepRecord record;
    record.step = p.step;
    record.line = p.record;
    record.clock = p.wall;
    record.tick = 0;
    if (stated && std::isfinite(p.value)) record.seconds = p.value;
    const auto at = [&](const std::map<std::int64_t, double>& values) -> std::optional<double> {
      const auto found = values.find(p.step);
      return found == values.end() ? std::nullopt : std::optional(found->second);
    };
    record.sequences_per_second = at(rates);
    record.consumed = at(consumed);
    record.global_step = at(global);
    record.loss = at(losses);
    record.gradient_norm = at(norms);
    log.add(record, out);
  }
  const bool nxdt = tags_.contains("throughput_peak") || tags_.contains("parameter_norm");
  const bool nxd = tags_.contains("step loss");
  log.finish(nxd ? "nxd" : nxdt ? "nxdt" : "", std::nullopt, out);
}

}  // namespace trnplan::logs
