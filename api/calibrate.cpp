#include "api/calibrate.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "api/compared_jobs.h"
#include "api/fitted_profile.h"
#include "api/inputs.h"
#include "api/log_files.h"
#include "api/machine_change.h"
#include "api/observations.h"
#include "api/own_steps.h"
#include "api/published.h"
#include "api/rehearsal.h"
#include "api/resolve.h"
#include "api/what_ran.h"
#include "calibrate/session/kernel_inputs.h"
#include "calibrate/validate/memory_score.h"
#include "io/catalog/catalog.h"
#include "io/catalog/measuring.h"
#include "io/catalog/profile_reader.h"
#include "io/input/measured_network.h"
#include "io/output/atomic_write.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "text/figures.h"
#include "text/version.h"
#include "topology/device_name.h"

namespace trnplan::api {

namespace {

using calibrate::LogFile;
using calibrate::RanSamples;
using calibrate::StepInputs;

constexpr const char* kPrior = "trn1-datasheet";
constexpr const char* kPriorOfSteps = "trn1";

void check_request(const CalibrateRequest& r) {
  if (r.files.empty() && r.runs.empty()) {
    throw InputError(
        {{"command line", 0, 0}, "files", "there is nothing to read", "name files, or folders with --run"});
  }
  std::vector<Diagnostic> faults;
  const auto note = [&](const char* key, std::string problem, std::string fix) {
    faults.push_back({{"command line", 0, 0}, key, std::move(problem), std::move(fix)});
  };
  if (!r.points.op.empty() && logs::canonical_op(r.points.op).empty()) {
    note("--op", "\"" + printable(r.points.op, 40) + "\" is not an operation of nccom-test",
         "for example all_reduce or allg");
  }
  if (r.points.ranks > 0 && r.points.nodes > r.points.ranks)
    note("--nodes", "more nodes than ranks", "correct one of them");
  if (!r.out.empty() && !r.out.ends_with(".json")) {
    note("--out", "\"" + printable(r.out, 200) + "\" does not end in .json, so --profile would not read it",
         "write --out " + printable(r.out, 200) + ".json");
  }
  if (!r.out.empty() && r.no_fit)
    note("--out", "--no-fit fits nothing that could be written", "leave one of the two out");
  if (r.force && r.out.empty()) note("--force", "there is no --out to overwrite", "add --out FILE.json");
  if (!faults.empty()) throw InputError(std::move(faults));
}

std::string name_of(const std::string& out) {
  return std::filesystem::path(out).stem().string();
}

class Calibration {
 public:
  Calibration(const CalibrateRequest& request, Remarks& remarks)
      : r_(request), remarks_(remarks), catalog_(io::Catalog::standard()) {}

  CalibrateResult run() {
    std::optional<models::Profile> stated;
    if (!r_.profile.empty()) stated = load_profile(catalog_, r_.profile);
    instance_ = load_instance_or_usual(catalog_, r_.instance);
    out_.instance = instance_.name;
    read();
    StepInputs inputs = step_inputs();
    tell_skipped();
    inputs.profile_stated = stated.has_value();
    if (calibrate::has_machine(out_.files) && !dumps_of_another_machine()) {
      learn_machine(inputs, stated);
      return std::move(out_);
    }
    // The user's own steps are few, so the published runs help. nccom-test and kernels belong to one build or
    // core, and are fitted alone.
    const models::Profile prior = prior_of(inputs, stated);
    out_.profile = prior.name;
    const bool steps = calibrate::has_steps(inputs);
    if (!inputs.kernels.empty()) refuse_other_fabric(steps || !out_.points.empty() || prior.calibration);
    if (steps || !inputs.kernels.empty()) {
      if (!inputs.kernels.empty()) remark_family(catalog_, prior, instance_, remarks_);
      if (r_.no_fit && !steps && out_.points.empty())
        out_.kernels = calibrate::compare_kernels(inputs.kernels, inputs.core, prior);
      else
        fit_steps(std::move(inputs), prior);
    } else if (!out_.points.empty()) {
      refuse_switched();
      fit_collectives(prior);
    } else if (!r_.out.empty() && out_.ran && out_.ran->strategy) {
      throw InputError({{"command line", 0, 0},
                        "--out",
                        "no step of the files can be learnt as one of " + printable(out_.ran->from, 200),
                        "if no remark says why, give the job and the strategy that wrote the log"});
    } else if (!r_.out.empty()) {
      throw InputError(
          {{"command line", 0, 0},
           "--out",
           "no file has a point of nccom-test that a fit can use",
           "state how the steps of a log ran with --config, or with --job and --strategy; or drop --out, "
           "add nccom-test's output, or name the kernel of a device profile with --kernel"});
    }
    return std::move(out_);
  }

 private:
  void read() {
    SeenFiles seen;
    calibrate::SeenSteps steps;
    // Folders first: they know what ran.
    out_.folders = read_folders(r_.runs, r_.points, catalog_, seen, steps, remarks_);
    out_.files = read_files(r_.files, r_.points, seen, remarks_);
    out_.own_files = out_.files.size();
    out_.ran = what_ran(stated_run(), catalog_, remarks_);
    for (const RunFolder& f : out_.folders)
      out_.files.insert(out_.files.end(), f.files.begin(), f.files.end());
    std::vector<logs::FlightDump> dumps;
    for (const LogFile& file : out_.files)
      dumps.insert(dumps.end(), file.content.dumps.begin(), file.content.dumps.end());
    for (Diagnostic& hung : logs::hung_collectives(dumps)) remarks_.add(std::move(hung));
    for (const LogFile& file : out_.files) {
      out_.readings.push_back(calibrate::take_file(file, r_.points, remarks_));
      const auto& points = out_.readings.back().points;
      out_.points.insert(out_.points.end(), points.begin(), points.end());
    }
    out_.steps = calibrate::step_samples(out_.own(), out_.ran, steps, remarks_);
    remark_devices();
    name_loops(out_.steps, out_.ran);
    for (RunFolder& f : out_.folders) name_loops(f.log.samples, f.log.ran);
  }

  /// What ran, as the options and the words of the logs state it.
  [[nodiscard]] StatedRun stated_run() const {
    std::vector<logs::StepSample> steps;
    bool tables = false;
    for (const LogFile& file : out_.files) {
      const logs::Detected& content = file.content;
      steps.insert(steps.end(), content.steps.begin(), content.steps.end());
      tables = tables || !content.tables.empty() || !content.nccl.empty();
    }
    const bool states_nodes =
        (!r_.config.empty() && r_.job.empty() && config_states_nodes(r_.config, r_.texts)) ||
        (!r_.job.empty() && io::job_source(r_.job, catalog_, r_.texts) == io::JobSource::job);
    const int nodes = tables && states_nodes ? 0 : r_.points.nodes;  // --nodes is of the tables
    return {r_.job, r_.strategy, r_.config, r_.instance, nodes, r_.texts, logged_stack(steps)};
  }

  /// Adds a remark on each trace of a device that the machine does not have.
  void remark_devices() const {
    const topology::Instance on = machine();
    for (const LogFile& file : out_.files) {
      const std::string& device = file.content.made_on;
      if (device.empty() || topology::has_device(on, device)) continue;
      remarks_.add(Diagnostic{{file.path, 0, 0},
                              "deviceProperties",
                              fmt::format("made on {}, which a {} does not have", device, on.name),
                              out_.ran ? "give the job that ran when it was made"
                                       : "name the machine that it was made on with --instance"});
    }
  }

  /// Gives steps whose log does not say which training loop ran them the one that plan takes for the job.
  void name_loops(std::vector<logs::StepSample>& samples,
                  const std::optional<calibrate::WhatRan>& ran) const {
    if (!ran || !ran->strategy) return;
    std::string planned;
    for (logs::StepSample& s : samples) {
      if (!s.framework.empty()) continue;
      if (planned.empty()) {
        planned = planned_loop(ran->job, *ran->strategy);
        if (planned.empty()) return;
        remarks_.add(fmt::format("{} does not say which training loop ran it: learnt as a run of {}, which "
                                 "plan takes for this job; software.framework of the job states it",
                                 printable(s.at.file, 200), planned),
                     "stack");
      }
      s.framework = planned;
    }
  }

  /// The profile that is stated, or the usual one; for steps that of their machine, with a remark.
  models::Profile prior_of(const StepInputs& inputs, const std::optional<models::Profile>& stated) {
    for (const calibrate::RanSamples& log : inputs.logs) {
      if (!log.samples.empty() && log.ran && log.ran->strategy)
        return profile_for(catalog_, stated ? *stated : catalog_.profile(kPriorOfSteps), stated.has_value(),
                           log.ran->job.cluster.instance, remarks_);
    }
    return stated ? *stated : catalog_.profile(kPrior);
  }

  /// Reads the runs, samples, points, kernels and fingerprints of all files.
  StepInputs step_inputs() {
    StepInputs inputs;
    inputs.points = out_.points;
    inputs.logs.push_back({out_.steps, out_.ran, ""});
    for (const RunFolder& f : out_.folders) inputs.logs.push_back(f.log);
    inputs.with_catalogue = r_.with_catalogue;
    for (const LogFile& file : out_.files) {
      inputs.runs.insert(inputs.runs.end(), file.content.runs.begin(), file.content.runs.end());
      inputs.files.push_back(file.fingerprint());
    }
    const auto known = [this](const std::string& name) -> std::optional<topology::Instance> {
      try {
        return catalog_.instance(name);
      } catch (const InputError&) {  // reported with the place of the row
        return std::nullopt;
      }
    };
    inputs.kernels = calibrate::take_kernels(out_.files, r_.kernels, instance_, known, remarks_);
    inputs.core = instance_.core;
    inputs.tool = std::string("trnplan ") + program_version();
    return inputs;
  }

  [[nodiscard]] topology::Instance machine() const {
    return out_.ran ? out_.ran->job.cluster.instance : instance_;
  }

  /// True, with a remark, if all that was timed is of dumps, which say where a run hangs on any machine.
  bool dumps_of_another_machine() {
    if (machine().traits.accelerator == topology::Accelerator::gpu) return false;
    const bool dumps = std::all_of(out_.files.begin(), out_.files.end(), [](const LogFile& file) {
      return file.content.times.empty() && (file.content.nccl.empty() || !file.content.dumps.empty());
    });
    if (dumps)
      remarks_.add("times of a flight recorder teach the machine that they are of: name it with --instance");
    return dumps;
  }

  /// Learns kernels and collectives that were timed on the user's machine.
  void learn_machine(const StepInputs& inputs, const std::optional<models::Profile>& stated) {
    const auto refuse = [](const char* key, const char* problem, const char* fix) {
      throw InputError({{"command line", 0, 0}, key, problem, fix});
    };
    if (r_.no_fit)
      refuse("--no-fit", "what was timed on a machine is compared and learnt at once",
             "leave it out: the answer has the predictions before, and without --out nothing is written");
    if (calibrate::has_steps(inputs) || !inputs.kernels.empty() || !out_.points.empty())
      refuse("files", "kernels and nccl-tests teach a machine, and the other files something else",
             "give them alone, with --out, then the others with that file as --profile");
    const topology::Instance machine = this->machine();
    const models::Profile prior = profile_for(catalog_, stated ? *stated : catalog_.profile(kPriorOfSteps),
                                              stated.has_value(), machine, remarks_);
    const std::vector<models::StackFactor> known =
        prior.calibration ? prior.calibration->stacks : std::vector<models::StackFactor>();
    if (std::any_of(known.begin(), known.end(),
                    [&](const auto& f) { return f.is_site() && f.instance == machine.name; }))
      throw InputError(
          {{"command line", 0, 0},
           "--profile",
           fmt::format("{} has learnt steps on {}, which hold these kernels and collectives already",
                       prior.name, machine.name),
           "start from the profile before them: the tables first, then the logs"});
    out_.profile = prior.name;
    calibrate::MachineInputs rows{{}, {}, inputs.files, inputs.tool};
    std::vector<logs::NcclTable> tables;
    for (const LogFile& file : out_.files) {
      rows.kernels.insert(rows.kernels.end(), file.content.times.begin(), file.content.times.end());
      tables.insert(tables.end(), file.content.nccl.begin(), file.content.nccl.end());
    }
    rows.points = io::points_of_nccl(tables, machine);
    out_.machine = calibrate::calibrate_machine(rows, machine, prior, spreads(),
                                                r_.out.empty() ? "fitted" : name_of(r_.out), remarks_);
    const calibrate::MachineCalibration& c = *out_.machine;
    if (out_.ran) out_.change = machine_change(*out_.ran, prior, c.fit.profile);
    out_.refused = refuses(c.fit.explains() && c.fit.far_off().empty());
    if (!r_.out.empty() && !out_.refused) write([&] { return machine_profile_json(c, catalog_); });
  }

  void remark_left_out(std::vector<Diagnostic> left_out) {
    for (Diagnostic& d : left_out) {
      d.problem = "left out: " + d.problem;
      remarks_.add(d);
    }
  }

  /// Unusable tables are the user's fault only if no other file could be used.
  void tell_skipped() {
    std::vector<Diagnostic> skipped;
    for (const auto& reading : out_.readings)
      skipped.insert(skipped.end(), reading.skipped.begin(), reading.skipped.end());
    const bool logs = std::any_of(out_.files.begin(), out_.files.end(),
                                  [](const LogFile& file) { return !calibrate::only_points(file.content); });
    if (out_.points.empty() && !skipped.empty() && !logs) throw InputError(std::move(skipped));
    remark_left_out(std::move(skipped));
  }

  /// nccom-test measures the collectives of NeuronCores.
  void refuse_switched() const {
    if (machine().traits.accelerator != topology::Accelerator::gpu) return;
    throw InputError({out_.points.front().at, "op",
                      fmt::format("collectives of nccom-test, which measures NeuronCores, and a {} has none",
                                  machine().name),
                      "name the machine that was measured with --instance, or give a table of nccl-tests"});
  }

  /// Steps and points are of one machine, and kernels that are fitted with them must be of its cores.
  void refuse_other_fabric(bool beside_others) const {
    const std::string fabric = catalog_.default_instance();  // of published()
    if (!beside_others || instance_.name == fabric) return;
    throw InputError(
        {{"command line", 0, 0},
         "--instance",
         fmt::format(
             "kernels together with steps, nccom-test points or a fitted profile are fitted on {} only",
             fabric),
         "give kernels alone, with --profile trn1-datasheet or another that is not fitted"});
  }

  /// Fits whole steps or kernels, together with the points.
  void fit_steps(StepInputs inputs, const models::Profile& prior) {
    if (r_.no_fit) {
      throw InputError({{"command line", 0, 0},
                        "--no-fit",
                        inputs.kernels.empty() ? "there are steps among the files"
                                               : "there are kernels together with steps or nccom-test points",
                        inputs.kernels.empty()
                            ? "compare a profile with them: trnplan validate RUNS.csv --leave-out none"
                            : "give the kernels alone"});
    }
    const bool steps = calibrate::has_steps(inputs);
    for (const LogFile& file : out_.files) {
      const auto starts = learnt_starts(file.path, file.bytes, prior);
      inputs.starts.insert(inputs.starts.end(), starts.begin(), starts.end());
    }
    out_.step_fit = calibrate::calibrate_steps(std::move(inputs), prior, published(catalog_),
                                               r_.out.empty() ? "fitted" : name_of(r_.out), remarks_);
    if (steps && out_.step_fit->refitted) learn_memory(out_.step_fit->fit.profile);
    const calibrate::StepCalibration& c = *out_.step_fit;
    state_intervals(*out_.step_fit, prior, r_.profile);
    remark_memory(*out_.step_fit, out_.files, remarks_);
    remark_left_out(calibrate::causes_of(c.data->left_out));
    remark_stacks(c);
    out_.refused = refuses(c.doubts.empty());
    if (!r_.out.empty() && !out_.refused) write([&] { return step_profile_json(c, out_.files, catalog_); });
  }

  /// Adds a remark on runs whose stack the words of a log say, if plan takes another one for the same job.
  void remark_stacks(const calibrate::StepCalibration& c) const {
    for (const calibrate::SiteRun& run : c.site_runs) {
      if (!out_.ran || !out_.ran->job.software.framework.empty()) continue;
      const std::string& logged = run.job.software.framework;
      const std::string planned = planned_loop(out_.ran->job, run.strategy);
      if (planned == logged) continue;
      remarks_.add(
          fmt::format("{} was learnt as a run of {}, by its words, and plan takes {} for this job; state "
                      "software.framework in the job for both",
                      printable(run.name, 200), logged, planned),
          "stack");
      return;
    }
  }

  /// Updates the profile with the catalogue's cases of jobs that fit or do not; the profile contains their
  /// prior.
  void learn_memory(models::Profile& profile) const {
    const auto known = calibrate::validate_memory(memory_cases(catalog_), case_lookup(catalog_), profile);
    std::vector<const calibrate::MemoryValidation::Row*> rows;
    for (const auto& row : known.rows) rows.push_back(&row);
    profile.value(models::common::fused_activations) = calibrate::learned_activations(rows, profile);
  }

  /// Fits collectives alone.
  void fit_collectives(const models::Profile& prior) {
    out_.collectives = std::make_unique<CollectiveComparison>();
    calibrate::Selection& chosen = out_.collectives->chosen;
    chosen = calibrate::select_points(out_.points, instance_, prior);
    if (chosen.points.empty()) throw InputError(calibrate::causes_of(chosen.left_out));
    remark_left_out(calibrate::causes_of(chosen.left_out));
    if (chosen.repeated > 0) {
      remarks_.add(fmt::format("{} point{} given twice {} used once", chosen.repeated,
                               chosen.repeated == 1 ? "" : "s", chosen.repeated == 1 ? "is" : "are"));
    }
    calibrate::doubt_builds(out_.readings, remarks_);
    remark_family(catalog_, prior, instance_, remarks_);
    calibrate::CollectiveFit& fit = out_.collectives->fit;
    fit = r_.no_fit ? calibrate::predict_collectives(chosen.points, instance_, prior)
                    : calibrate::fit_collectives(chosen.points, instance_, prior);
    if (!r_.no_fit && !fit.converged)
      remarks_.add("the fit did not converge; its parameters are not an optimum");
    const std::vector<calibrate::CollectiveFit::Estimate> far = fit.far_off(spreads().machine);
    for (const calibrate::CollectiveFit::Estimate& e : far)
      remarks_.add(
          Diagnostic{chosen.points.front().at, std::string(models::to_string(e.parameter)),
                     fmt::format("{:.3g} is {} times the {:.3g} of {}: hardly of this type of machine",
                                 e.posterior.median, factor_text(e.posterior.median / e.prior.median),
                                 e.prior.median, prior.name),
                     "check which machine was measured, and the unit of the times"});
    out_.refused = refuses(fit.explains() && far.empty());
    if (r_.out.empty() || out_.refused) return;
    std::string text = collective_profile_json(fit, catalog_, out_.readings, name_of(r_.out), instance_.name);
    write([&] { return text; });
  }

  [[nodiscard]] calibrate::MachineSpreads spreads() const {
    return io::machine_spreads_from(*catalog_.document("measuring.json"));
  }

  /// True if the profile is not written, because of its fit.
  [[nodiscard]] bool refuses(bool sound) const {
    return !r_.out.empty() && !r_.force && !(sound && out_.converged());
  }

  template <class Text>
  void write(const Text& text) {
    io::update_file(r_.out, r_.force, [&] {
      const std::string whole = keep_observations(text(), r_.profile, r_.out, remarks_);
      (void)io::profile_from(parse_document(whole, r_.out), &catalog_);  // what cannot be read is not written
      return whole;
    });
    remarks_.add("wrote " + r_.out);
  }

  const CalibrateRequest& r_;
  Remarks& remarks_;
  io::Catalog catalog_;
  topology::Instance instance_;
  CalibrateResult out_;
};

}  // namespace

std::vector<LogFile> CalibrateResult::own() const {
  return {files.begin(), files.begin() + static_cast<std::ptrdiff_t>(own_files)};
}

bool CalibrateResult::converged() const {
  if (machine) return machine->fit.converged;
  if (step_fit) return step_fit->fit.converged;
  return !collectives || collectives->fit.converged;
}

std::vector<logs::StepSample> CalibrateResult::all_steps() const {
  std::vector<logs::StepSample> all = steps;
  for (const RunFolder& f : folders) all.insert(all.end(), f.log.samples.begin(), f.log.samples.end());
  return all;
}

std::vector<std::string> paths_read(const CalibrateRequest& request) {
  std::vector<std::string> all = request.files;
  all.insert(all.end(), {request.job, request.config});
  return all;
}

CalibrateResult calibrate(const CalibrateRequest& request, Remarks& remarks) {
  check_request(request);
  check_apart("--out", request.out, paths_read(request));
  if (!request.out.empty()) rehearse_file(request.out, request.force);
  return Calibration(request, remarks).run();
}

}  // namespace trnplan::api
