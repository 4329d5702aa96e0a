// The Neuron compiler's messages on memory.
//
//   [XCG815]  Estimated peak HBM usage (22.839451) exceeds 16GB. Neff won't be able to load on chip
//
// (aws-neuron/aws-neuron-sdk issue 884, SDK 2.18; the number is GiB of one core for one graph), and
// NCC_EOOM001, NCC_EOOM002 of newer releases, which state no number
// (aws-neuron/aws-neuron-sdk@81ce03ae:compiler/error-codes/EOOM001.rst, EOOM002.rst).
#pragma once

#include <map>
#include <string>

#include "logs/training/samples.h"
#include "text/log_lines.h"

namespace trnplan::logs {

class CompilerLines {
 public:
  static constexpr const char* kKind = "compiler line";
  explicit CompilerLines(std::string name) : name_(std::move(name)) {}
  bool read(const LogLine& line, Samples& out);
  /// Writes a sample for each different usage, in the order of lines.
  void finish(Samples& out);

 private:
  std::string name_;
  std::map<double, MemorySample> by_bytes_;  ///< 0: not stated
};

}  // namespace trnplan::logs
