// Published training runs as jobs that the simulator can predict.
//
// A row of a measured-runs table states the network, the layout and the batch. Values that it leaves open are
// filled in here, the same for every row and never by its time:
//   machine     the catalogue's trn1.32xlarge, also where the table says trn1.32xlarge/trn1n.32xlarge
//   network     from the columns; BERT by its name, else gated MLPs are Llama's and plain ones GPT's
//   stack       the column `framework`: "nemo-megatron", "megatron" (Megatron-LM reference port), "bert" (the
//               BERT examples), "nxdt", "nxd". A table without that column is guessed: "bert" by the model;
//               "nxdt" and "nemo-megatron" by sources that name them; else BF16+SR is "nemo-megatron" with
//               and "megatron" without sequence parallel, and the rest "nxd". Releases by their first two
//               numbers.
#pragma once

#include <string>
#include <vector>

#include "calibrate/data/run_reading.h"
#include "models/job/job.h"
#include "models/uncertainty/measured_run.h"
#include "text/diagnostic.h"
#include "topology/instance.h"

namespace trnplan::calibrate {

/// A measured step and the job that ran.
struct MeasuredStep {
  std::string id, group;  ///< equal groups with equal programs are one observation
  std::string quality;
  std::string configuration;  ///< model, nodes, layout, sequence, recompute; releases and batches share it
  std::string kind;           ///< "decoder", "bert"
  bool outlier = false;       ///< marked as one by the table
  bool framework_guessed = false;  ///< from source, precision and sequence parallel
  bool own = false;                ///< from a log of the user, not published
  SourcePos at;                    ///< position in such a log
  models::Job job;
  models::Strategy strategy;
  double seconds = 0;  ///< from step to step, if that is known
  /// Seconds, for a log that reports less than a whole step, without the time between two; else 0.
  double printed = 0;
  bool by_rate = false;      ///< the seconds follow from a stated throughput
  double log_sd = 0;         ///< of the seconds, besides that of repeated runs
  double low = 0, high = 0;  ///< of single steps in such a log, as StepSample's
  double trend = 1;          ///< likewise
  int count = 0;             ///< likewise
  bool at_most = false;      ///< only a bound is known: the step took at most this long
};

struct ExcludedRun {
  std::string id, reason;
};

struct MappedRuns {
  std::vector<MeasuredStep> steps;
  std::vector<ExcludedRun> excluded;  ///< training rows only
};

/// The training rows of quality A and B on trn1 as jobs on `instance`; every other training row with the
/// reason for its exclusion. `reading` says what their figures mean.
MappedRuns map_runs(const std::vector<models::MeasuredRun>& runs, const topology::Instance& instance,
                    const RunReading& reading = {});

/// A configuration in words: "TP 8 PP 4 DP 32 on 32 nodes of Llama2-13B, sequence 4096, recompute full".
std::string configuration_of(const std::string& model, const models::Job& job,
                             const models::Strategy& strategy);

}  // namespace trnplan::calibrate
