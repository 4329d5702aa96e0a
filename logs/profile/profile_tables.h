// Tables of Neuron Explorer as CSV and Parquet: CcOp (one row a collective), Instruction, Summary, Metadata.
//
// Columns: aws-neuron/aws-neuron-sdk@81ce03ae, the schema reference of Neuron Explorer (SDK 2.31); times are
// whole nanoseconds. Columns are found by name; others are skipped. A profile is a folder of such tables, a
// file each, large ones split by number: @a3247f5b:tools/neuron-explorer/how-to-analyze-profile-output.rst.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "logs/training/samples.h"
#include "text/byte_stream.h"

namespace trnplan::logs {

inline constexpr std::size_t kEnginesMost = 64;  ///< of one device

/// The table that a heading line of a CSV opens; none for other tables.
enum class ProfileTable { none, collectives, instructions, summary, metadata };
ProfileTable profile_table_of(std::string_view heading);

/// Reads samples of the collectives; one device sample of instructions: the span of all rows and the seconds
/// by engine; one of each summary; of metadata, whether the compiler only estimated it. Bad rows become
/// warnings. Reads row by row: time linear in the table, memory in the result. A row above 1
/// MiB may be read as several.
void read_profile_table(ByteStream& table, const std::string& name, Samples& out);
/// The same of a Parquet file, whose seek() must work; none, and nothing read, for other tables. Throws
/// InputError as ParquetRows does.
ProfileTable read_parquet_table(ByteStream& file, const std::string& name, Samples& out);

}  // namespace trnplan::logs
