// The sections of a job, and the parts of it read so far. Private to the reader of jobs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/input/readers.h"
#include "text/document.h"
#include "text/remarks.h"

namespace trnplan::io {

/// A job that is being read.
struct JobDraft {
  std::filesystem::path path;
  const Catalog& catalog;
  const Files& files;
  Node root;
  std::string target;  ///< --target; "" = not given
  JobReading reading;
  std::vector<Diagnostic> faults;
  bool from_nxdt = false;      ///< the model is an NxDT file, which states more than a model
  bool logical_cores = false;  ///< that file describes a machine with paired cores
  int devices = 0;             ///< ranks per node of that file

  models::Job& job() { return reading.job; }
  /// `id`: the row of api/rules that explains the note; "" = none.
  void note(std::string text, std::string_view id = "") {
    reading.notes.push_back(with_id(std::move(text), id));
  }
  void add(const SourcePos& at, std::string key, std::string problem, std::string fix) {
    faults.push_back({at, std::move(key), std::move(problem), std::move(fix)});
  }
  /// Runs `step` and adds its faults, so that one bad file does not hide the others' faults.
  template <class Step>
  void collect(const Step& step) {
    try {
      step();
    } catch (const InputError& e) {
      faults.insert(faults.end(), e.faults().begin(), e.faults().end());
    }
  }
  [[nodiscard]] std::filesystem::path beside_job(const std::string& name) const {
    return path.parent_path() / name;
  }
};

/// Names separated by commas.
[[nodiscard]] std::string joined(const std::vector<std::string>& names);

/// Each function reads its key of `map`, the job's top level.
void read_job_model(JobDraft& d, MapReader& map);
void read_job_training(JobDraft& d, MapReader& map);
void read_job_cluster(JobDraft& d, MapReader& map);
/// True for a job whose cluster states its machine, or a file that describes it.
[[nodiscard]] bool states_machine(const Node& job);
/// Reads the measured all-reduce among the keys of the cluster, whose type and nodes are known.
void read_job_network(JobDraft& d, MapReader& cluster);
void read_job_pin(JobDraft& d, MapReader& map);
/// Notes that an NxDT file states another number of ranks than the nodes have.
void note_devices(JobDraft& d);

}  // namespace trnplan::io
