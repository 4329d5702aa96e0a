#include "logs/training/failures.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

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
    Sign{"CUDA error: out of memory", FailureKind::device_memory},
    Sign{"TDRV:dmem_alloc", FailureKind::device_memory},
    Sign{"TDRV:log_dev_mem", FailureKind::device_memory},
    Sign{"nrt_tensor_allocate status=4", FailureKind::device_memory},
    Sign{"ONE TMPBUF pages requested exceeded", FailureKind::device_memory},
    Sign{"suspected hang in collectives", FailureKind::execution_timeout},
    Sign{"execution timeout (", FailureKind::execution_timeout},
    Sign{"inference timeout (", FailureKind::execution_timeout},
    Sign{"NRT_TIMEOUT", FailureKind::execution_timeout},
    Sign{"Watchdog caught collective operation timeout", FailureKind::execution_timeout},
    Sign{"NRT_EXEC_SW_NQ_OVERFLOW", FailureKind::execution_timeout},
    Sign{"completed with err: 1204", FailureKind::execution_timeout},
    Sign{"completed with err: 5", FailureKind::execution_timeout},
    Sign{"missing collectives status", FailureKind::execution_timeout},
    Sign{"is stuck after all collectives", FailureKind::execution_timeout},
    Sign{"NRT_EXEC_HW_ERR", FailureKind::hardware},
    Sign{"completed with err: 1206", FailureKind::network},
    Sign{"completed with err: 120", FailureKind::hardware},
    Sign{"NEURON_HW_ERR=", FailureKind::hardware},
    Sign{"NVRM: Xid (", FailureKind::hardware},
    Sign{"uncorrectable ECC error encountered", FailureKind::hardware},
    Sign{"NETWORK_PROXY_FAILURE", FailureKind::network},
    Sign{"NET/IB : Got completion", FailureKind::network},
    Sign{"not enough EFA devices", FailureKind::network},
    Sign{"Failed to initialize libfabric", FailureKind::network},
    Sign{"OFI plugin initialization failed", FailureKind::network},
    Sign{"libfabric:", FailureKind::network},
    // After what a line may name besides.
    Sign{"infer_status notification", FailureKind::execution_timeout},
    Sign{"nrt_execute failed", FailureKind::execution_timeout},
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
    Sign{"NeuronCore(s) not available", FailureKind::configuration},
    Sign{"Unable to determine Neuron Driver version", FailureKind::configuration},
    Sign{"requires Neuron Driver version", FailureKind::configuration},
    Sign{"failed programming the engine", FailureKind::configuration},
    Sign{"Unsupported hardware operator code", FailureKind::configuration},
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
    Sign{"oom-kill event(s)", FailureKind::host_memory},
    Sign{": Out Of Memory", FailureKind::host_memory},
    Sign{"Out of memory: Killed process", FailureKind::host_memory},
    Sign{"killed by signal: Bus error", FailureKind::host_memory},
    Sign{"CUDA error: ", FailureKind::device_error},
    Sign{"due to out-of-bound access", FailureKind::device_error},
    Sign{"NRT_EXEC_OOB", FailureKind::device_error},
    Sign{"completed with err: 1006", FailureKind::device_error},
    Sign{"NRT_EXEC_COMPLETED_WITH_ERR", FailureKind::device_error},
    Sign{"completed with err: ", FailureKind::device_error},
    Sign{"[Errno 28]", FailureKind::storage},
    Sign{"Unexpected result nan", FailureKind::not_finite},
    Sign{"Unexpected result inf", FailureKind::not_finite},
    Sign{"found NaN in", FailureKind::not_finite},
    Sign{"Fatal Python error: ", FailureKind::crashed},
    Sign{"Segmentation fault", FailureKind::crashed},
    Sign{"(core dumped)", FailureKind::crashed},
    Sign{"(exitcode: -9)", FailureKind::crashed},
    Sign{"exitcode  : -9 ", FailureKind::crashed},
    Sign{"(exitcode: -11)", FailureKind::crashed},
    Sign{"exitcode  : -11 ", FailureKind::crashed},
    Sign{"remote process exited or there was a network error", FailureKind::lost_rank},
    Sign{"ncclRemoteError", FailureKind::lost_rank},
    Sign{"failed : Connection reset by peer", FailureKind::lost_rank},
    Sign{"client socket has timed out", FailureKind::rendezvous},
    Sign{"DistBackendError: NCCL error in", FailureKind::error},
    Sign{"ChildFailedError:", FailureKind::error},
    Sign{"Exited with exit code ", FailureKind::error},
};

/// Xids of NVIDIA's driver that name the device, not a program: ECC and its repair (48, 64, 94, 95), NVLink (74), the
/// bus (79), the GPU's system processor (119, 120).
constexpr std::array kHardwareXids = {48, 64, 74, 79, 94, 95, 119, 120};

constexpr std::string_view kTraceback = "Traceback (most recent call last)";
constexpr std::size_t kMostTraced = 4096;

/// Counts of neuron_parallel_compile.
constexpr std::string_view kGraphs = "Total graphs:", kFailedGraphs = "Total failed compilations:";

constexpr auto kFailureWords = [] {
  std::array<std::string_view, kSigns.size() + 3> all{kGraphs, kFailedGraphs, kTraceback};
  for (std::size_t i = 0; i < kSigns.size(); ++i) all[i + 3] = kSigns[i].word;
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

/// A line without the time that kubectl logs --timestamps puts in front.
std::string_view unstamped(std::string_view line) {
  const std::size_t blank = line.find(' ');
  const bool stamp = blank != std::string_view::npos && blank > 0 && line[0] >= '0' && line[0] <= '9' &&
                     line[blank - 1] == 'Z';
  return stamp ? line.substr(blank + 1) : line;
}

/// True for "Type: message" or "module.Type": the name of a class, not a word in capitals.
bool names_exception(std::string_view line) {
  std::size_t end = 0, last = 0;
  while (end < line.size() &&
         (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || line[end] == '_' || line[end] == '.')) {
    if (line[end++] == '.') last = end;
  }
  const std::string_view name = line.substr(last, end - last);
  if (name.empty() || (end < line.size() && line[end] != ':')) return false;
  return std::isupper(static_cast<unsigned char>(name[0])) != 0 &&
         std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c) != 0; });
}

bool is_hardware_xid(std::string_view line) {
  Scan scan(line);
  if (!scan.past("NVRM: Xid (") || !scan.past("): ")) return false;
  const auto number = scan.whole();
  return number && std::find(kHardwareXids.begin(), kHardwareXids.end(), *number) != kHardwareXids.end();
}

/// True for what ranks report of others.
bool is_of_others(FailureKind kind) {
  return kind == FailureKind::execution_timeout || kind == FailureKind::lost_rank;
}

/// True for what a failure before it explains.
bool may_follow(FailureKind kind) {
  return is_of_others(kind) || kind == FailureKind::device_error || kind == FailureKind::crashed;
}

/// True for an end whose cause something else may name.
bool is_last_resort(FailureKind kind) {
  return kind == FailureKind::error || kind == FailureKind::cancelled;
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
    if (sign.word.starts_with("NVRM") && !is_hardware_xid(line)) continue;
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
  // "Process 1234 has 77.89 GiB memory in use"
  if (Scan named(line); named.past("Process ") && named.whole() && named.take("has")) {
    const auto amount = named.number();
    if (amount && named.take("GiB memory in use")) return amount;
  }
  if (graph.past("peak HBM usage (")) return graph.number();
  if (full.past("total:")) {
    const auto amount = full.number();
    if (amount && full.take("GB")) return amount;  // the runtime's GB are 2^30 bytes
  }
  return std::nullopt;
}

/// "2.00 GiB" or "20.00 MiB" after `word`, in GiB.
std::optional<double> amount_after(std::string_view line, std::string_view word) {
  Scan scan(line);
  if (!scan.past(word)) return std::nullopt;
  const auto amount = scan.number();
  if (amount && scan.take("GiB")) return amount;
  if (amount && scan.take("MiB")) return *amount / 1024;
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
  constexpr std::array<std::string_view, 21> kNames = {
      "replica-group",     "compile-memory", "device-memory",
      "execution-timeout", "network",        "hardware",
      "compile-failed",    "host-memory",    "compile-instructions",
      "import-error",      "rendezvous",     "configuration",
      "time-limit",        "node-failure",   "cancelled",
      "device-error",      "storage",        "not-finite",
      "crashed",           "lost-rank",      "error"};
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
  if (c.failure.kind != FailureKind::device_memory) return;
  c.failure.cuda |= line.find("CUDA") != std::string_view::npos;
  auto tried = amount_after(line, "Tried to allocate ");
  if (Scan scan(line); scan.past("Failed to alloc DEVICE memory: ")) {
    if (const auto bytes = scan.number()) tried = *bytes / 0x1p30;
  }
  if (tried) c.failure.tried_gib = std::max(c.failure.tried_gib.value_or(0), *tried);
  // "Of the allocated memory 60.11 GiB is allocated by PyTorch, and 15.30 GiB is reserved by PyTorch but unallocated."
  if (const std::size_t end = line.find(" is reserved by PyTorch but unallocated");
      end != std::string_view::npos) {
    const std::size_t from = line.substr(0, end).rfind("and ");
    const auto gib = from == std::string_view::npos ? std::nullopt : amount_after(line.substr(from), "and ");
    if (gib) c.failure.unused_gib = std::max(c.failure.unused_gib.value_or(0), *gib);
  }
  const auto limit = amount_after(line, "has a total capacity of ");
  if (limit) c.failure.limit_gib = limit;
}

void FailureFinder::step(int line) {
  if (line <= last_step_) return;
  step_before_ = std::exchange(last_step_, line);
  failed_ = false;
  traced_.clear();
}

/// True for the line that ends a traceback and names its error. Python indents the lines between; the label of a rank
/// may indent all.
bool FailureFinder::ends_trace(const LogLine& line) {
  const std::string_view text = unstamped(line.text);
  const std::size_t indent = text.find_first_not_of(" \t");
  if (indent == std::string_view::npos) return false;
  const std::string_view said = text.substr(indent);
  if (said.starts_with(kTraceback)) {
    if (traced_.size() < kMostTraced) traced_.insert_or_assign(std::string(line.rank), indent);
    return false;
  }
  const auto rank = traced_.find(line.rank);
  if (rank == traced_.end() || indent != rank->second || !names_exception(said)) return false;
  traced_.erase(rank);
  return true;
}

std::optional<FailureKind> FailureFinder::kind_at(const LogLine& line) {
  const bool tells = kTellsFailure.in(line.text);
  if (!tells && traced_.empty()) return std::nullopt;
  const bool ends = ends_trace(line);
  Scan graphs(line.text);
  if (tells && graphs.past(kGraphs)) graphs_ = graphs.whole();
  const auto kind = tells ? kind_of(line.text) : std::nullopt;
  return !kind && ends && !harmless(line.text) ? std::optional(FailureKind::error) : kind;
}

void FailureFinder::read(const LogLine& line) {
  const auto kind = kind_at(line);
  if (!kind) {
    // The contents of a full core are listed some lines below the failure.
    if (const auto memory = kinds_.find(FailureKind::device_memory); memory != kinds_.end())
      collect(line.text, memory->second);
    return;
  }
  Collected& c = kinds_[*kind];
  const bool over = *kind == FailureKind::error && !c.ended && c.failure.last_line < step_before_;
  if (over) c = {};  // of an end that was none
  c.follows = c.follows && failed_ && may_follow(*kind);
  if (*kind == FailureKind::cancelled && !failed_) {
    // The job ended: the error was not one that a script catches.
    const auto error = kinds_.find(FailureKind::error);
    if (error != kinds_.end() && error->second.failure.last_line > last_step_) error->second.ended = true;
  }
  failed_ = failed_ || !is_last_resort(*kind);
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

/// True if another failure names the cause of this kind's: for the ends that are a last resort, and for signals, which
/// a host without memory sends.
bool FailureFinder::is_explained(const Collected& one) const {
  const FailureKind kind = one.failure.kind;
  return std::any_of(kinds_.begin(), kinds_.end(), [&](const auto& item) {
    const Failure& other = item.second.failure;
    const bool at_the_end = other.last_line > last_step_;
    if (other.kind == kind) return false;
    if (is_last_resort(kind) && is_last_resort(other.kind)) {
      return (at_the_end || item.second.ended) && other.at.line < one.failure.at.line;
    }
    if (kind == FailureKind::cancelled) return true;  // what is left of a job that failed is cancelled
    if (kind == FailureKind::error) return at_the_end;
    return kind == FailureKind::crashed && at_the_end && !is_last_resort(other.kind) &&
           !is_of_others(other.kind);
  });
}

std::vector<Failure> FailureFinder::found() const {
  std::vector<Failure> all;
  for (const auto& [kind, c] : kinds_) {
    // One step may be another rank's of the same time.
    const bool over = kind == FailureKind::error && !c.ended && c.failure.last_line < step_before_;
    if (over || c.follows || is_explained(c)) continue;
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
