#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "calibrate/fit/collective_fit.h"
#include "cli/collective_fit_text.h"
#include "cli/collective_points.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/kernel_inputs.h"
#include "cli/observations.h"
#include "cli/options.h"
#include "cli/step_calibration.h"
#include "cli/training_logs.h"
#include "io/input/log_stream.h"
#include "io/output/atomic_write.h"
#include "io/output/fit_json.h"
#include "io/output/log_json.h"
#include "launch/local/process.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::cli {

namespace {

using calibrate::CollectiveFit;
using logs::MeasuredCollective;

constexpr int kMostRanks = 1'000'000;
constexpr const char* kPrior = "trn1-datasheet";
constexpr const char* kPriorOfSteps = "trn1";
constexpr const char* kFabricOfFits = "trn1.32xlarge";  ///< of step_data()

struct Options {
  Common common;
  std::vector<std::string> files, runs, kernels;
  PointOptions points;
  std::string instance = "trn1.32xlarge", out, job, strategy, config;
  bool force = false, no_fit = false, with_catalogue = false, details = false;
};

void check_options(const Options& o) {
  if (o.files.empty() && o.runs.empty()) {
    throw InputError(
        {{"command line", 0, 0}, "files", "there is nothing to read", "name files, or folders with --run"});
  }
  std::vector<Diagnostic> faults;
  const auto note = [&](const char* key, std::string problem, std::string fix) {
    faults.push_back({{"command line", 0, 0}, key, std::move(problem), std::move(fix)});
  };
  if (!o.points.op.empty() && logs::canonical_op(o.points.op).empty()) {
    note("--op", "\"" + printable(o.points.op, 40) + "\" is no operation of nccom-test",
         "for example all_reduce or allg");
  }
  if (o.points.ranks > 0 && o.points.nodes > o.points.ranks)
    note("--nodes", "more nodes than ranks", "correct one of them");
  if (!o.out.empty() && !o.out.ends_with(".json")) {
    note("--out", "\"" + printable(o.out, 200) + "\" does not end in .json, so --profile would not read it",
         "write --out " + printable(o.out, 200) + ".json");
  }
  if (!o.out.empty() && o.no_fit) note("--out", "--no-fit fits nothing to write", "leave one of the two out");
  if (o.force && o.out.empty()) note("--force", "there is no --out to overwrite", "add --out FILE.json");
  if (!faults.empty()) throw InputError(std::move(faults));
}

/// All files, with the faults of all that are no use.
std::vector<LogFile> read_files(const std::vector<std::string>& paths, const Options& o) {
  std::vector<LogFile> files;
  std::vector<Diagnostic> faults;
  for (const std::string& path : paths) {
    try {
      io::LogStream stream(path);
      const std::string name = path == io::kStandardInput ? io::kStandardInputName : path;
      logs::Detected content = logs::detect(stream, name, stated_command(o.points));
      files.push_back({name, stream.sha256(), std::move(content)});
    } catch (const InputError& e) {
      faults.insert(faults.end(), e.faults().begin(), e.faults().end());
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return files;
}

/// "8 progress-bar lines, 1 NxD line"
std::string kinds_text(const logs::Detected& content) {
  std::string text;
  for (const logs::Detected::Kind& kind : content.kinds) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", kind.pieces, kind.name,
                        kind.pieces == 1 ? "" : "s");
  }
  return text;
}

bool only_points(const logs::Detected& content) {
  return content.kinds.size() == 1 && (!content.points.empty() || !content.tables.empty());
}

/// One line for each file, and what it holds beside points; `chosen` are those that the fit uses.
std::string files_text(const std::vector<LogFile>& files, const std::vector<CollectiveReading>& readings,
                       const std::vector<MeasuredCollective>& chosen) {
  std::string text;
  std::set<std::pair<std::string, std::string>> used;
  for (const MeasuredCollective& p : chosen) used.emplace(p.at.file, p.id);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const CollectiveReading& r = readings[i];
    std::size_t count = 0;
    for (const MeasuredCollective& p : r.points) count += used.erase({p.at.file, p.id});
    if (!only_points(files[i].content)) {
      text += fmt::format("{}: {}\n", printable(r.name), kinds_text(files[i].content));
    }
    if (!r.kind.empty()) text += fmt::format("{}: {} of {} {}\n", printable(r.name), count, r.rows, r.kind);
    text += log_text(files[i].content);
  }
  return text;
}

std::string with_files(const std::string& document, const std::vector<LogFile>& files,
                       const std::vector<logs::StepSample>& steps) {
  std::vector<std::pair<std::string, const logs::Detected*>> contents;
  for (const LogFile& file : files) contents.emplace_back(file.path, &file.content);
  return io::with_logs(document, contents, steps);
}

/// How to have steps compared with a prediction and learnt from; "" where there are none, or it is known what
/// ran.
std::string what_to_add(const std::vector<LogFile>& files, const std::optional<WhatRan>& ran,
                        const Options& o) {
  const bool steps = std::any_of(files.begin(), files.end(),
                                 [](const LogFile& file) { return !file.content.steps.empty(); });
  if (!steps || (ran && ran->strategy)) return "";
  std::vector<std::string> words = {"trnplan", "calibrate"};
  words.insert(words.end(), o.files.begin(), o.files.end());
  const std::string command = printable(launch::command_line(words), 2000), out = "--out mine.json";
  std::string text = "To compare these steps with a prediction and learn from them, say how they ran:\n";
  if (ran)
    return text + fmt::format("  {} --job {} --strategy tp=8,pp=4 {}\n", command, printable(o.job), out);
  return text + fmt::format("  {0} --config NXDT.yaml {1}\n  {0} --job JOB.yaml --strategy tp=8,pp=4 {1}\n",
                            command, out);
}

/// Logs without a point for the fit: what they say is the answer.
int report(const std::vector<LogFile>& files, const std::vector<CollectiveReading>& readings,
           const std::vector<logs::StepSample>& steps, const std::optional<WhatRan>& ran, const Options& o) {
  if (!o.out.empty()) {
    throw InputError(
        {{"command line", 0, 0},
         "--out",
         "no file has a point of nccom-test that a fit could use",
         "say how the steps of a log ran with --config, or with --job and --strategy; or leave --out "
         "away, give nccom-test's output as well, or say with --kernel of which kernel a device "
         "profile is"});
  }
  const std::string text = files_text(files, readings, {}) + of_job_text(steps, files, ran);
  const std::string empty = fmt::format("{{\"schema_version\": 1, \"instance\": \"{}\"}}", o.instance);
  print_result(o.common, o.common.json() ? with_files(empty, files, steps) : text);
  if (!o.common.json()) print(what_to_add(files, ran, o));  // a command is pasted: its lines stay whole
  return kDone;
}

void write_profile(const CollectiveFit& fit, const io::Catalog& catalog,
                   const std::vector<CollectiveReading>& readings, const Options& o) {
  const std::string name = std::filesystem::path(o.out).stem().string();
  const std::string text = collective_profile_json(fit, catalog, readings, name, o.instance);
  io::update_file(o.out, o.force, [&] { return keep_observations(text, o.common, o.out); });
  remark("wrote " + o.out);
}

/// Kernels alone, beside what the profile says of them.
int compare_kernels(const StepInputs& inputs, const models::Profile& profile,
                    const std::vector<LogFile>& files, const std::vector<logs::StepSample>& steps,
                    const std::string& read, const Options& o) {
  const auto rows = calibrate::compare_kernels(inputs.kernels, inputs.core, profile);
  print_result(o.common, o.common.json() ? with_files(io::kernels_json(rows, profile.name), files, steps)
                                         : read + fmt::format("no fit: as profile {} says\n", profile.name) +
                                               kernels_text(rows));
  return kDone;
}

void remark_left_out(std::vector<Diagnostic> sensitivity) {
  for (Diagnostic& d : sensitivity) {
    d.problem = "left out: " + d.problem;
    remark(d);
  }
}

/// Whole steps or kernels, with the points beside them.
int run_steps(StepInputs inputs, const models::Profile& profile, const io::Catalog& catalog,
              const std::vector<LogFile>& files, const std::string& read, const Options& o) {
  if (o.no_fit) {
    throw InputError({{"command line", 0, 0},
                      "--no-fit",
                      inputs.kernels.empty() ? "there are steps among the files"
                                             : "there are kernels beside steps or nccom-test points",
                      inputs.kernels.empty()
                          ? "set a profile beside them with: trnplan validate RUNS.csv --leave-out none"
                          : "give the kernels alone"});
  }
  const std::string name = o.out.empty() ? "fitted" : std::filesystem::path(o.out).stem().string();
  std::vector<logs::StepSample> samples;
  for (const RanSamples& log : inputs.logs)
    samples.insert(samples.end(), log.samples.begin(), log.samples.end());
  const StepCalibration c = calibrate_steps(std::move(inputs), profile, catalog, name);
  remark_left_out(sensitivity_of(c.data->left_out));
  const bool refused = !o.out.empty() && !c.doubts.empty() && !o.force;
  if (!o.out.empty() && !refused) {
    io::update_file(o.out, o.force,
                    [&] { return keep_observations(step_profile_json(c, catalog), o.common, o.out); });
    remark("wrote " + o.out);
  }
  print_result(o.common,
               o.common.json()
                   ? with_files(io::step_fit_json(c.fit, c.data->runs.excluded, c.kernels), files, samples)
                   : step_answer(c) + read + step_fit_text(c, o.details || c.own.empty()));
  if (refused) remark(o.out + " is not written for that; with --force it is");
  return refused ? kNoPlan : kDone;
}

/// What one --run folder holds.
struct RunFolder {
  std::vector<LogFile> files;
  RanSamples log;
};

std::vector<RunFolder> read_runs(const Options& o, const io::Catalog& catalog) {
  std::vector<RunFolder> all;
  for (const std::string& path : o.runs) {
    RunFolder folder;
    folder.log.ran = ran_of_folder(path, catalog);
    folder.files = read_files(logs_of_folder(path), o);
    folder.log.samples = step_samples(folder.files, folder.log.ran);
    folder.log.folder = std::filesystem::path(path).lexically_normal().filename().string();
    all.push_back(std::move(folder));
  }
  return all;
}

/// The runs, samples, points and fingerprints of all files.
StepInputs step_inputs(const std::vector<LogFile>& files, const std::vector<MeasuredCollective>& points,
                       const std::vector<RanSamples>& logs, bool with_catalogue) {
  StepInputs inputs{{}, points, logs, with_catalogue, {}, {}, {}, true};
  for (const LogFile& file : files) {
    inputs.runs.insert(inputs.runs.end(), file.content.runs.begin(), file.content.runs.end());
    inputs.files.push_back({std::filesystem::path(file.path).filename().string(), file.sha256});
  }
  return inputs;
}

/// Tables without use are the user's fault only when nothing else was learnt.
void tell_skipped(const std::vector<LogFile>& files, const std::vector<CollectiveReading>& readings,
                  bool points) {
  std::vector<Diagnostic> skipped;
  for (const CollectiveReading& r : readings)
    skipped.insert(skipped.end(), r.skipped.begin(), r.skipped.end());
  const bool logs =
      std::any_of(files.begin(), files.end(), [](const LogFile& file) { return !only_points(file.content); });
  if (!points && !skipped.empty() && !logs) throw InputError(std::move(skipped));
  remark_left_out(std::move(skipped));
}

/// What a fit of collectives is made from and told with.
struct CollectiveInputs {
  const std::vector<LogFile>& files;
  const std::vector<CollectiveReading>& readings;
  const std::vector<MeasuredCollective>& points;
  const std::vector<logs::StepSample>& steps;
  const std::optional<WhatRan>& ran;
};

/// Collectives alone.
int run_collectives(const CollectiveInputs& in, const models::Profile& prior,
                    const topology::Instance& instance, const io::Catalog& catalog, const Options& o) {
  const calibrate::Selection chosen = calibrate::select_points(in.points, instance, prior);
  if (chosen.points.empty()) throw InputError(sensitivity_of(chosen.left_out));
  remark_left_out(sensitivity_of(chosen.left_out));
  if (chosen.repeated > 0) {
    remark(fmt::format("{} point{} given twice {} used once", chosen.repeated,
                       chosen.repeated == 1 ? "" : "s", chosen.repeated == 1 ? "is" : "are"));
  }
  doubt_builds(in.readings);
  remark_family(catalog, prior, instance);
  const CollectiveFit fit = o.no_fit ? calibrate::predict_collectives(chosen.points, instance, prior)
                                     : calibrate::fit_collectives(chosen.points, instance, prior);
  if (!o.no_fit && !fit.converged) remark("the fit did not converge; its parameters are not an optimum");
  std::string text =
      files_text(in.files, in.readings, chosen.points) + of_job_text(in.steps, in.files, in.ran);
  if (o.no_fit) text += fmt::format("no fit: as profile {} says\n", prior.name);
  const bool refused = !o.out.empty() && !fit.explains() && !o.force;
  if (!o.out.empty() && !refused) write_profile(fit, catalog, in.readings, o);
  print_result(o.common,
               o.common.json()
                   ? with_files(io::collective_fit_json(fit, chosen.left_out, o.instance), in.files, in.steps)
                   : text + collective_fit_text(fit));
  if (refused) {
    remark(
        fmt::format("{} is not written: the fit does not explain these rows (median error {:.1f} %, above "
                    "{:.0f} %); with --force it is",
                    o.out, fit.median_error * 100, calibrate::kMostMedianError * 100));
  }
  return refused ? kNoPlan : kDone;
}

/// What a fit starts from when --profile does not say. Steps of the user's own are few: the published runs
/// help. nccom-test and kernels are of one build or core, and stand for themselves.
models::Profile default_profile(const StepInputs& inputs, const io::Catalog& catalog) {
  return catalog.profile(has_own_steps(inputs) ? kPriorOfSteps : kPrior);
}

int run(const Options& o) {
  check_options(o);
  if (!o.out.empty()) io::check_file(o.out, o.force);
  const io::Catalog catalog = io::Catalog::standard();
  std::optional<models::Profile> stated;
  if (!o.common.profile.empty()) stated = load_profile(catalog, o.common);
  const topology::Instance instance = instance_option(catalog, o.instance);
  const std::optional<WhatRan> ran = what_ran(o.job, o.strategy, o.config, o.instance, catalog);
  std::vector<LogFile> files = read_files(o.files, o);
  const std::size_t given = files.size();  // the logs of folders follow
  const std::vector<RunFolder> folders = read_runs(o, catalog);
  for (const RunFolder& f : folders) files.insert(files.end(), f.files.begin(), f.files.end());
  std::vector<CollectiveReading> readings;
  std::vector<MeasuredCollective> points;
  for (const LogFile& file : files) {
    readings.push_back(take_file(file, o.points));
    points.insert(points.end(), readings.back().points.begin(), readings.back().points.end());
  }
  const std::vector<LogFile> own(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(given));
  const std::vector<logs::StepSample> steps = step_samples(own, ran);
  std::vector<RanSamples> logs_of_runs{{steps, ran, ""}};
  for (const RunFolder& f : folders) logs_of_runs.push_back(f.log);
  StepInputs inputs = step_inputs(files, points, logs_of_runs, o.with_catalogue);
  inputs.kernels = take_kernels(files, o.kernels, instance, catalog);
  inputs.core = instance.core;
  tell_skipped(files, readings, !points.empty());
  inputs.profile_stated = stated.has_value();
  const models::Profile prior = stated ? *stated : default_profile(inputs, catalog);
  const bool overlapped = !points.empty() || has_steps(inputs) || prior.calibration != nullptr;
  if (!inputs.kernels.empty() && overlapped && o.instance != kFabricOfFits) {
    throw InputError(
        {{"command line", 0, 0},
         "--instance",
         fmt::format("kernels beside steps, nccom-test points or a fitted profile are fitted on {} only",
                     kFabricOfFits),
         "give kernels alone, with --profile trn1-datasheet or another that is not fitted"});
  }
  if (has_steps(inputs) || !inputs.kernels.empty()) {
    std::string read = files_text(files, readings, points) + of_job_text(steps, own, ran);
    for (const RunFolder& f : folders) read += of_job_text(f.log.samples, f.files, f.log.ran);
    if (!inputs.kernels.empty()) remark_family(catalog, prior, instance);
    const bool alone = !has_steps(inputs) && points.empty();
    return o.no_fit && alone ? compare_kernels(inputs, prior, files, steps, read, o)
                             : run_steps(std::move(inputs), prior, catalog, files, read, o);
  }
  if (points.empty()) return report(files, readings, steps, ran, o);
  return run_collectives({files, readings, points, steps, ran}, prior, instance, catalog, o);
}

}  // namespace

void add_calibrate(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  o->common.profile.clear();  // chosen by what is given
  CLI::App* command = app.add_subcommand(
      "calibrate", "Read logs of runs, and fit a profile to them: whole steps, collectives, kernels");
  command
      ->add_option("files", o->files,
                   "nccom-test output (text or JSON), a measured-collectives or measured-kernels CSV, "
                   "training logs, Slurm output, "
                   "TensorBoard event files, neuron-monitor and neuron-profile output; - is standard input")
      ->check(not_empty());
  command->add_option("--build", o->points.build, "of a CSV, only the points of this nccom-test build")
      ->check(not_empty());
  command
      ->add_option("--op", o->points.op,
                   "operation of tables without a command line (JSON reports, Slurm logs)")
      ->check(not_empty());
  command->add_option("-r,--ranks", o->points.ranks, "ranks of such tables, over all nodes")
      ->check(whole_number(1, kMostRanks));
  command
      ->add_option("-N,--nodes", o->points.nodes,
                   "nodes of such tables; as few as hold the ranks when absent")
      ->check(whole_number(1, topology::kMostNodes));
  command->add_option("--job", o->job, "the job whose training logs are given")->check(not_empty());
  command->add_option("--strategy", o->strategy, "its strategy, as simulate takes it")->check(not_empty());
  command
      ->add_option(
          "--run", o->runs,
          "a folder of plan --out or measure.sh that ran: its plan.json and train-*.out; may be repeated")
      ->check(not_empty());
  command->add_flag("--with-catalogue", o->with_catalogue,
                    "fit the catalogue's runs along, so that nccom-test alone gives a profile for planning");
  command->add_option("--config", o->config, "the NxDT YAML that ran, in place of --job and --strategy")
      ->check(not_empty());
  command
      ->add_option("--kernel", o->kernels,
                   "FILE=OP,key=value,...: the kernel that FILE is the device profile of; repeatable")
      ->allow_extra_args(false)
      ->check(not_empty());
  command->add_option("--instance", o->instance, "where they were measured")->capture_default_str();
  command->add_flag("--details", o->details,
                    "beside steps of your own also the parameters, and what was learnt of published runs");
  command->add_flag("--no-fit", o->no_fit, "only compare what the profile says with the rows");
  command->add_option("--out", o->out, "write the fitted profile here (.json)")->check(not_empty());
  command->add_flag("--force", o->force, "overwrite --out, and write it though the fit explains nothing");
  add_common(*command, o->common);
  command->get_option("--profile")
      ->check(not_empty())
      ->default_str("trn1 with steps of a log, else trn1-datasheet");
  command->footer(
      "--profile names the prior; one that was fitted to the catalogue's runs takes these along. The fitted\n"
      "profile can be given to every command as --profile. Fitted to nccom-test alone it is for "
      "collectives,\n"
      "not for planning: launch and barrier are those of one nccom-test build. Steps are fitted when a "
      "table\n"
      "of runs is given, or logs with --config or with --job and --strategy.\n"
      "Kernels are device times of one core, without launch: matmul,m=,k=,n=,dtype= (bf16, fp16, fp32);\n"
      "flash_forward or flash_backward,heads=,sequence=,head_dim=,causal=yes|no,dtype= (and batch=);\n"
      "norm,rows=,width=; vector,elements=,passes=; stream,bytes=. Tables: catalog/measured-kernels.md.\n"
      "In the table a factor is one standard deviation, up or down; \"identified\" parameters are "
      "decided by\n"
      "the points, those \"at prior\" are not moved by them.\n"
      "Exit code 3: the median error is above 25 %, or a step or kernel is far from what the profile says\n"
      "of it, so --out is not written without --force.\n"
      "What a file is, is found by its content. Memory, and profiles of devices without --kernel,\n"
      "are listed, not fitted.\n"
      "Examples:\n"
      "  nccom-test -r 32 -b 1kb -e 1gb -f 4 -d fp32 allr > allr.txt; trnplan calibrate allr.txt --out "
      "mine.json\n"
      "  trnplan calibrate slurm-17.out --config nxdt.yaml --out mine.json\n"
      "  trnplan calibrate catalog/measured-runs.csv catalog/measured-collectives.csv --build 2023-04 "
      "--profile "
      "trn1-datasheet\n"
      "  trnplan calibrate gemm.json --kernel gemm.json=matmul,m=4096,k=4096,n=4096,dtype=bf16\n"
      "  trnplan calibrate report.json --op all_gather --ranks 32 --no-fit\n"
      "  trnplan calibrate catalog/measured-collectives.csv --build 2023-04 --profile trn1-2023-04");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
