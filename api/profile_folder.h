// The folder that Neuron Explorer writes of a profile: a Parquet file for each table.
#pragma once

#include <string>
#include <vector>

namespace trnplan::api {

/// The tables of `path` that are read, Metadata first, then by name; large ones are split (Instruction_0,
/// Instruction_1, ...). Empty if it is no such folder.
/// Layout: aws-neuron/aws-neuron-sdk@a3247f5b:tools/neuron-explorer/how-to-analyze-profile-output.rst.
[[nodiscard]] std::vector<std::string> tables_of_profile(const std::string& path);

}  // namespace trnplan::api
