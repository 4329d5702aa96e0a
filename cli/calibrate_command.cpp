#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/collective_fit.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/step_calibration.h"
#include "cli/training_logs.h"
#include "io/atomic_write.h"
#include "io/document.h"
#include "io/log_json.h"
#include "io/profile_json.h"
#include "io/sha256.h"
#include "io/validation_json.h"
#include "units/diagnostic.h"

namespace trnplan::cli {

namespace {

using calibrate::CollectiveFit;
using calibrate::MeasuredCollective;

constexpr int kMostRanks = 1'000'000;
constexpr std::size_t kLogBytes = 256u << 20;  ///< a day of a chatty job; read as a whole

struct Options {
  Common common;
  std::vector<std::string> files, runs;
  std::string build, op, instance = "trn1.32xlarge", out, job, strategy, config;
  int ranks = 0, nodes = 0;  ///< 0: not stated
  bool force = false, no_fit = false, with_catalogue = false;
};

/// What a file holds for the fit of collectives.
struct Reading {
  std::string name;  ///< of the file, without folders
  std::vector<MeasuredCollective> points;
  std::string kind;                 ///< "published points", "rows of 2 nccom-test tables"; "" neither
  std::size_t rows = 0;             ///< before any was left out
  std::vector<Diagnostic> skipped;  ///< why tables gave no point
  std::set<std::string> marks;      ///< of the build that printed it
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
  if (!o.op.empty() && calibrate::canonical_op(o.op).empty()) {
    note("--op", "\"" + printable(o.op, 40) + "\" is no operation of nccom-test",
         "for example all_reduce or allg");
  }
  if (o.ranks > 0 && o.nodes > o.ranks) note("--nodes", "more nodes than ranks", "correct one of them");
  if (!o.out.empty() && !o.out.ends_with(".json")) {
    note("--out", "\"" + printable(o.out, 200) + "\" does not end in .json, so --profile would not read it",
         "write --out " + printable(o.out, 200) + ".json");
  }
  if (!o.out.empty() && o.no_fit) note("--out", "--no-fit fits nothing to write", "leave one of the two out");
  if (o.force && o.out.empty()) note("--force", "there is no --out to overwrite", "add --out FILE.json");
  if (!faults.empty()) throw InputError(std::move(faults));
}

Reading take_points(const std::vector<MeasuredCollective>& points, const Options& o,
                    const std::string& file) {
  if (!o.op.empty() || o.ranks > 0 || o.nodes > 0) {
    remark(file + ": each point says its own operation and ranks: --op, --ranks, --nodes do not apply");
  }
  Reading r;
  r.kind = "published points";
  r.points = points;
  r.rows = points.size();
  std::set<std::string> builds;
  for (const MeasuredCollective& p : r.points) builds.insert(p.build);
  const std::string known = fmt::format("{}", fmt::join(builds, ", "));
  if (o.build.empty() && builds.size() > 1) {
    throw InputError({{file, 0, 0},
                      "build",
                      "its points come from several builds, which differ in speed",
                      "choose one with --build: " + known});
  }
  if (!o.build.empty() && !builds.contains(o.build)) {
    throw InputError({{file, 0, 0},
                      "--build",
                      "no point is of build \"" + printable(o.build, 40) + "\"",
                      "choose one of: " + known});
  }
  std::erase_if(r.points,
                [&](const MeasuredCollective& p) { return !o.build.empty() && p.build != o.build; });
  for (const MeasuredCollective& p : r.points) r.marks.insert("build " + p.build);
  return r;
}

/// What the options say of a table without a command.
calibrate::NccomCommand stated_command(const Options& o) {
  calibrate::NccomCommand command;
  command.op = calibrate::canonical_op(o.op);
  if (o.ranks > 0) command.ranks = o.ranks;
  if (o.nodes > 0) command.nodes = o.nodes;
  return command;
}

/// Whether the command of a table says something else than the options.
bool overrules(const calibrate::NccomTable& table, const calibrate::NccomCommand& stated) {
  const bool op = !stated.op.empty() && stated.op != table.op;
  return op || (stated.ranks && stated.ranks != table.ranks) || (stated.nodes && stated.nodes != table.nodes);
}

std::string place(const SourcePos& at) {
  return at.line > 0 ? fmt::format("{}:{}", at.file, at.line) : at.file;
}

void mark_build(const calibrate::NccomTable& table, Reading& r) {
  if (!table.time_heading.empty()) {
    r.marks.insert(table.time_heading == "time(us)" ? "heading time(us)" : "heading time:...(us)");
  }
  if (table.printed_giga) r.marks.insert(*table.printed_giga == 1e9 ? "GB of 10^9" : "GB of 2^30");
}

Reading take_tables(const std::vector<calibrate::NccomTable>& tables, const Options& o,
                    const std::string& file) {
  if (!o.build.empty()) {
    remark(file + ": --build chooses among the points of a CSV; this file does not say its build");
  }
  const calibrate::NccomCommand stated = stated_command(o);
  Reading r;
  for (const calibrate::NccomTable& table : tables) {
    for (const Diagnostic& warning : table.warnings) remark(warning);
    r.rows += table.rows.size();
    mark_build(table, r);
    if (!table.command.empty() && overrules(table, stated)) {
      remark(fmt::format("{}: its command is taken, not --op, --ranks, --nodes: {}", place(table.at),
                         printable(table.command, 200)));
    }
    const auto points = calibrate::points_of(table, std::filesystem::path(file).filename().string());
    if (!table.partners.empty()) {
      r.skipped.push_back(
          {table.at, "",
           table.partners + " says who talks to whom, so its rows are not of one group of all ranks",
           "give a table of nccom-test without that option"});
    } else if (table.op.empty() || !table.ranks) {
      r.skipped.push_back({table.at, "",
                           table.op.empty() ? "nothing says which operation this table is of"
                                            : "nothing says how many ranks ran this table",
                           "give it with its command line, or state --op, --ranks and --nodes"});
    } else if (points.empty()) {
      r.skipped.push_back({table.at, "",
                           "no row of this table can be used: they failed or contradict themselves",
                           "run nccom-test again, and give its output unchanged"});
    }
    r.points.insert(r.points.end(), points.begin(), points.end());
  }
  r.kind = fmt::format("rows of {} nccom-test table{}", tables.size(), tables.size() == 1 ? "" : "s");
  return r;
}

/// read_text, which takes what is too large for a configuration.
std::string read_log(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (!error && bytes > kLogBytes) {
    throw InputError({{path, 0, 0},
                      "",
                      fmt::format("larger than {} MiB", kLogBytes >> 20),
                      fmt::format("give a part of it: tail -c {}M FILE", kLogBytes >> 20)});
  }
  return io::read_text(path, kLogBytes);
}

/// All files, with the faults of all that are no use.
std::vector<LogFile> read_files(const std::vector<std::string>& paths, const Options& o) {
  std::vector<LogFile> files;
  std::vector<Diagnostic> faults;
  for (const std::string& path : paths) {
    try {
      const std::string text = read_log(path);
      files.push_back({path, io::sha256(text), calibrate::detect(text, path, stated_command(o))});
    } catch (const InputError& e) {
      faults.insert(faults.end(), e.faults().begin(), e.faults().end());
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return files;
}

Reading take_file(const LogFile& file, const Options& o) {
  const calibrate::Detected& content = file.content;
  for (const Diagnostic& left_out : content.skipped) remark(left_out);
  Reading r;
  if (!content.points.empty()) {
    r = take_points(content.points, o, file.path);
  } else if (!content.tables.empty()) {
    r = take_tables(content.tables, o, file.path);
  }
  r.name = std::filesystem::path(file.path).filename().string();
  return r;
}

/// "8 progress-bar lines, 1 NxD line"
std::string kinds_text(const calibrate::Detected& content) {
  std::string text;
  for (const calibrate::Detected::Kind& kind : content.kinds) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", kind.pieces, kind.name,
                        kind.pieces == 1 ? "" : "s");
  }
  return text;
}

bool only_points(const calibrate::Detected& content) {
  return content.kinds.size() == 1 && (!content.points.empty() || !content.tables.empty());
}

/// One line for each file, and what it holds beside points; `chosen` are those that the fit uses.
std::string files_text(const std::vector<LogFile>& files, const std::vector<Reading>& readings,
                       const std::vector<MeasuredCollective>& chosen) {
  std::string text;
  std::set<std::pair<std::string, std::string>> used;
  for (const MeasuredCollective& p : chosen) used.emplace(p.at.file, p.id);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Reading& r = readings[i];
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
                       const std::vector<calibrate::StepSample>& steps) {
  std::vector<std::pair<std::string, const calibrate::Detected*>> contents;
  for (const LogFile& file : files) contents.emplace_back(file.path, &file.content);
  return io::with_logs(document, contents, steps);
}

/// Logs without a point for the fit: what they say is the answer.
int report(const std::vector<LogFile>& files, const std::vector<Reading>& readings,
           const std::vector<calibrate::StepSample>& steps, const std::optional<WhatRan>& ran,
           const Options& o) {
  if (!o.out.empty()) {
    throw InputError({{"command line", 0, 0},
                      "--out",
                      "no file has a point of nccom-test that a fit could use",
                      "leave --out away, or give nccom-test's output as well"});
  }
  const std::string text = files_text(files, readings, {}) + of_job_text(steps, files, ran);
  const std::string empty = fmt::format("{{\"schema_version\": 1, \"instance\": \"{}\"}}", o.instance);
  print(o.common.json() ? with_files(empty, files, steps) : text);
  return kDone;
}

/// Launch differs by build, and one fit has one launch.
void doubt_builds(const std::vector<Reading>& all) {
  std::set<std::string> marks, headings, units, builds;
  bool csv = false, table = false;
  for (const Reading& r : all) {
    for (const std::string& m : r.marks) {
      (m.starts_with("heading") ? headings : m.starts_with("GB") ? units : builds).insert(m);
    }
    (r.kind == "published points" ? csv : table) |= !r.points.empty();
  }
  if (headings.size() < 2 && units.size() < 2 && builds.size() < 2 && !(csv && table)) return;
  marks.insert(headings.begin(), headings.end());
  marks.insert(units.begin(), units.end());
  marks.insert(builds.begin(), builds.end());
  remark(
      fmt::format("the tables may come from different builds ({}): launch differs by build, and the fit has "
                  "one; fit them apart if so",
                  fmt::join(marks, ", ")));
}

/// One remark, or fault, for each reason a point was left out, at the first such point.
std::vector<Diagnostic> reasons(const std::vector<calibrate::LeftOut>& left_out) {
  std::vector<Diagnostic> all;
  std::map<std::string, std::pair<std::size_t, int>> known;  // reason -> index, count
  for (const calibrate::LeftOut& l : left_out) {
    const auto [it, fresh] = known.try_emplace(l.reason, all.size(), 0);
    ++it->second.second;
    if (fresh) all.push_back({l.point.at, "", l.reason, l.fix});
  }
  for (const auto& [reason, entry] : known) {
    const int more = entry.second - 1;
    if (more > 0) {
      all[entry.first].problem += fmt::format(" ({} more point{} likewise)", more, more == 1 ? "" : "s");
    }
  }
  return all;
}

std::string value_text(models::Parameter p, const models::Value& v) {
  const bool seconds = models::unit_of(p) == "s";
  return fmt::format("{:.4g}{} x/: {:.2f}", seconds ? v.median * 1e6 : v.median, seconds ? " us" : "",
                     std::exp(v.log_sd));
}

std::string estimates_text(const CollectiveFit& fit) {
  std::string text = fmt::format("\n{:<14} {:>20} {:>20}  {}\n", "parameter", "prior", "fitted",
                                 "spread left of the prior's");
  for (const CollectiveFit::Estimate& e : fit.estimates) {
    text += fmt::format("{:<14} {:>20} {:>20}  {:.2f} {}\n", models::to_string(e.parameter),
                        value_text(e.parameter, e.prior), value_text(e.parameter, e.posterior), e.prior_share,
                        e.verdict);
  }
  text += "x/: one standard deviation, a factor up or down; at prior: the points do not move it\n";
  if (fit.noise_scale > 1) {
    text += fmt::format(
        "the rows lie farther off than the noise of 10 % (reduced chi-square {:.1f}); the spreads grew for "
        "it\n",
        fit.noise_scale);
  }
  return text;
}

std::string bytes_text(double bytes) {
  return fmt::format("{:.0f} byte{}", bytes, bytes == 1 ? "" : "s");
}

std::string fit_text(const CollectiveFit& fit) {
  std::string text = fit.estimates.empty() ? "" : estimates_text(fit);
  text += fmt::format("\n{:<14} {:>5} {:>11} {:>12} {:>12} {:>7}  {}\n", "operation", "ranks", "bytes",
                      "measured us", "predicted us", "error", "algorithm");
  for (const CollectiveFit::Row& row : fit.rows) {
    text += fmt::format("{:<14} {:>5} {:>11.0f} {:>12.1f} {:>12.1f} {:>+6.1f}%  {}\n", row.point->op,
                        row.point->ranks, row.point->bytes, row.point->seconds * 1e6, row.predicted * 1e6,
                        row.error * 100, row.algorithm);
  }
  text += fmt::format("{} point{}: median error {:.1f} %, worst {:+.1f} % ({} of {}, {} rank{})\n",
                      fit.rows.size(), fit.rows.size() == 1 ? "" : "s", fit.median_error * 100,
                      fit.worst->error * 100, fit.worst->point->op, bytes_text(fit.worst->point->bytes),
                      fit.worst->point->ranks, fit.worst->point->ranks == 1 ? "" : "s");
  if (!fit.estimates.empty() && !fit.explains()) {
    text +=
        fmt::format("the fit does not explain these rows (median error {:.1f} %)\n", fit.median_error * 100);
  }
  return text;
}

void write_profile(const CollectiveFit& fit, const io::Catalog& catalog, const std::vector<Reading>& readings,
                   const Options& o) {
  models::Profile profile = fit.profile;
  profile.name = std::filesystem::path(o.out).stem().string();
  profile.instance = o.instance;
  std::set<std::string> builds;
  std::vector<std::string> files, runs;
  for (const Reading& r : readings) {
    const bool gave = std::any_of(fit.rows.begin(), fit.rows.end(), [&](const CollectiveFit::Row& row) {
      return std::find_if(r.points.begin(), r.points.end(), [&](const MeasuredCollective& p) {
               return p.id == row.point->id && p.at.file == row.point->at.file;
             }) != r.points.end();
    });
    if (gave) files.push_back(r.name);
  }
  for (const CollectiveFit::Row& row : fit.rows) {
    if (!row.point->build.empty()) builds.insert(row.point->build);
  }
  const std::string build = builds.empty() ? "" : fmt::format(", build {}", fmt::join(builds, " and "));
  std::vector<models::Parameter> stated;
  for (const CollectiveFit::Estimate& e : fit.estimates) {
    stated.push_back(e.parameter);
    const std::string points = fmt::format("{} nccom-test point{} of {}{}", fit.rows.size(),
                                           fit.rows.size() == 1 ? "" : "s", fmt::join(files, ", "), build);
    profile.value(e.parameter).source =
        e.verdict == "at prior" ? fmt::format("at prior: not moved by {}; prior {:.4g}, log-sd {:.2f}",
                                              points, e.prior.median, e.prior.log_sd)
                                : fmt::format("{}: fitted to {}; prior {:.4g}, log-sd {:.2f}", e.verdict,
                                              points, e.prior.median, e.prior.log_sd);
  }
  std::optional<models::Profile> base;
  if (!profile.base.empty()) base = catalog.profile(profile.base);
  const std::string text = io::profile_json(
      profile, base, stated,
      fmt::format("Collectives of {}, fitted to nccom-test: median error {:.1f} %, worst {:.0f} %.",
                  o.instance, fit.median_error * 100, fit.worst_error * 100),
      fmt::format("Fitted to nccom-test of {}: for collectives, not for planning.",
                  builds.empty() ? "a build that is not stated"
                                 : fmt::format("build {}", fmt::join(builds, " and "))));
  io::write_file(o.out, text, o.force);
  remark("wrote " + o.out);
}

/// Whole steps, with the points beside them.
int run_steps(StepInputs inputs, const models::Profile& profile, const io::Catalog& catalog,
              const std::vector<LogFile>& files, const std::string& read, const Options& o) {
  if (o.no_fit) {
    throw InputError({{"command line", 0, 0},
                      "--no-fit",
                      "there are steps among the files",
                      "set a profile beside them with: trnplan validate RUNS.csv --leave-out none"});
  }
  const std::string name = o.out.empty() ? "fitted" : std::filesystem::path(o.out).stem().string();
  std::vector<calibrate::StepSample> samples;
  for (const RanSamples& log : inputs.logs)
    samples.insert(samples.end(), log.samples.begin(), log.samples.end());
  const StepCalibration c = calibrate_steps(std::move(inputs), profile, catalog, name);
  if (!o.out.empty()) {
    io::write_file(o.out, step_profile_json(c, catalog), o.force);
    remark("wrote " + o.out);
  }
  print(o.common.json() ? with_files(io::step_fit_json(c.fit, c.data->runs.excluded), files, samples)
                        : read + step_fit_text(c));
  return kDone;
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
  StepInputs inputs{{}, points, logs, with_catalogue, {}};
  for (const LogFile& file : files) {
    inputs.runs.insert(inputs.runs.end(), file.content.runs.begin(), file.content.runs.end());
    inputs.files.push_back({std::filesystem::path(file.path).filename().string(), file.sha256});
  }
  return inputs;
}

int run(const Options& o) {
  check_options(o);
  if (!o.out.empty()) io::check_file(o.out, o.force);
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile prior = load_profile(catalog, o.common);
  const topology::Instance instance = instance_option(catalog, o.instance);
  const std::optional<WhatRan> ran = what_ran(o.job, o.strategy, o.config, o.instance, catalog);
  std::vector<LogFile> files = read_files(o.files, o);
  const std::size_t given = files.size();  // the logs of folders follow
  const std::vector<RunFolder> folders = read_runs(o, catalog);
  for (const RunFolder& f : folders) files.insert(files.end(), f.files.begin(), f.files.end());
  std::vector<Reading> readings;
  std::vector<MeasuredCollective> points;
  for (const LogFile& file : files) {
    readings.push_back(take_file(file, o));
    points.insert(points.end(), readings.back().points.begin(), readings.back().points.end());
  }
  std::vector<Diagnostic> skipped;
  for (const Reading& r : readings) skipped.insert(skipped.end(), r.skipped.begin(), r.skipped.end());
  // Tables without use are the user's fault only when nothing else was learnt.
  const bool logs =
      std::any_of(files.begin(), files.end(), [](const LogFile& file) { return !only_points(file.content); });
  if (points.empty() && !skipped.empty() && !logs) throw InputError(std::move(skipped));
  for (Diagnostic& d : skipped) {
    d.problem = "left out: " + d.problem;
    remark(d);
  }
  const std::vector<LogFile> own(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(given));
  const std::vector<calibrate::StepSample> steps = step_samples(own, ran);
  std::vector<RanSamples> logs_of_runs{{steps, ran, ""}};
  for (const RunFolder& f : folders) logs_of_runs.push_back(f.log);
  if (StepInputs inputs = step_inputs(files, points, logs_of_runs, o.with_catalogue); has_steps(inputs)) {
    std::string read = files_text(files, readings, points) + of_job_text(steps, own, ran);
    for (const RunFolder& f : folders) read += of_job_text(f.log.samples, f.files, f.log.ran);
    return run_steps(std::move(inputs), prior, catalog, files, read, o);
  }
  if (points.empty()) return report(files, readings, steps, ran, o);
  const calibrate::Selection chosen = calibrate::select_points(points, instance, prior);
  if (chosen.points.empty()) throw InputError(reasons(chosen.left_out));
  for (Diagnostic& d : reasons(chosen.left_out)) {
    d.problem = "left out: " + d.problem;
    remark(d);
  }
  if (chosen.repeated > 0) {
    remark(fmt::format("{} point{} given twice {} used once", chosen.repeated,
                       chosen.repeated == 1 ? "" : "s", chosen.repeated == 1 ? "is" : "are"));
  }
  doubt_builds(readings);
  remark_family(catalog, prior, instance);
  const CollectiveFit fit = o.no_fit ? calibrate::predict_collectives(chosen.points, instance, prior)
                                     : calibrate::fit_collectives(chosen.points, instance, prior);
  if (!o.no_fit && !fit.converged) remark("the fit did not converge; its parameters are not an optimum");
  std::string text = files_text(files, readings, chosen.points) + of_job_text(steps, files, ran);
  if (o.no_fit) text += fmt::format("no fit: as profile {} says\n", prior.name);
  const bool refused = !o.out.empty() && !fit.explains() && !o.force;
  if (!o.out.empty() && !refused) write_profile(fit, catalog, readings, o);
  print(o.common.json() ? with_files(io::collective_fit_json(fit, chosen.left_out, o.instance), files, steps)
                        : text + fit_text(fit));
  if (refused) {
    remark(
        fmt::format("{} is not written: the fit does not explain these rows (median error {:.1f} %, above "
                    "{:.0f} %); with --force it is",
                    o.out, fit.median_error * 100, calibrate::kMostMedianError * 100));
  }
  return refused ? kNoPlan : kDone;
}

}  // namespace

void add_calibrate(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  o->common.profile = "trn1-datasheet";  // what a fit starts from
  CLI::App* command = app.add_subcommand(
      "calibrate", "Read logs of runs, and fit a profile to them: whole steps, collectives");
  command
      ->add_option(
          "files", o->files,
          "nccom-test output (text or JSON), a measured-collectives CSV, training logs, Slurm output, "
          "TensorBoard event files, neuron-monitor and neuron-profile output")
      ->check(not_empty());
  command->add_option("--build", o->build, "of a CSV, only the points of this nccom-test build")
      ->check(not_empty());
  command->add_option("--op", o->op, "operation of tables without a command line (JSON reports, Slurm logs)")
      ->check(not_empty());
  command->add_option("-r,--ranks", o->ranks, "ranks of such tables, over all nodes")
      ->check(CLI::Range(1, kMostRanks));
  command->add_option("-N,--nodes", o->nodes, "nodes of such tables; as few as hold the ranks when absent")
      ->check(CLI::Range(1, topology::kMostNodes));
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
  command->add_option("--instance", o->instance, "where they were measured")->capture_default_str();
  command->add_flag("--no-fit", o->no_fit, "only compare what the profile says with the rows");
  command->add_option("--out", o->out, "write the fitted profile here (.json)")->check(not_empty());
  command->add_flag("--force", o->force, "overwrite --out, and write it though the fit explains nothing");
  add_common(*command, o->common);
  command->footer(
      "--profile names the prior; one that was fitted to the catalogue's runs takes these along. The fitted\n"
      "profile can be given to every command as --profile. Fitted to nccom-test alone it is for "
      "collectives,\n"
      "not for planning: launch and barrier are those of one nccom-test build. Steps are fitted when a "
      "table\n"
      "of runs is given, or logs with --config or with --job and --strategy.\n"
      "In the table x/: is one standard deviation, a factor up or down; \"identified\" parameters are "
      "decided by\n"
      "the points, those \"at prior\" are not moved by them.\n"
      "Exit code 3: the median error is above 25 %, so --out is not written without --force.\n"
      "What a file is, is found by its content. Memory and profiles of devices are listed, not fitted.\n"
      "Examples:\n"
      "  nccom-test -r 32 -b 1kb -e 1gb -f 4 -d fp32 allr > allr.txt; trnplan calibrate allr.txt --out "
      "mine.json\n"
      "  trnplan calibrate slurm-17.out --config nxdt.yaml --out mine.json\n"
      "  trnplan calibrate catalog/measured-runs.csv catalog/measured-collectives.csv --build 2023-04 "
      "--profile "
      "trn1-datasheet\n"
      "  trnplan calibrate report.json --op all_gather --ranks 32 --no-fit\n"
      "  trnplan calibrate catalog/measured-collectives.csv --build 2023-04 --profile trn1-2023-04");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
