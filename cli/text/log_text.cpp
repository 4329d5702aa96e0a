#include "cli/text/log_text.h"

#include <utility>

#include <fmt/format.h>

#include "text/diagnostic.h"
#include "text/figures.h"
#include "units/quantity.h"

namespace trnplan::cli {

using calibrate::LogFile;
using calibrate::WhatRan;
using logs::StepSample;

namespace {

constexpr std::size_t kShown = 12;  ///< of each kind in a text; JSON contains all

std::string step_text(const StepSample& s) {
  std::string text = fmt::format("  step {:.5g} s", s.seconds);
  if (s.spread) text += fmt::format(" +- {:.2g}", *s.spread);
  text += fmt::format(", {}", counted(static_cast<std::size_t>(s.count), "step"));
  if (s.left_out > 0) text += fmt::format(" ({} left out)", s.left_out);
  if (s.at.line > 0)
    text += s.last_line > s.at.line ? fmt::format(", lines {}-{}", s.at.line, s.last_line)
                                    : fmt::format(", line {}", s.at.line);
  text += fmt::format(": {}; {}", s.format, s.basis);
  if (!s.framework.empty()) text += "; " + printable(s.framework);
  if (s.global_batch) text += fmt::format("; global batch {:.0f}", *s.global_batch);
  if (s.sequence) text += fmt::format("; sequence {:.0f}", *s.sequence);
  if (s.wall_seconds)
    text += fmt::format("; {:.5g} s {}", *s.wall_seconds,
                        s.wall_by_rate ? "by the throughput" : "from step to step");
  if (s.sequences_per_second) text += fmt::format("; {:.4g} sequences/s stated", *s.sequences_per_second);
  return text + "\n";
}

std::string memory_text(const logs::MemorySample& m) {
  std::string text = "  memory";
  if (m.core) text += fmt::format(" of core {}", *m.core);
  if (m.bytes) text += fmt::format(" {:.3f} GiB", *m.bytes / kGiB);
  return text + fmt::format(", line {}: {}\n", m.at.line, printable(m.where, 300));
}

std::string collective_sample_text(const logs::CollectiveSample& c) {
  return fmt::format("  {} of {:.0f} bytes{} {:.1f} us, median {:.1f}, {}, inside a graph\n",
                     printable(c.op, 60), c.bytes, c.ranks > 0 ? fmt::format(", {} ranks,", c.ranks) : "",
                     c.seconds * 1e6, c.median_seconds * 1e6,
                     counted(static_cast<std::size_t>(c.count), "time"));
}

std::string device_text(const logs::DeviceSample& d) {
  std::string text = fmt::format("  graph {} {:.6g} s",
                                 d.name.empty() ? "without a name" : printable(d.name, 60), d.seconds);
  if (d.active_seconds) text += fmt::format(", active {:.6g} s", *d.active_seconds);
  if (d.mfu) text += fmt::format(", MFU {:.1f} %", *d.mfu * 100);
  if (d.clock_hz) text += fmt::format(", clock {:.2f} GHz", *d.clock_hz * 1e-9);
  const char* before = "; busy: ";
  for (const auto& [engine, seconds] : d.engine_seconds)
    text += fmt::format("{}{} {:.4g} s", std::exchange(before, ", "), printable(engine, 40), seconds);
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

std::string of_job_text(const std::vector<StepSample>& kept, const std::vector<LogFile>& files,
                        const std::optional<WhatRan>& ran) {
  if (!ran) return "";
  std::size_t all = 0;
  for (const LogFile& file : files) all += file.content.steps.size();
  return fmt::format("{}: {} of {} {} of it\n", printable(ran->from), kept.size(),
                     counted(all, "step sample"), all == 1 ? "is" : "are") +
         list_text(kept, step_text);
}

std::string log_text(const logs::Detected& content) {
  return list_text(content.steps, step_text) + list_text(content.memory, memory_text) +
         list_text(content.collectives, collective_sample_text) + list_text(content.devices, device_text);
}

}  // namespace trnplan::cli
