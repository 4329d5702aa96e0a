#include "logs/profile/nsys_export.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "logs/profile/gpu_timeline.h"
#include "logs/profile/kernel_names.h"
#include "logs/profile/nccl_ranges.h"
#include "logs/profile/nvtx_steps.h"
#include "logs/profile/sqlite_tables.h"
#include "text/figures.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kNamesKept = 300'000, kGpus = 1024;
constexpr std::int64_t kMomentMost = std::numeric_limits<std::int64_t>::max() / 4;  ///< ns
constexpr int kThreadBits = 24;  ///< of a global id of a thread, below those of its process

constexpr const char *kKernels = "CUPTI_ACTIVITY_KIND_KERNEL", *kLaunches = "CUPTI_ACTIVITY_KIND_RUNTIME",
                     *kRanges = "NVTX_EVENTS", *kStrings = "StringIds", *kGpuNames = "TARGET_INFO_GPU",
                     *kExport = "META_DATA_EXPORT", *kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* kTraceFix =
    "trace with nsys profile --trace=cuda,nvtx, and export with nsys export --type sqlite --include-json "
    "true";

std::int64_t process_of(std::int64_t global) {
  return global >> kThreadBits;
}

class NsysReader {
 public:
  NsysReader(ByteStream& bytes, const std::string& name, Samples& out)
      : tables_(bytes, name), name_(name), out_(out) {}

  void read() {
    check_tables();
    read_names();
    read_ranges();
    steps_.choose();
    window_ = steps_.window();
    read_kernels();
    read_launches();
    write_devices();
    steps_.finish(name_, out_);
    nccl_.finish(out_);
    tell_collectives();
  }

 private:
  /// A name that matters here.
  struct Name {
    KernelWork work = KernelWork::other;
    std::string nccl;  ///< of a kernel or a call
    std::optional<StepRangeName> step;
  };

  static std::optional<Name> name_of(std::string_view text) {
    Name name;
    name.work = work_of_kernel(text);
    name.step = step_range_name(text);
    if (name.work == KernelWork::collective || is_nccl_call(text))
      name.nccl = std::string(text.substr(0, 80));
    if (name.work == KernelWork::other && !name.step && name.nccl.empty()) return std::nullopt;
    return name;
  }

  void warn(std::string key, std::string problem, std::string fix) {
    out_.warnings.add({name_, 0, 0}, std::move(key), std::move(problem), std::move(fix));
  }

  // ---- what the export has

  std::string schema() {
    std::string version;
    if (tables_.has(kExport, "name") && tables_.has(kExport, "value")) {
      tables_.rows(kExport, {"name", "value"}, "", [&](const SqliteRow& row) {
        if (row.text(0) == "EXPORT_SCHEMA_VERSION") version = printable(row.text(1), 40);
      });
    }
    return version.empty() ? "this export" : "this export (schema " + version + ")";
  }

  void check_tables() {
    const auto refuse = [&](const std::string& key, std::string problem, const char* fix) {
      throw InputError({{name_, 0, 0}, key, std::move(problem), fix});
    };
    const bool strings = !tables_.columns(kStrings).empty(), kernels = !tables_.columns(kKernels).empty();
    if (!strings && !kernels && tables_.columns(kExport).empty())
      refuse("", "an SQLite database that Nsight Systems did not export",
             "give the training log of the run, or a trace of Nsight Systems or of PyTorch's profiler");
    if (!kernels && !tables_.columns(kGraphs).empty())
      refuse(kKernels, schema() + " has whole CUDA graphs, and no kernel of them",
             "trace with nsys profile --cuda-graph-trace=node");
    for (const char* table : {kKernels, kStrings}) {
      if (tables_.columns(table).empty()) refuse(table, schema() + " lacks this table", kTraceFix);
    }
    std::vector<std::string> missing;
    for (const char* column : {"start", "end"}) {
      if (!tables_.has(kKernels, column)) missing.push_back(fmt::format("{}.{}", kKernels, column));
    }
    kernel_name_ = tables_.has(kKernels, "demangledName") ? "demangledName" : "shortName";
    if (!tables_.has(kKernels, kernel_name_)) missing.push_back(fmt::format("{}.{}", kKernels, kernel_name_));
    for (const char* column : {"id", "value"}) {
      if (!tables_.has(kStrings, column)) missing.push_back(fmt::format("{}.{}", kStrings, column));
    }
    if (!missing.empty())
      refuse("",
             fmt::format("{} lacks the column{} {}", schema(), missing.size() == 1 ? "" : "s",
                         fmt::join(missing, ", ")),
             "export it with another version of Nsight Systems");
    if (!tables_.columns(kGraphs).empty())
      warn(kGraphs, "the kernels of whole CUDA graphs are not in this trace and not counted",
           "trace with nsys profile --cuda-graph-trace=node");
  }

  /// Those of `wanted` that the table has, with their places in a row; -1: it lacks it.
  std::vector<std::string> present(const char* table, const std::vector<std::string>& wanted,
                                   std::map<std::string, int>& at) {
    std::vector<std::string> columns;
    for (const std::string& column : wanted) {
      at[column] = tables_.has(table, column) ? static_cast<int>(columns.size()) : -1;
      if (at[column] >= 0) columns.push_back(column);
    }
    return columns;
  }

  // ---- names

  void read_names() {
    bool all = true;
    tables_.rows(kStrings, {"id", "value"}, "", [&](const SqliteRow& row) {
      const auto id = row.whole(0);
      auto name = name_of(row.text(1));
      if (!id || !name) return;
      if (names_.size() < kNamesKept) {
        names_.insert_or_assign(*id, *std::move(name));
      } else {
        all = false;
      }
    });
    if (!all)
      warn(kStrings, fmt::format("names after the first {} count as other kernels", kNamesKept),
           "trace fewer steps, for example with nsys profile --capture-range=cudaProfilerApi");
  }

  const Name* known(std::optional<std::int64_t> id) const {
    const auto found = id ? names_.find(*id) : names_.end();
    return found == names_.end() ? nullptr : &found->second;
  }

  // ---- ranges of the host

  void read_ranges() {
    for (const char* column : {"start", "end", "globalTid"}) {
      if (tables_.has(kRanges, column)) continue;
      return warn(kRanges,
                  schema() + " lacks " + (tables_.columns(kRanges).empty() ? "this table" : column) +
                      ": no steps, and no sizes of collectives",
                  kTraceFix);
    }
    std::map<std::string, int> at;
    const std::vector<std::string> columns =
        present(kRanges, {"start", "end", "globalTid", "textId", "text", "jsonText"}, at);
    const int id = at["textId"], text = at["text"], json = at["jsonText"];
    tables_.rows(kRanges, columns, "", [&](const SqliteRow& row) {
      const auto start = row.whole(0), end = row.whole(1), thread = row.whole(2);
      if (!start || !end || !thread || *start < 0 || *end <= *start || *end > kMomentMost) return;
      const Name* name = id >= 0 ? known(row.whole(id)) : nullptr;
      std::optional<Name> direct;
      if (name == nullptr && text >= 0) {
        direct = name_of(row.text(text));
        if (direct) name = &*direct;
      }
      if (name == nullptr) return;
      if (name->step) steps_.add(*name->step, *thread, *start, *end);
      if (is_nccl_call(name->nccl))
        nccl_.add(name->nccl, *thread, *start, *end, json >= 0 ? row.text(json) : std::string_view());
    });
    nccl_.sort();
  }

  // ---- kernels

  void read_kernels() {
    std::map<std::string, int> at;
    const std::vector<std::string> columns =
        present(kKernels, {"start", "end", kernel_name_, "deviceId", "globalPid", "correlationId"}, at);
    const int device = at["deviceId"], global = at["globalPid"], launch = at["correlationId"];
    processes_ = global >= 0;
    const auto cell = [](const SqliteRow& row, int column) {
      return column >= 0 ? row.whole(column).value_or(0) : 0;
    };
    std::size_t unusable = 0;
    tables_.rows(kKernels, columns, "start", [&](const SqliteRow& row) {
      const auto start = row.whole(0), end = row.whole(1);
      if (!start || !end || *start < 0 || *end <= *start || *end > kMomentMost) {
        ++unusable;
        return;
      }
      const Name* name = known(row.whole(2));
      const KernelWork work = name == nullptr ? KernelWork::other : name->work;
      const std::int64_t process = process_of(cell(row, global));
      if (work == KernelWork::collective)
        nccl_.add_kernel(process, launch >= 0 ? cell(row, launch) : -1, name->nccl, *end - *start);
      if (window_ && (*start < window_->start || *start >= window_->end)) return;
      const std::pair key(process, cell(row, device));
      if (gpus_.size() < kGpus || gpus_.contains(key)) gpus_[key].add(*start, *end, work);
    });
    if (unusable > 0)
      warn(kKernels, counted(unusable, "kernel") + " without start or duration left out",
           "export the report again");
  }

  void read_launches() {
    if (!nccl_.wants_launches()) return;
    for (const char* column : {"correlationId", "start", "globalTid"}) {
      if (!tables_.has(kLaunches, column)) return;
    }
    tables_.rows(kLaunches, {"correlationId", "start", "globalTid"}, "", [&](const SqliteRow& row) {
      const auto launch = row.whole(0), start = row.whole(1), thread = row.whole(2);
      if (!launch || !start || !thread) return;
      nccl_.launch(processes_ ? process_of(*thread) : 0, *launch, *thread, *start, {name_, 0, 0});
    });
  }

  // ---- results

  void write_devices() {
    std::map<std::int64_t, std::string> names;
    if (tables_.has(kGpuNames, "id") && tables_.has(kGpuNames, "name")) {
      tables_.rows(kGpuNames, {"id", "name"}, "", [&](const SqliteRow& row) {
        if (names.size() < kGpus && row.whole(0)) names[*row.whole(0)] = printable(row.text(1), 40);
      });
    }
    const int steps = window_ ? window_->steps : 0;
    const double length = window_ ? static_cast<double>(window_->end - window_->start) : 0;
    for (const auto& [key, timeline] : gpus_) {
      DeviceSample d;
      d.at = {name_, 0, 0};
      const auto found = names.find(key.second);
      d.name = fmt::format("{}GPU {}{}", found == names.end() ? "" : found->second + ", ", key.second,
                           steps > 0
                               ? fmt::format(", mean of {}", counted(static_cast<std::size_t>(steps), "step"))
                               : ", whole trace");
      if (timeline.write(length, steps, d)) out_.devices.push_back(std::move(d));
    }
  }

  void tell_collectives() {
    if (nccl_.kernels() == 0) return;
    const auto count = [](std::size_t kernels) { return counted(kernels, "kernel") + " of NCCL"; };
    if (nccl_.sizes() == 0) {
      warn(kRanges, count(nccl_.kernels()) + " without sizes: they count as time of the GPU alone",
           kTraceFix);
      return;
    }
    if (nccl_.beyond() > 0)
      warn("", count(nccl_.beyond()) + " left out: as many before them as are kept at once",
           "trace fewer steps, for example with nsys profile --capture-range=cudaProfilerApi");
    if (const std::size_t left = nccl_.kernels() - nccl_.matched() - nccl_.beyond(); left > 0) {
      const bool ranks = nccl_.rankless() > 0;
      warn("",
           count(left) + " left out: " +
               (ranks ? "the trace lacks the ranks of their communicators"
                      : "no call with one size launched each of them (groups of calls, CUDA graphs)"),
           ranks ? "trace from the start of the program, where the communicators are made" : kTraceFix);
    }
  }

  SqliteTables tables_;
  const std::string& name_;
  Samples& out_;
  std::string kernel_name_;
  std::map<std::int64_t, Name> names_;
  NvtxSteps steps_;
  std::optional<NvtxSteps::Window> window_;
  NcclRanges nccl_;
  std::map<std::pair<std::int64_t, std::int64_t>, GpuTimeline> gpus_;  ///< by process and device
  bool processes_ = false;                                             ///< kernels name their process
};

}  // namespace

void read_nsys_export(ByteStream& bytes, const std::string& name, Samples& out) {
  NsysReader(bytes, name, out).read();
}

}  // namespace trnplan::logs
