// Traces of Nsight Systems, exported as SQLite: kernels of GPUs, steps and collectives.
//
// Format: "SQLite Export Schema Reference" of NVIDIA's user guide (docs.nvidia.com/nsight-systems). Times are ns.
// Tables exist only if they have rows, and columns differ between versions: what is missing is named.
#pragma once

#include <string>

#include "logs/training/samples.h"
#include "text/byte_stream.h"

namespace trnplan::logs {

/// Reads CUPTI_ACTIVITY_KIND_KERNEL and StringIds, and where they exist NVTX_EVENTS, CUPTI_ACTIVITY_KIND_RUNTIME,
/// TARGET_INFO_GPU and META_DATA_EXPORT.
///
/// - Steps: logs/profile/nvtx_steps.h.
/// - A device for each GPU: its time by kind of kernel, of a step after warm-up if there are steps, else of the
///   whole trace.
/// - Collectives: kernels of NCCL launched by calls of which the trace has the size (nsys export --include-json
///   true), the least of each size: others include waiting for the last rank.
///
/// Memory is constant: at most 300,000 names, a million calls and steps, and half a million collectives. Throws
/// InputError: no such export, tables or columns that it lacks, and as SqliteTables.
void read_nsys_export(ByteStream& bytes, const std::string& name, Samples& out);

}  // namespace trnplan::logs
