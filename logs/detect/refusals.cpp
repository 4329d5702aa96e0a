#include <algorithm>
#include <utility>

#include "logs/detect/detect.h"
#include "logs/profile/parquet_footer.h"
#include "text/gzip_stream.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kBinaryProbe = 4096;
/// Of POSIX tar, in the header of the first file.
constexpr std::string_view kTar = "ustar";
constexpr std::size_t kTarAt = 257;
static_assert(kTarAt + kTar.size() <= kRefusalHead);

}  // namespace

void refuse_unread(std::string_view head, const std::string& name) {
  const auto refuse = [&](const char* problem, const char* fix) {
    throw InputError({{name, 0, 0}, "", problem, fix});
  };
  if (head.empty()) refuse("the file is empty", "give a log, or output of a Neuron tool");
  if (is_gzip(head))
    refuse("packed with gzip", "unpack it first: gunzip FILE; watch --once reads it as it is");
  if (is_parquet(head)) {
    refuse("a Parquet file, as Neuron Explorer writes, and no log", "give it to trnplan calibrate");
  }
  const auto refuse_archive = [&] { refuse("an archive, which is not read", "unpack it first"); };
  if (head.size() > kTarAt && head.substr(kTarAt).starts_with(kTar)) refuse_archive();
  for (const std::string_view packed : {"PK\x03\x04",
                                        "\xfd"
                                        "7zXZ",
                                        "\x28\xb5\x2f\xfd", "BZh"}) {
    if (head.starts_with(packed)) refuse_archive();
  }
  if (head.starts_with("\x7f"
                       "ELF"))
    refuse("a binary file: a program, not its output", "give a log, or output of a Neuron tool");
}

bool is_binary(std::string_view head) {
  return head.substr(0, kBinaryProbe).find('\0') != std::string_view::npos;
}

Diagnostic unknown_content(std::string_view head, const std::string& name) {
  if (is_binary(head)) {
    return {{name, 0, 0},
            "",
            "a binary file of an unknown kind",
            "give what the tools print as text, JSON or CSV (neuron-profile view --output-format "
            "summary-json; nsys "
            "export --type sqlite)"};
  }
  return {
      {name, 0, 0},
      "",
      "nothing in it is recognised: no step of a training run, no nccom-test table, no profile, no memory "
      "report",
      "give a training log, output of nccom-test, nccl-tests, neuron-monitor or neuron-profile view, a trace "
      "of "
      "PyTorch's profiler, or one of Nsight Systems (nsys export --type sqlite)"};
}

void refuse_own_table(std::string_view text, const std::string& name) {
  if (text.find("# time inside a compiled graph") == std::string_view::npos) return;
  throw InputError({{name, 0, 0},
                    "",
                    "a table of trnplan collective --in-graph: its times lack launch and barrier",
                    "make it without --in-graph"});
}

void take_samples(Samples&& samples, Detected& result) {
  const auto join = [](auto& all, auto&& more) { all.insert(all.end(), more.begin(), more.end()); };
  join(result.steps, samples.steps);
  join(result.memory, samples.memory);
  join(result.collectives, samples.collectives);
  join(result.devices, samples.devices);
  result.simulated |= samples.simulated;
  if (result.made_on.empty()) result.made_on = std::move(samples.made_on);
  join(result.skipped, samples.warnings.take());
  const auto by_line = [](const auto& a, const auto& b) { return a.at.line < b.at.line; };
  std::stable_sort(result.steps.begin(), result.steps.end(), by_line);
  std::stable_sort(result.skipped.begin(), result.skipped.end(), by_line);
}

}  // namespace trnplan::logs
