#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "api/calibrate.h"
#include "api/documents.h"
#include "api/explain_profile.h"
#include "api/gpu_fit.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/collective_fit_text.h"
#include "cli/text/explained_profile_text.h"
#include "cli/text/gpu_fit_text.h"
#include "cli/text/log_text.h"
#include "cli/text/machine_fit_text.h"
#include "cli/text/step_fit_text.h"
#include "logs/nccom/bounds.h"
#include "text/diagnostic.h"
#include "text/shell_words.h"

namespace trnplan::cli {

namespace {

using api::CalibrateResult;
using calibrate::LogFile;
using logs::MeasuredCollective;

struct CalibrateOptions {
  Common common;  ///< its profile is in the request
  api::CalibrateRequest request;
  bool details = false;
  std::string explain, against;  ///< profiles to explain and to compare with
  std::string gpu;               ///< profile of a GPU to fit again
};

/// "8 progress-bar lines, 1 NxD line"
std::string kinds_text(const logs::Detected& content) {
  std::string text;
  for (const logs::Detected::Kind& kind : content.kinds) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", kind.pieces, kind.name,
                        kind.pieces == 1 ? "" : "s");
  }
  return text;
}

/// One line per file, with its content other than points; `chosen` are those that the fit uses.
std::string files_text(const std::vector<LogFile>& files,
                       const std::vector<calibrate::CollectiveReading>& readings,
                       const std::vector<MeasuredCollective>& chosen) {
  std::string text;
  std::set<std::pair<std::string, std::string>> used;
  for (const MeasuredCollective& p : chosen) used.emplace(p.at.file, p.id);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const calibrate::CollectiveReading& r = readings[i];
    std::size_t count = 0;
    for (const MeasuredCollective& p : r.points) count += used.erase({p.at.file, p.id});
    if (!calibrate::only_points(files[i].content)) {
      text += fmt::format("{}: {}\n", printable(r.name), kinds_text(files[i].content));
    }
    if (!r.kind.empty()) text += fmt::format("{}: {} of {} {}\n", printable(r.name), count, r.rows, r.kind);
    text += log_text(files[i].content);
  }
  return text;
}

/// How to compare steps with a prediction and fit to them; "" if there are none, or if the plan that ran is
/// known.
std::string what_to_add(const CalibrateResult& result, const api::CalibrateRequest& request) {
  const bool steps = std::any_of(result.files.begin(), result.files.end(),
                                 [](const LogFile& file) { return !file.content.steps.empty(); });
  if (!steps || (result.ran && result.ran->strategy)) return "";
  std::vector<std::string> words = {"trnplan", "calibrate"};
  words.insert(words.end(), request.files.begin(), request.files.end());
  const std::string command = command_line(words), out = "--out mine.json";
  std::string text = "To compare these steps with a prediction and to learn from them, state how they ran:\n";
  if (result.ran) {
    return text + fmt::format("  {} {} --strategy tp=8,pp=4 {}\n", command,
                              command_line({"--job", request.job}), out);
  }
  return text + fmt::format("  {0} --config FILE {1}\n  {0} --job JOB.yaml --strategy tp=8,pp=4 {1}\n",
                            command, out);
}

/// The files, and the part of the request's own that belongs to its job; `chosen` are the points that the fit
/// uses.
std::string read_text_of(const CalibrateResult& result, const std::vector<MeasuredCollective>& chosen) {
  return files_text(result.files, result.readings, chosen) +
         of_job_text(result.steps, result.own(), result.ran);
}

std::string read_with_folders(const CalibrateResult& result) {
  std::string text = read_text_of(result, result.points);
  for (const api::RunFolder& f : result.folders) text += of_job_text(f.log.samples, f.files, f.log.ran);
  return text;
}

std::string text_of(const CalibrateResult& result, const CalibrateOptions& o) {
  const std::string no_fit = fmt::format("no fit: profile {} as it is\n", result.profile);
  if (result.machine)
    return machine_fit_text(result, o.details, text_width()) +
           files_text(result.files, result.readings, result.points);
  if (result.kernels) return read_with_folders(result) + no_fit + kernels_text(*result.kernels, text_width());
  if (const auto& c = result.step_fit) {
    return step_answer(*c) + read_with_folders(result) +
           step_fit_text(*c, o.details || c->own.empty(), text_width());
  }
  if (const auto& c = result.collectives) {
    return read_text_of(result, c->chosen.points) + (o.request.no_fit ? no_fit : "") +
           collective_fit_text(c->fit);
  }
  return read_text_of(result, {});
}

/// Explains a profile instead of fitting one.
int run_explain(const CalibrateOptions& o) {
  const SourcePos place{"command line", 0, 0};
  const api::CalibrateRequest& r = o.request;
  if (o.explain.empty())
    throw InputError({place, "--against", "no profile to compare with", "add --explain with one"});
  if (!r.files.empty() || !r.kernels.empty() || !r.out.empty() || !o.common.profile.empty() ||
      r.runs.size() > 1)
    throw InputError({place, "--explain", "a profile is explained on its own, nothing is fitted",
                      "leave out files, --kernel, --out and --profile, and give --run once"});
  const api::ExplainProfileRequest request{o.explain,  o.against,     r.job,
                                           r.strategy, r.config,      r.runs.empty() ? "" : r.runs.front(),
                                           r.instance, r.points.nodes};
  check_document(o.common, r.force, {o.explain, o.against, r.job, r.config});
  Remarks remarks = printed_remarks();
  const models::ExplainedProfile result = api::explain_profile(request, remarks);
  print_answer(
      o.common, r.force, [&] { return explained_profile_text(result, o.details, text_width()); },
      [&] { return api::document(result); });
  return kDone;
}

/// Fits a profile of a GPU again.
int run_gpu(const CalibrateOptions& o) {
  const api::CalibrateRequest& r = o.request;
  const bool more = !r.kernels.empty() || !r.runs.empty() || !r.job.empty() || !r.strategy.empty() ||
                    !r.config.empty() || !r.out.empty() || !o.common.profile.empty();
  if (r.files.size() != 1 || more)
    throw InputError({{"command line", 0, 0},
                      "--gpu",
                      "a GPU's profile is fitted to one table of runs alone",
                      "give a table in the columns of catalog/gpu-runs.csv, and of the other options only "
                      "--no-fit"});
  check_document(o.common, r.force, r.files);
  Remarks remarks = printed_remarks();
  const calibrate::GpuFit fit = api::fit_gpu({r.files.front(), o.gpu, r.no_fit}, remarks);
  print_answer(
      o.common, r.force, [&] { return gpu_fit_text(fit, r.no_fit, text_width()); },
      [&] { return api::document(fit); });
  return kDone;
}

int run(const CalibrateOptions& o) {
  if (!o.gpu.empty()) return run_gpu(o);
  if (!o.explain.empty() || !o.against.empty()) return run_explain(o);
  std::vector<std::string> others = api::paths_read(o.request);
  others.push_back(o.request.out);
  check_document(o.common, o.request.force, others);
  api::CalibrateRequest request = o.request;
  // --force applies to --json alone.
  if (!o.common.document.empty() && request.out.empty()) request.force = false;
  Remarks remarks = printed_remarks();
  const CalibrateResult result = api::calibrate(request, remarks);
  print_answer(
      o.common, o.request.force, [&] { return text_of(result, o); }, [&] { return api::document(result); });
  const bool nothing = !result.machine && !result.kernels && !result.step_fit && !result.collectives;
  // A command will be pasted, so its lines stay whole.
  if (nothing && !o.common.json()) print(what_to_add(result, o.request));
  if (!result.refused) return kDone;
  if (!result.converged()) {
    remark(o.request.out + " is not written: its fit did not converge; --force writes it all the same");
  } else if (result.machine && !result.machine->fit.explains()) {
    remark(o.request.out +
           " is not written: more than half of the shapes contradict; --force writes it all the same");
  } else if (result.collectives && !result.collectives->fit.explains()) {
    remark(fmt::format(
        "{} is not written: the fit does not explain these rows (median error {:.1f} %, above {:.0f} %); "
        "--force writes it all the same",
        o.request.out, result.collectives->fit.median_error * 100, calibrate::kMostMedianError * 100));
  } else {
    remark(o.request.out + " is not written because of that; --force writes it all the same");
  }
  return kNoPlan;
}

}  // namespace

void add_calibrate(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<CalibrateOptions>();
  o->common.profile.clear();  // chosen by the kind of files
  CLI::App* command = app.add_subcommand(
      "calibrate", "Read logs of runs and fit a profile to them: whole steps, collectives, kernels");
  command
      ->add_option(
          "files", o->request.files,
          "nccom-test output (text or JSON), nccl-tests output, a CSV of kernels (m,n,k,dtype,us), a "
          "measured-collectives or measured-kernels CSV, "
          "training logs, Slurm output, "
          "TensorBoard event files, neuron-monitor and neuron-profile output, Parquet tables of Neuron "
          "Explorer or the folder of them, traces of PyTorch's profiler and of Nsight Systems (SQLite), "
          "dumps "
          "of NCCL's flight recorder; - is standard input")
      ->check(not_empty());
  command
      ->add_option("--build", o->request.points.build,
                   "use only the points of a CSV that this nccom-test build measured")
      ->check(not_empty());
  command
      ->add_option("--op", o->request.points.op,
                   "operation of tables that have no command line (JSON reports, Slurm logs)")
      ->check(not_empty());
  command->add_option("-r,--ranks", o->request.points.ranks, "ranks of such tables, on all nodes together")
      ->check(whole_number(1, logs::kRanksMost));
  command
      ->add_option(
          "-N,--nodes", o->request.points.nodes,
          "nodes of such tables, by default as few as hold the ranks; without tables, or for a model's name, "
          "those on which --job, or the script of --config, ran")
      ->check(whole_number(1, topology::kMostNodes));
  command->add_option("--job", o->request.job, "the job that wrote the training logs")->check(not_empty());
  command->add_option("--strategy", o->request.strategy, "its strategy, written as for simulate")
      ->check(not_empty());
  command
      ->add_option("--run", o->request.runs,
                   "a folder of plan --out or measure.sh that ran; its plan.json and train-*.out are read; "
                   "may be repeated")
      ->check(not_empty());
  command->add_flag(
      "--with-catalogue", o->request.with_catalogue,
      "fit the catalogue's runs as well, so that nccom-test alone gives a profile for planning");
  command
      ->add_option("--config", o->request.config,
                   "the config that ran, or the script that started it, instead of --job and --strategy")
      ->check(not_empty());
  command
      ->add_option("--kernel", o->request.kernels,
                   "FILE=OP,key=value,...: FILE is the device profile of this kernel; may be repeated")
      ->allow_extra_args(false)
      ->check(not_empty());
  command
      ->add_option("--instance", o->request.instance,
                   "instance type on which they were measured; instead of that of --job")
      ->check(not_empty())
      ->default_str(api::usual_instance());
  command
      ->add_option("--explain", o->explain,
                   "fit nothing: list what this profile holds for, each parameter, what taught it and, with "
                   "--run, --config or --job and --strategy, what of that plan depends on it")
      ->check(not_empty());
  command->add_option("--against", o->against, "with --explain: another profile to compare with")
      ->check(not_empty());
  command
      ->add_option("--gpu", o->gpu,
                   "fit a profile of catalog/gpu-fits.json, such as a100, to a table of published runs; with "
                   "--no-fit one iteration from its values")
      ->check(not_empty());
  command->add_flag("--details", o->details,
                    "show the parameters, and what was learnt from published runs, besides your own steps; "
                    "with --explain all parameters");
  command->add_flag("--no-fit", o->request.no_fit,
                    "do not fit; only compare the profile's predictions with the rows");
  command->add_option("--out", o->request.out, "write the fitted profile here (.json)")->check(not_empty());
  command->add_flag("--force", o->request.force,
                    "overwrite --out and --json, and write --out even if the fit explains nothing");
  add_document(*command, o->common);
  add_common(*command, o->common);
  command->get_option("--profile")
      ->check(not_empty())
      ->default_str("the machine's for steps of a log, otherwise trn1-datasheet");
  command->footer(
      "--profile names the prior; if it was fitted to the catalogue's runs, they are fitted again. Every "
      "command takes the fitted profile as --profile. A profile fitted to nccom-test alone is for "
      "collectives, not for planning: its launch and barrier are those of one nccom-test build. Steps are "
      "fitted when a table of runs is given, or logs with --config or with --job and --strategy.\n"
      "Kernels are device times on one core, without the launch: matmul,m=,k=,n=,dtype= (bf16, fp16, fp32); "
      "flash_forward or flash_backward,heads=,sequence=,head_dim=,causal=yes|no,dtype= (and batch=); "
      "norm,rows=,width=; vector,elements=,passes=; stream,bytes=. Tables: catalog/measured-kernels.md.\n"
      "Timed on one machine: output of nccl-tests, and CSV with the columns m,n,k,dtype,us (and b, products "
      "in "
      "one call) or batch,heads,seq,head_dim,dtype,causal,pass,us (and library) teach that machine's "
      "parameters; "
      "--instance or --job names it, and --job shows what changes for it.\n"
      "In the table a factor is one standard deviation, up or down; the points determine parameters that are "
      "\"identified\" and do not move those \"at prior\".\n"
      "Exit code 3: the fit did not converge, the median error is above 25 %, a step or kernel is far from "
      "its "
      "prediction, or the steps of one layout differ by 30 % or more, so --out is not written without "
      "--force.\n"
      "Dumps of a flight recorder (TORCH_NCCL_DEBUG_INFO_TEMP_FILE), one for each rank: a collective that "
      "hung, "
      "and the ranks that it waits for; with TORCH_NCCL_ENABLE_TIMING=1 its times teach as nccl-tests do, "
      "each the "
      "least of all ranks, since the others wait for the last.\n"
      "The kind of a file is detected from its content. Memory, traces, and device profiles without "
      "--kernel, are "
      "listed but not fitted.\n"
      "Run the examples that name catalog/ in the folder that holds it: a checkout, or share/trnplan of a "
      "package.\n"
      "Examples:\n"
      "  nccom-test -r 32 -b 1kb -e 1gb -f 4 -d fp32 allr > allr.txt\n"
      "  trnplan calibrate allr.txt --out mine.json\n"
      "  trnplan calibrate slurm-17.out --config nxdt.yaml --out mine.json\n"
      "  trnplan calibrate catalog/measured-runs.csv catalog/measured-collectives.csv --build 2023-04 "
      "--profile trn1-datasheet\n"
      "  trnplan calibrate catalog/gpu-runs.csv --gpu a100 --no-fit\n"
      "  trnplan calibrate --explain mine.json --against trn1 --job job.yaml --strategy tp=8\n"
      "  trnplan calibrate gemm.json --kernel gemm.json=matmul,m=4096,k=4096,n=4096,dtype=bf16\n"
      "  trnplan calibrate gemm.csv all_reduce.txt --instance p5.48xlarge --out mine.json\n"
      "  trnplan calibrate nccl_trace_rank_*\n"
      "  trnplan calibrate report.json --op all_gather --ranks 32 --no-fit\n"
      "  trnplan calibrate catalog/measured-collectives.csv --build 2023-04 --profile trn1-2023-04");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
