#include "logs/training/failures.h"

#include <algorithm>
#include <array>

#include "text/any_word.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kTextLength = 200;
constexpr std::size_t kMostDevices = 4096;
constexpr int kMostRank = 100'000;

struct Sign {
  std::string_view word;
  FailureKind kind;
};

/// The first sign in a line determines its kind.
constexpr std::array kSigns = {
    Sign{"failed to init a collective algorithm for provided replica group", FailureKind::replica_group},
    Sign{"ENC:enc_init_comm", FailureKind::replica_group},
    Sign{"ENC:enc_init_replica_groups", FailureKind::replica_group},
    Sign{"failed to init ENC comm", FailureKind::replica_group},
    Sign{"failed to init replica groups", FailureKind::replica_group},
    Sign{"Unsupported topology", FailureKind::replica_group},
    Sign{"Failed to find device to device paths", FailureKind::replica_group},
    Sign{"ENC:enc_parse_replica_groups", FailureKind::replica_group},
    Sign{"ENC:init_metaring_algorithm", FailureKind::replica_group},
    Sign{"nrt_load_collectives status=2", FailureKind::replica_group},
    Sign{"XCG815", FailureKind::compile_memory},
    Sign{"NCC_EOOM", FailureKind::compile_memory},
    Sign{"CUDA out of memory", FailureKind::device_memory},
    Sign{"TDRV:dmem_alloc", FailureKind::device_memory},
    Sign{"TDRV:log_dev_mem", FailureKind::device_memory},
    Sign{"nrt_tensor_allocate status=4", FailureKind::device_memory},
    Sign{"ONE TMPBUF pages requested exceeded", FailureKind::device_memory},
    Sign{"suspected hang in collectives", FailureKind::execution_timeout},
    Sign{"execution timeout (", FailureKind::execution_timeout},
    Sign{"inference timeout (", FailureKind::execution_timeout},
    Sign{"NRT_TIMEOUT", FailureKind::execution_timeout},
    Sign{"Watchdog caught collective operation timeout", FailureKind::execution_timeout},
    Sign{"NRT_EXEC_HW_ERR", FailureKind::hardware},
    Sign{"NEURON_HW_ERR=", FailureKind::hardware},
    Sign{"NETWORK_PROXY_FAILURE", FailureKind::network},
    Sign{"not enough EFA devices", FailureKind::network},
    Sign{"Failed to initialize libfabric", FailureKind::network},
    Sign{"OFI plugin initialization failed", FailureKind::network},
    Sign{"libfabric:", FailureKind::network},
    Sign{"NCC_EBVF030", FailureKind::instructions},
    Sign{"NCC_EXTP004", FailureKind::instructions},
    Sign{"XTP002", FailureKind::instructions},
    Sign{"Number of instructions (", FailureKind::instructions},
    Sign{"Compiler generated too many instructions", FailureKind::instructions},
    Sign{"ModuleNotFoundError:", FailureKind::import_error},
    Sign{"ImportError:", FailureKind::import_error},
    Sign{"undefined symbol:", FailureKind::import_error},
    Sign{"error: unrecognized arguments", FailureKind::configuration},
    Sign{"'tuple' object has no attribute 'backward'", FailureKind::configuration},
    Sign{"ZeRO-1 optimizer is not enabled, while `use_master_weights` is True", FailureKind::configuration},
    Sign{"Context parallelism is not supported with flash attention", FailureKind::configuration},
    Sign{"initial learning rate that was lower than the minimum learning rate", FailureKind::configuration},
    Sign{"ERROR: Data directory", FailureKind::configuration},
    Sign{"no checkpoint under directory", FailureKind::configuration},
    Sign{"is not in struct", FailureKind::configuration},
    Sign{"Could not override", FailureKind::configuration},
    Sign{"When pipeline_model_parallel_size:", FailureKind::configuration},
    Sign{"Please ensure there are at least", FailureKind::configuration},
    Sign{"HFValidationError", FailureKind::configuration},
    Sign{"Loading a dataset cached in a LocalFileSystem is not supported", FailureKind::configuration},
    Sign{"Lock error: Matplotlib", FailureKind::configuration},
    Sign{"RendezvousClosedError", FailureKind::rendezvous},
    Sign{"RendezvousTimeoutError", FailureKind::rendezvous},
    Sign{"RendezvousConnectionError", FailureKind::rendezvous},
    Sign{"RendezvousStateError", FailureKind::rendezvous},
    Sign{"DistStoreError", FailureKind::rendezvous},
    Sign{"neuronx-cc was forcibly killed", FailureKind::host_memory},
    Sign{"neuronx-cc terminated abnormally", FailureKind::compile_failed},
    Sign{"DUE TO TIME LIMIT", FailureKind::time_limit},
    Sign{"DUE TO NODE FAILURE", FailureKind::node_failure},
    Sign{"srun: error: Node failure on", FailureKind::node_failure},
    Sign{"UNCORRECTABLE MEMORY ERROR AT", FailureKind::node_failure},
    Sign{"CANCELLED AT", FailureKind::cancelled},
    Sign{"oom_kill event", FailureKind::host_memory},
    Sign{"Out of memory: Killed process", FailureKind::host_memory},
};

/// Counts of neuron_parallel_compile.
constexpr std::string_view kGraphs = "Total graphs:", kFailedGraphs = "Total failed compilations:";

constexpr auto kFailureWords = [] {
  std::array<std::string_view, kSigns.size() + 2> all{kGraphs, kFailedGraphs};
  for (std::size_t i = 0; i < kSigns.size(); ++i) all[i + 2] = kSigns[i].word;
  return all;
}();
/// Lines without any of these words tell no failure.
constexpr AnyWord kTellsFailure(kFailureWords);

/// True for the last line of a traceback: a script that only tries an import mentions it further on in a
/// line. kubectl logs --timestamps puts a time in front.
bool ends_traceback(std::string_view line, std::string_view error) {
  const std::size_t at = line.find(error);
  const std::string_view before = trimmed(line.substr(0, at));
  return before.empty() || before.ends_with('Z');
}

bool harmless(std::string_view line) {
  // The runtime continues by itself; Slurm starts the job again.
  return line.find("- retrying") != std::string_view::npos ||
         line.find("DUE TO JOB REQUEUE") != std::string_view::npos;
}

std::optional<FailureKind> kind_of(std::string_view line) {
  if (harmless(line)) return std::nullopt;
  for (const Sign& sign : kSigns) {
    if (line.find(sign.word) == std::string_view::npos) continue;
    // A refused group with a line that names the devices says so itself; libfabric also reports things that
    // are no fault.
    if (sign.word == "libfabric:" && line.find("rror") == std::string_view::npos) continue;
    const bool import = sign.kind == FailureKind::import_error && sign.word.ends_with("Error:");
    if (import && !ends_traceback(line, sign.word)) continue;
    return sign.kind;
  }
  Scan scan(line);
  if (scan.past(kFailedGraphs)) {
    const auto failed = scan.whole();
    if (failed && *failed > 0) return FailureKind::compile_failed;
  }
  return std::nullopt;
}

/// Every number that follows `word`.
std::vector<int> numbers_after(std::string_view line, std::string_view word) {
  std::vector<int> found;
  Scan scan(line);
  while (scan.past(word)) {
    const auto number = scan.whole();
    if (number && *number <= kMostRank) found.push_back(static_cast<int>(*number));
  }
  return found;
}

std::optional<double> gib_in(std::string_view line) {
  Scan graph(line), full(line), process(line);
  // "this process has 78.10 GiB memory in use"
  if (process.past("this process has ")) {
    const auto amount = process.number();
    if (amount && process.take("GiB")) return amount;
  }
  if (graph.past("peak HBM usage (")) return graph.number();
  if (full.past("total:")) {
    const auto amount = full.number();
    if (amount && full.take("GB")) return amount;  // the runtime's GB are 2^30 bytes
  }
  return std::nullopt;
}

/// Reads instructions and their limit, or failed graphs; the number of graphs is in a line of its own.
void numbers_of(std::string_view line, Failure& f) {
  Scan scan(line);
  if (f.kind == FailureKind::compile_failed && scan.past(kFailedGraphs)) {
    const auto failed = scan.whole();
    if (failed) f.number = static_cast<double>(*failed);
    return;
  }
  if (f.kind != FailureKind::instructions || !scan.past("Number of instructions (")) return;
  const auto number = scan.whole();
  if (!number) return;
  f.number = std::max(f.number.value_or(0), static_cast<double>(*number));
  if (!scan.past("threshold (")) return;
  if (const auto most = scan.whole()) f.of = static_cast<double>(*most);
}

/// "... on this group [1 3 5 ]"
std::vector<int> group_in(std::string_view line) {
  std::vector<int> ranks;
  Scan scan(line);
  if (!scan.past("on this group [")) return ranks;
  while (ranks.size() < kMostDevices) {
    const auto rank = scan.whole();
    if (!rank || *rank > kMostRank) break;
    ranks.push_back(static_cast<int>(*rank));
    while (scan.take(" ") || scan.take(",")) {
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

std::string_view to_string(FailureKind k) {
  constexpr std::array<std::string_view, 15> kNames = {
      "replica-group", "compile-memory", "device-memory", "execution-timeout",    "network",
      "hardware",      "compile-failed", "host-memory",   "compile-instructions", "import-error",
      "rendezvous",    "configuration",  "time-limit",    "node-failure",         "cancelled"};
  return kNames[static_cast<std::size_t>(k)];
}

void FailureFinder::collect(std::string_view line, Collected& c) {
  for (const int device : numbers_after(line, "[nec_dev")) {
    if (c.devices.size() < kMostDevices) c.devices.insert(device);
  }
  for (const int rank : numbers_after(line, "[rank")) {
    c.failure.group_ranks = std::max(c.failure.group_ranks, rank + 1);
  }
  if (c.failure.group.empty()) c.failure.group = group_in(line);
  if (const auto gib = gib_in(line)) c.failure.gib = std::max(c.failure.gib.value_or(0), *gib);
}

void FailureFinder::read(const LogLine& line) {
  const bool tells = kTellsFailure.in(line.text);
  Scan graphs(line.text);
  if (tells && graphs.past(kGraphs)) graphs_ = graphs.whole();
  const auto kind = tells ? kind_of(line.text) : std::nullopt;
  if (!kind) {
    // The contents of a full core are listed some lines below the failure.
    if (const auto memory = kinds_.find(FailureKind::device_memory); memory != kinds_.end())
      collect(line.text, memory->second);
    return;
  }
  Collected& c = kinds_[*kind];
  if (c.failure.count++ == 0) {
    c.failure.kind = *kind;
    c.failure.at = {name_, line.number, 1};
    c.failure.text = printable(trimmed(line.text), kTextLength);
  }
  c.failure.last_line = line.number;
  numbers_of(line.text, c.failure);
  if (*kind == FailureKind::compile_failed && graphs_) c.failure.of = static_cast<double>(*graphs_);
  collect(line.text, c);
}

std::vector<Failure> FailureFinder::found() const {
  std::vector<Failure> all;
  for (const auto& [kind, c] : kinds_) {
    // The rest of a job that failed is cancelled: that is no cause.
    if (kind == FailureKind::cancelled && kinds_.size() > 1) continue;
    all.push_back(c.failure);
    all.back().devices.assign(c.devices.begin(), c.devices.end());
  }
  std::sort(all.begin(), all.end(), [](const Failure& a, const Failure& b) { return a.at.line < b.at.line; });
  return all;
}

std::vector<Failure> find_failures(std::string_view text, const std::string& name) {
  FailureFinder finder(name);
  for (LogLines lines(text); lines.next();) finder.read(lines.line());
  return finder.found();
}

}  // namespace trnplan::logs
