// Reports of neuron-monitor: JSON objects, one a line, one a period.
//
// Format: aws-neuron/aws-neuron-sdk@81ce03ae:tools/neuron-sys-tools/neuron-monitor-user-guide.rst. The memory
// of a core is the sum of the entries of neuroncore_memory_usage (constants, model_code,
// model_shared_scratchpad, runtime_memory, tensors): the only numbers by core.
#pragma once

#include <map>
#include <string>

#include "logs/training/samples.h"
#include "text/json_reader.h"

namespace trnplan::logs {

class NeuronMonitor {
 public:
  explicit NeuronMonitor(std::string name) : name_(std::move(name)) {}
  /// Reads the next report. Values before a fault count; the fault becomes a warning.
  void read(JsonReader& json, Samples& out);
  /// Writes a sample for each core that was in use: the most over all reports.
  void finish(Samples& out);
  int reports() const { return reports_; }

 private:
  struct Peak {
    SourcePos at;
    double bytes = -1;
    std::map<std::string, double> parts;
  };
  using Cores = std::map<int, std::map<std::string, double>>;
  void read_runtime(JsonReader& json, Cores& cores);
  void read_cores(JsonReader& json, Cores& cores);

  std::string name_, instance_;
  int reports_ = 0;
  std::map<int, Peak> peaks_;  ///< by core
};

}  // namespace trnplan::logs
