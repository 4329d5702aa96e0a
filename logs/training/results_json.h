// results.json, which the training scripts of NxD write at the end of a run.
//
//   {"results": {"metrics": [{"MetricName": "Time to train", "MeasuredValue": 12.3, "Units": "minutes",
//                             "AdditionalData": {"Epoch": 0, "Global step": 100}}, ...], "parameters":
//                             {...}}}
//
// Layout as the scripts write it (aws-neuron/neuronx-distributed, examples/training); no file of a run is
// public.
#pragma once

#include <string>

#include "logs/training/samples.h"
#include "text/json_reader.h"

namespace trnplan::logs {

/// Reads the value of "results". The time of a step is "Time to train" over "Global step", warm-up included;
/// "Average throughput" is in sequences/s. A warning if one of the two is missing.
void read_results(JsonReader& json, const std::string& name, Samples& out);

}  // namespace trnplan::logs
