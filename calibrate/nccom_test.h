// Output of nccom-test, the collective benchmark of the Neuron SDK.
//
// Formats: aws-neuron/aws-neuron-sdk@81ce03ae:tools/neuron-sys-tools/nccom-test.rst. What a table does not
// say (operation, ranks, nodes) stands in the command line above it, if at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/nccom_table.h"

namespace trnplan::calibrate {

/// All tables in a text: with old or new headings, among prompts, log lines and Slurm output (also labelled
/// by srun --label), with tabs, CRLF, CR, terminal colours. `name` stands in messages. Lines end at \n, \r\n
/// or \r. A table without a command of its own takes that of the table before it, with a warning; `fallback`
/// stands above the first one, and says what a command does not. Time and memory are linear in the text.
/// Throws InputError when there is no table or there are more than 1000 (or 20,000 rows).
std::vector<NccomTable> parse_nccom_test(std::string_view text, const std::string& name,
                                         const NccomCommand& fallback = {});

}  // namespace trnplan::calibrate
