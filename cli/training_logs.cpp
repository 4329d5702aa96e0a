#include "cli/training_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/context.h"
#include "io/input/nxdt_yaml.h"
#include "io/input/plan_file.h"
#include "io/input/readers.h"
#include "io/input/strategy_text.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::cli {

namespace {

using logs::StepSample;

constexpr std::size_t kShown = 12;  ///< of each kind in a text; JSON has them all
constexpr double kGiB = 0x1p30;

WhatRan ran_of_config(const std::string& path, const std::string& instance, const io::Catalog& catalog) {
  const targets::NxdtConfig config = io::read_nxdt(path);
  const io::ArchitectureReading architecture = io::architecture_of_nxdt(config, catalog);
  const targets::NxdtReading reading = targets::interpret(config, architecture.architecture);
  WhatRan ran;
  ran.job.architecture = architecture.architecture;
  ran.job.training = reading.training;
  ran.job.cluster.instance = instance_option(catalog, instance);
  ran.job.cluster.nodes = reading.nodes;
  ran.job.software.framework = "nxdt";
  ran.job.software.in_flight = reading.in_flight;
  ran.strategy = reading.strategy;
  ran.from = path;
  remarks(architecture.notes);
  return ran;
}

bool differs(const std::optional<double>& stated, int wanted) {
  return stated && wanted > 0 && *stated != wanted;
}

/// The sample with what the job says; nullopt, with a remark, when it is of another job.
std::optional<StepSample> completed(StepSample s, const WhatRan& ran) {
  const models::Training& training = ran.job.training;
  for (const auto& [stated, wanted, what] :
       {std::tuple{s.global_batch, training.global_batch, "global batch"},
        std::tuple{s.sequence, training.sequence, "sequence"}}) {
    if (!differs(stated, wanted)) continue;
    remark(Diagnostic{
        s.at, "", fmt::format("left out: {} {:.0f} in this log, {} in {}", what, *stated, wanted, ran.from),
        "give the job that wrote the log, or calibrate the logs apart"});
    return std::nullopt;
  }
  if (!s.global_batch && training.global_batch > 0) s.global_batch = training.global_batch;
  if (!s.sequence && training.sequence > 0) s.sequence = training.sequence;
  // What the user says outweighs what the words of a log hint at.
  if (!ran.job.software.framework.empty()) s.framework = ran.job.software.framework;
  if (s.release.empty()) s.release = ran.job.software.release;
  if (!s.wall_seconds && s.sequences_per_second && s.global_batch) {
    s.wall_seconds = *s.global_batch / *s.sequences_per_second;
  }
  if (!s.tokens_per_second && s.sequences_per_second && s.sequence) {
    s.tokens_per_second = *s.sequences_per_second * *s.sequence;
  }
  return s;
}

std::string plural(std::size_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string step_text(const StepSample& s) {
  std::string text = fmt::format("  step {:.5g} s", s.seconds);
  if (s.spread) text += fmt::format(" +- {:.2g}", *s.spread);
  text += fmt::format(", {}", plural(static_cast<std::size_t>(s.count), "step"));
  if (s.left_out > 0) text += fmt::format(" ({} left out)", s.left_out);
  text += s.last_line > s.at.line ? fmt::format(", lines {}-{}", s.at.line, s.last_line)
                                  : fmt::format(", line {}", s.at.line);
  text += fmt::format(": {}; {}", s.format, s.basis);
  if (!s.framework.empty()) text += "; " + printable(s.framework);
  if (s.global_batch) text += fmt::format("; global batch {:.0f}", *s.global_batch);
  if (s.sequence) text += fmt::format("; sequence {:.0f}", *s.sequence);
  if (s.wall_seconds) text += fmt::format("; {:.5g} s from step to step", *s.wall_seconds);
  if (s.sequences_per_second) text += fmt::format("; {:.4g} sequences/s stated", *s.sequences_per_second);
  return text + "\n";
}

std::string memory_text(const logs::MemorySample& m) {
  std::string text = "  memory";
  if (m.core) text += fmt::format(" of core {}", *m.core);
  if (m.bytes) text += fmt::format(" {:.3f} GiB", *m.bytes / kGiB);
  return text + fmt::format(", line {}: {}\n", m.at.line, printable(m.where, 300));
}

std::string collective_text(const logs::CollectiveSample& c) {
  return fmt::format("  {} of {:.0f} bytes{} {:.1f} us, median {:.1f}, {}, inside a graph\n",
                     printable(c.op, 60), c.bytes, c.ranks > 0 ? fmt::format(", {} ranks,", c.ranks) : "",
                     c.seconds * 1e6, c.median_seconds * 1e6,
                     plural(static_cast<std::size_t>(c.count), "time"));
}

std::string device_text(const logs::DeviceSample& d) {
  std::string text =
      fmt::format("  graph {} {:.6g} s", d.name.empty() ? "without name" : printable(d.name, 60), d.seconds);
  if (d.active_seconds) text += fmt::format(", active {:.6g} s", *d.active_seconds);
  if (d.mfu) text += fmt::format(", MFU {:.1f} %", *d.mfu * 100);
  if (d.clock_hz) text += fmt::format(", clock {:.2f} GHz", *d.clock_hz * 1e-9);
  return text + "\n";
}

template <class Sample, class Text>
std::string list_text(const std::vector<Sample>& samples, const Text& text_of) {
  std::string text;
  for (std::size_t i = 0; i < samples.size() && i < kShown; ++i) text += text_of(samples[i]);
  if (samples.size() > kShown) {
    text += fmt::format("  ... and {} more; --format json lists all\n", samples.size() - kShown);
  }
  return text;
}

}  // namespace

std::optional<WhatRan> what_ran(const std::string& job, const std::string& strategy,
                                const std::string& config, const std::string& instance,
                                const io::Catalog& catalog) {
  const SourcePos place{"command line", 0, 0};
  std::vector<Diagnostic> faults;
  if (!config.empty() && !job.empty()) {
    faults.push_back({place, "--config", "--job says what ran, too", "leave one of the two out"});
  }
  if (!strategy.empty() && job.empty()) {
    faults.push_back({place, "--strategy", "there is no --job that it is of", "add --job JOB.yaml"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  if (!config.empty()) return ran_of_config(config, instance, catalog);
  if (job.empty()) return std::nullopt;
  io::JobReading reading = io::read_job(job, catalog);
  remarks(reading.notes);
  WhatRan ran;
  if (!strategy.empty()) ran.strategy = io::parse_strategy(strategy, reading.job);
  ran.job = std::move(reading.job);
  ran.from = job;
  return ran;
}

WhatRan ran_of_folder(const std::string& folder, const io::Catalog& catalog) {
  const std::filesystem::path path = std::filesystem::path(folder) / "plan.json";
  const io::PlanFile plan = io::read_plan_file(path, catalog);
  WhatRan ran;
  ran.job = plan.job;
  ran.strategy = plan.strategy;
  ran.from = path.string();
  return ran;
}

std::vector<std::string> logs_of_folder(const std::string& folder) {
  std::vector<std::string> logs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("train-") && name.ends_with(".out")) logs.push_back(entry.path().string());
  }
  if (logs.empty()) {
    throw InputError({{folder, 0, 0},
                      "--run",
                      error ? error.message() : "no train-*.out is in it, so nothing ran there",
                      "give a folder of plan --out or measure.sh whose train.sbatch ran"});
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

std::vector<StepSample> step_samples(const std::vector<LogFile>& files, const std::optional<WhatRan>& ran) {
  std::vector<StepSample> samples;
  for (const LogFile& file : files) {
    for (const StepSample& sample : file.content.steps) {
      if (!ran) {
        samples.push_back(sample);
      } else if (auto known = completed(sample, *ran)) {
        samples.push_back(std::move(*known));
      }
    }
  }
  return samples;
}

std::string of_job_text(const std::vector<StepSample>& kept, const std::vector<LogFile>& files,
                        const std::optional<WhatRan>& ran) {
  if (!ran) return "";
  std::size_t all = 0;
  for (const LogFile& file : files) all += file.content.steps.size();
  return fmt::format("{}: {} of {} {} of it\n", printable(ran->from), kept.size(), plural(all, "step sample"),
                     all == 1 ? "is" : "are") +
         list_text(kept, step_text);
}

std::string log_text(const logs::Detected& content) {
  return list_text(content.steps, step_text) + list_text(content.memory, memory_text) +
         list_text(content.collectives, collective_text) + list_text(content.devices, device_text);
}

}  // namespace trnplan::cli
