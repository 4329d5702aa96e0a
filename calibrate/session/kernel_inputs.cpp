#include "calibrate/session/kernel_inputs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "calibrate/fit/step_fit.h"
#include "models/device/neuron_core_parameters.h"
#include "text/figures.h"

namespace trnplan::calibrate {

namespace {

using logs::MeasuredKernel;

/// True if a kernel takes as long on both: all fields are equal but the size of memory and the DMA engines,
/// for which kernels of one core do not wait. A field that is added does not compile until it is listed here.
bool same_core(const topology::Core& a, const topology::Core& b) {
  const auto all = [](const topology::Core& c) {
    const auto& [device, lnc, bf16, fp32, array_rows, array_columns, matmul_issue_cycles, tensor_hertz,
                 vector_lanes, vector_hertz, memory, hbm, dma, fp8, fp4, tf32, multiprocessors, l2, watts] =
        c;
    return std::tuple(device, lnc, bf16, fp32, array_rows, array_columns, matmul_issue_cycles, tensor_hertz,
                      vector_lanes, vector_hertz, hbm, fp8, fp4, tf32, multiprocessors, l2, watts);
  };
  return all(a) == all(b);
}

class Taker {
 public:
  Taker(const std::vector<LogFile>& files, const topology::Instance& instance, const KnownInstance& known,
        Remarks& remarks)
      : files_(files), instance_(instance), known_(known), remarks_(remarks) {}

  void take(const std::string& said) {
    const LogFile* file = nullptr;
    for (const LogFile& f : files_) {  // the longest: a path may contain "="
      const bool named =
          said.size() > f.path.size() && said.starts_with(f.path) && said[f.path.size()] == '=';
      if (named && (file == nullptr || f.path.size() > file->path.size())) file = &f;
    }
    const std::size_t equals = file == nullptr ? said.find('=') : file->path.size();
    if (equals == std::string::npos) {
      return fault(in_quotes(said, 200) + " is not FILE=KERNEL",
                   "write for example --kernel profile.json=matmul,m=4096,k=4096,n=4096,dtype=bf16");
    }
    if (file == nullptr) unlisted(said.substr(0, equals));
    const auto text = logs::parse_kernel(std::string_view(said).substr(equals + 1));
    for (const auto& f : text.faults) fault(printable(said.substr(0, equals)) + ": " + f.problem, f.fix);
    if (file == nullptr) return;
    if (!named_.insert(file->path).second) {
      return fault(in_quotes(file->path, 200) + " is named twice", "a file has one kernel");
    }
    if (!text.kernel) return;
    auto point = logs::measured_kernel(file->content.devices, *text.kernel, file->path, faults_);
    if (!point) return;
    point->id = std::filesystem::path(file->path).filename().string();
    keep(std::move(*point));
  }

  void take_tables() {
    for (const LogFile& file : files_) {
      const logs::KernelTable& table = file.content.kernels;
      left_out_.insert(left_out_.end(), table.left_out.begin(), table.left_out.end());
      for (const MeasuredKernel& point : table.points) {
        if (on_this_core(point)) keep(point);
      }
    }
  }

  std::vector<MeasuredKernel> finish() {
    const bool tables = std::all_of(files_.begin(), files_.end(),
                                    [](const LogFile& file) { return file.content.kernels.rows > 0; });
    if (points_.empty() && tables) faults_.insert(faults_.end(), left_out_.begin(), left_out_.end());
    if (!faults_.empty()) throw InputError(std::move(faults_));
    for (Diagnostic& d : left_out_) {
      d.problem = "left out: " + d.problem;
      remarks_.add(d);
    }
    return std::move(points_);
  }

 private:
  void fault(std::string problem, std::string fix) {
    faults_.push_back({{"command line", 0, 0}, "--kernel", std::move(problem), std::move(fix)});
  }

  void unlisted(const std::string& path) {
    std::vector<std::string> paths;
    for (const LogFile& f : files_) paths.push_back(f.path);
    const std::string meant = nearest(path, paths);
    fault(in_quotes(path, 200) + " is not among the files",
          meant.empty() ? "give the file as well" : "did you mean " + printable(meant) + "?");
  }

  bool on_this_core(const MeasuredKernel& point) {
    const std::optional<topology::Instance> there = known_(point.instance);
    if (there && same_core(there->core, instance_.core)) return true;
    left_out_.push_back({point.at, "instance",
                         printable(point.id, 60) +
                             (there ? fmt::format(": measured on {}, whose cores differ from those of {}",
                                                  there->name, instance_.name)
                                    : ": the catalogue has no instance " + in_quotes(point.instance)),
                         "state the instance type of the fit with --instance"});
    return false;
  }

  void keep(MeasuredKernel point) {
    if (auto fault = too_fast(point, instance_.core)) {
      faults_.push_back(*std::move(fault));
      return;
    }
    points_.push_back(std::move(point));
  }

  const std::vector<LogFile>& files_;
  const topology::Instance& instance_;
  const KnownInstance& known_;
  Remarks& remarks_;
  std::set<std::string> named_;
  std::vector<MeasuredKernel> points_;
  std::vector<Diagnostic> faults_, left_out_;
};

}  // namespace

std::optional<Diagnostic> too_fast(const MeasuredKernel& point, const topology::Core& core) {
  const double least = calibrate::least_time(point.kernel, core).value;
  if (point.seconds >= least) return std::nullopt;
  return Diagnostic{point.at, "kernel",
                    fmt::format("{:.4g} us is less than the {:.4g} us that {} takes at the peak of a core",
                                point.seconds * 1e6, least * 1e6, to_string(point.kernel)),
                    "correct the shapes, or say where it was measured with --instance"};
}

std::vector<MeasuredKernel> take_kernels(const std::vector<LogFile>& files,
                                         const std::vector<std::string>& said,
                                         const topology::Instance& instance, const KnownInstance& known,
                                         Remarks& remarks) {
  Taker taker(files, instance, known, remarks);
  for (const std::string& text : said) taker.take(text);
  taker.take_tables();
  return taker.finish();
}

std::vector<Diagnostic> doubts_of_kernels(const std::vector<MeasuredKernel>& kernels,
                                          const topology::Core& core, const models::Profile& profile) {
  const calibrate::StepFitOptions noise;
  std::vector<Diagnostic> doubts;
  for (const MeasuredKernel& point : kernels) {
    const models::Work work = calibrate::work_of(point.kernel, core, profile);
    double variance = std::pow(noise.kernel_noise, 2) + std::pow(noise.kernel_spread, 2);
    for (const models::Parameter p : {work.parameter, work.also}) {
      if (p) variance += std::pow(profile.value(p).log_sd, 2);
    }
    const double ratio = point.seconds / work.seconds.value;
    const double all_of_it = work.seconds.value * profile[models::neuron::hbm_fraction];
    if (work.parameter == models::neuron::hbm_fraction && point.seconds < all_of_it) {
      doubts.push_back({point.at, "kernel",
                        fmt::format("{:.4g} us: {} moves its bytes faster than a core's share of the chip's "
                                    "HBM allows, {:.4g} us: the other core was idle",
                                    point.seconds * 1e6, to_string(point.kernel), all_of_it * 1e6),
                        "measure it with both cores busy, as in training"});
      continue;
    }
    if (std::abs(std::log(ratio)) <= calibrate::kDoubtful * std::sqrt(variance)) continue;
    doubts.push_back(
        {point.at, "kernel",
         fmt::format("{:.4g} us is {} times the {:.4g} us that {} says of {}", point.seconds * 1e6,
                     factor_text(ratio), work.seconds.value * 1e6, profile.name, to_string(point.kernel)),
         "check shapes and dtype, and that it is the device time of one call"});
  }
  return doubts;
}

void remark_short(const std::vector<MeasuredKernel>& kernels, const models::Profile& profile,
                  Remarks& remarks) {
  // The overhead of the ten or so operators of a layer: a tenth of it is a tenth of such a kernel.
  const double limit = profile[models::neuron::layer_overhead];
  for (const MeasuredKernel& point : kernels) {
    if (point.seconds >= limit) continue;
    remarks.add(
        Diagnostic{point.at, "kernel",
                   fmt::format("{:.4g} us is less than layer_overhead, {:.4g} us: latencies of DMA and "
                               "semaphores, which kernels of the model do not include, may matter",
                               point.seconds * 1e6, limit * 1e6),
                   "measure larger shapes"});
  }
}

}  // namespace trnplan::calibrate
