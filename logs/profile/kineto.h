// Traces of PyTorch's profiler (Kineto): Chrome trace events with collectives and steps among them.
//
// Format: pytorch/kineto, libkineto's output_json; the fields of collectives are those of
// pytorch/pytorch:torch/csrc/distributed/c10d/ParamCommsUtils.hpp. Times are microseconds.
#pragma once

#include <string>

#include "logs/training/samples.h"
#include "text/json_reader.h"

namespace trnplan::logs {

/// Reads the object {"traceEvents": [...], "deviceProperties": [...], ...}, or the bare list of events.
///
/// Collectives are events with a "Collective name": those of devices if there are any, else those of the
/// host, the durations of which are only launches (a warning says so). Steps are the annotations
/// ProfilerStep#N. A trace of GPUs is read, with a warning.
void read_kineto(JsonReader& json, const std::string& name, Samples& out);

}  // namespace trnplan::logs
