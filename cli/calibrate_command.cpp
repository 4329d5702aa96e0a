#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "calibrate/collective_fit.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "io/atomic_write.h"
#include "io/document.h"
#include "io/nccom_json.h"
#include "io/profile_json.h"
#include "units/diagnostic.h"

namespace trnplan::cli {

namespace {

using calibrate::CollectiveFit;
using calibrate::MeasuredCollective;

struct Options {
  Common common;
  std::vector<std::string> files;
  std::string build, instance = "trn1.32xlarge", out;
  bool force = false;
};

/// Points of a file and one line on what it taught.
struct Reading {
  std::vector<MeasuredCollective> points;
  std::string taught;
};

Reading read_csv(const std::string& text, const Options& o, const std::string& file) {
  Reading r{calibrate::parse_measured_collectives(text, file), ""};
  std::set<std::string> builds;
  for (const MeasuredCollective& p : r.points) builds.insert(p.build);
  if (o.build.empty() && builds.size() > 1) {
    std::string known;
    for (const std::string& b : builds) known += (known.empty() ? "" : ", ") + b;
    throw InputError({{file, 0, 0},
                      "build",
                      "its points come from several builds, which differ in speed",
                      "choose one with --build: " + known});
  }
  const std::size_t all = r.points.size();
  std::erase_if(r.points,
                [&](const MeasuredCollective& p) { return !o.build.empty() && p.build != o.build; });
  r.taught = fmt::format("{} of {} published points", r.points.size(), all);
  return r;
}

Reading read_tables(const std::string& text, const std::string& file) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  const bool json = start != std::string::npos && (text[start] == '{' || text[start] == '[');
  const auto tables = json ? std::vector{io::nccom_report_from(io::parse_document(text, file))}
                           : calibrate::parse_nccom_test(text, file);
  Reading r;
  for (const calibrate::NccomTable& table : tables) {
    for (const Diagnostic& warning : table.warnings) remark(to_string(warning));
    const auto points = calibrate::points_of(table, std::filesystem::path(file).filename().string());
    if (points.empty()) remark(file + ": a table without operation and ranks in its command line is skipped");
    r.points.insert(r.points.end(), points.begin(), points.end());
  }
  r.taught = fmt::format("{} points of {} nccom-test table{}", r.points.size(), tables.size(),
                         tables.size() == 1 ? "" : "s");
  return r;
}

Reading read_file(const std::string& file, const Options& o) {
  const std::string text = io::read_text(file);
  const std::string_view heading = std::string_view(text).substr(0, text.find('\n'));
  return heading.find("measured_us") != std::string_view::npos ? read_csv(text, o, file)
                                                               : read_tables(text, file);
}

std::string value_text(models::Parameter p, const models::Value& v) {
  const bool seconds = models::unit_of(p) == "s";
  return fmt::format("{:.4g}{} x/: {:.2f}", seconds ? v.median * 1e6 : v.median, seconds ? " us" : "",
                     std::exp(v.log_sd));
}

std::string fit_text(const CollectiveFit& fit) {
  std::string text = fmt::format("\n{:<14} {:>20} {:>20}  {}\n", "parameter", "prior", "fitted",
                                 "spread left of the prior's");
  for (const CollectiveFit::Estimate& e : fit.estimates) {
    text += fmt::format("{:<14} {:>20} {:>20}  {:.2f} {}\n", models::to_string(e.parameter),
                        value_text(e.parameter, e.prior), value_text(e.parameter, e.posterior), e.prior_share,
                        e.verdict);
  }
  text += fmt::format("\n{:<14} {:>5} {:>11} {:>12} {:>12} {:>7}  {}\n", "operation", "ranks", "bytes",
                      "measured us", "predicted us", "error", "algorithm");
  for (const CollectiveFit::Row& row : fit.rows) {
    text += fmt::format("{:<14} {:>5} {:>11.0f} {:>12.1f} {:>12.1f} {:>+6.1f}%  {}\n", row.point->op,
                        row.point->ranks, row.point->bytes, row.point->seconds * 1e6, row.predicted * 1e6,
                        row.error * 100, row.algorithm);
  }
  return text +
         fmt::format("{} points: median error {:.1f} %, worst {:+.1f} % ({} of {:.0f} bytes, {} ranks)\n",
                     fit.rows.size(), fit.median_error * 100, fit.worst->error * 100, fit.worst->point->op,
                     fit.worst->point->bytes, fit.worst->point->ranks);
}

void write_profile(const CollectiveFit& fit, const models::Profile& prior, const Options& o) {
  const std::filesystem::path path(o.out);
  models::Profile profile = fit.profile;
  profile.name = path.stem().string();
  std::string files;
  for (const std::string& f : o.files) {
    files += (files.empty() ? "" : ", ") + std::filesystem::path(f).filename().string();
  }
  std::vector<models::Parameter> stated;
  for (const CollectiveFit::Estimate& e : fit.estimates) {
    stated.push_back(e.parameter);
    profile.value(e.parameter).source = fmt::format(
        "{}: fitted to {} nccom-test points of {}{}; prior {:.4g}, log-sd {:.2f}", e.verdict, fit.rows.size(),
        files, o.build.empty() ? "" : ", build " + o.build, e.prior.median, e.prior.log_sd);
  }
  const std::string text = io::profile_json(
      profile, prior.name, stated,
      fmt::format("Collectives of {}, fitted to nccom-test: median error {:.1f} %, worst {:.0f} %.",
                  o.instance, fit.median_error * 100, fit.worst_error * 100));
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  io::write_files(folder, {{path.filename().string(), text}}, o.force);
  remark("wrote " + o.out);
}

int run(const Options& o) {
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile prior = load_profile(catalog, o.common);
  const topology::Instance instance = instance_option(catalog, o.instance);
  std::vector<MeasuredCollective> points;
  std::string text;
  for (const std::string& file : o.files) {
    Reading r = read_file(file, o);
    text += fmt::format("{}: {}\n", std::filesystem::path(file).filename().string(), r.taught);
    points.insert(points.end(), r.points.begin(), r.points.end());
  }
  if (points.empty()) {
    throw InputError({{o.files.front(), 0, 0},
                      o.build.empty() ? "" : "--build",
                      "there is no collective to learn from",
                      "give the output of nccom-test with its command line, or another --build"});
  }
  const CollectiveFit fit = calibrate::fit_collectives(points, instance, prior);
  for (const MeasuredCollective* p : fit.left_out) {
    remark(fmt::format("{}: {} of {} ranks is left out: it does not run on {}", p->id, p->op, p->ranks,
                       o.instance));
  }
  if (!o.out.empty()) write_profile(fit, prior, o);
  print(o.common.json() ? io::collective_fit_json(fit) : text + fit_text(fit));
  return kDone;
}

}  // namespace

void add_calibrate(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("calibrate", "Fit the parameters of collectives to nccom-test results");
  command->add_option("files", o->files, "nccom-test output (text or JSON), or a measured-collectives CSV")
      ->required();
  command->add_option("--build", o->build, "of a CSV, only the points of this nccom-test build");
  command->add_option("--instance", o->instance, "where they were measured")->capture_default_str();
  command->add_option("--out", o->out, "write the fitted profile here (.json)");
  command->add_flag("--force", o->force, "overwrite --out");
  add_common(*command, o->common);
  command->footer(
      "--profile names the prior. The fitted profile builds on it and can be given to every command as "
      "--profile.\n"
      "Training logs are not read yet.\n"
      "Examples:\n"
      "  nccom-test -r 32 -b 1kb -e 1gb -f 4 -d fp32 allr > allr.txt; trnplan calibrate allr.txt --out "
      "mine.json\n"
      "  trnplan calibrate catalog/measured-collectives.csv --build 2023-04 --profile trn1-2023-04");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
