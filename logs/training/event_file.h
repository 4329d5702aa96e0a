// TensorBoard event files: records (length, masked CRC-32C of it, data, masked CRC-32C of that) of protocol
// buffers.
//
// Formats: tensorflow/tensorflow:tensorflow/core/lib/io/record_writer.h, core/util/event.proto,
// core/framework/summary.proto, core/framework/tensor.proto.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "logs/training/samples.h"

namespace trnplan::logs {

/// CRC-32C (polynomial 0x1EDC6F41, reflected) of `bytes`, rotated and offset as TFRecord masks it.
std::uint32_t masked_crc32c(std::string_view bytes);

/// True if the file starts with a record with the right checksum of its length, or names itself brain.Event.
bool is_event_file(std::string_view bytes);

/// Reads an event file record by record, from bytes that come piece by piece; holds one record and the points
/// of scalars, at most two million. A record above 64 MiB (a graph; no scalar is so large) is read for its
/// checksum alone.
///
/// Seconds of a step come from the tags train_step_timing or iteration_time, else from the wall times of the
/// tag that was written most often. `line` in positions counts records. A damaged record is left out with a
/// warning; behind a damaged length nothing can be found. A record cut by the end of the file is skipped
/// silently: the run may still write it.
class EventFile {
 public:
  explicit EventFile(std::string name) : name_(std::move(name)) {}
  void feed(std::string_view bytes);
  /// Writes the samples of the records so far; more may follow. The sink of `out`, if it has one, receives
  /// every step.
  void finish(Samples& out) const;

 private:
  struct Point {
    std::int64_t step = 0;
    double wall = 0;   ///< s
    double value = 0;  ///< NaN: not a scalar
    int record = 0;
  };
  using Points = std::vector<Point>;

  bool take(std::string_view& rest);
  void end_record(std::uint32_t stated, std::uint32_t found, std::string_view data);
  void skip(std::string_view& rest);
  void read_event(std::string_view message);
  void read_value(std::string_view message, Point point);
  const Points* points_of(std::string_view tag) const;
  std::map<std::int64_t, double> by_step(std::string_view tag) const;
  void add_steps(const Points& points, std::string_view tag, bool stated, Samples& out) const;
  void warn(std::string problem);

  std::string name_, pending_;
  int record_ = 1;
  bool damaged_ = false;        ///< nothing more can be found
  std::uint64_t skipping_ = 0;  ///< bytes of a large record that are still to come
  std::uint32_t crc_ = 0;       ///< of the large record so far
  bool large_ = false;          ///< the footer of a large record comes next, when skipping_ is 0
  std::size_t points_ = 0;
  std::map<std::string, Points, std::less<>> tags_;
  Warnings warnings_;
};

}  // namespace trnplan::logs
