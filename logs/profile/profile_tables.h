// Tables of Neuron Explorer as CSV: CcOp (one row a collective) and Instruction.
//
// Columns: aws-neuron/aws-neuron-sdk@81ce03ae, the schema reference of Neuron Explorer (SDK 2.31); times are
// whole nanoseconds. Columns are found by name; others are skipped. Parquet is not read: write it as CSV.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "logs/training/samples.h"
#include "text/byte_stream.h"

namespace trnplan::logs {

inline constexpr std::size_t kEnginesMost = 64;  ///< of one device

/// The table that a heading line of a CSV opens; none for other tables.
enum class ProfileTable { none, collectives, instructions };
ProfileTable profile_table_of(std::string_view heading);

/// Reads samples of the collectives, or one device sample: the span of all rows and the seconds by engine.
/// Bad rows become warnings. Reads row by row: time linear in the table, memory in the result. A row above 1
/// MiB may be read as several.
void read_profile_table(ByteStream& table, const std::string& name, Samples& out);

}  // namespace trnplan::logs
