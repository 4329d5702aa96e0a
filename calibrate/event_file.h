// TensorBoard event files: records (length, masked CRC-32C of it, data, masked CRC-32C of that) of protocol
// buffers.
//
// Formats: tensorflow/tensorflow:tensorflow/core/lib/io/record_writer.h, core/util/event.proto,
// core/framework/summary.proto, core/framework/tensor.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "calibrate/samples.h"

namespace trnplan::calibrate {

/// CRC-32C (polynomial 0x1EDC6F41, reflected) of `bytes`, rotated and offset as TFRecord masks it.
std::uint32_t masked_crc32c(std::string_view bytes);

/// The file starts with a record whose length has the right checksum, or names itself brain.Event.
bool is_event_file(std::string_view bytes);

/// Seconds of a step from the tags train_step_timing or iteration_time, else from the wall times of the tag
/// that was written most often. `line` in places counts records. A damaged record is left out with a warning;
/// behind a damaged length nothing can be found. A record cut by the end of the file is passed over silently:
/// the run may still write it.
void read_event_file(std::string_view bytes, const std::string& name, Samples& out);

}  // namespace trnplan::calibrate
