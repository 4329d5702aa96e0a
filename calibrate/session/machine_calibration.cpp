#include "calibrate/session/machine_calibration.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/fit/kernel_bench.h"
#include "calibrate/session/collective_points.h"
#include "calibrate/session/kernel_inputs.h"
#include "calibrate/session/step_calibration.h"
#include "models/framework/framework.h"
#include "text/diagnostic.h"
#include "text/figures.h"

namespace trnplan::calibrate {

namespace {

using logs::MeasuredKernel;

void check_kernels(const std::vector<MeasuredKernel>& kernels, const topology::Instance& instance,
                   Remarks& remarks) {
  std::vector<Diagnostic> faults;
  bool silent = false;
  for (const MeasuredKernel& k : kernels) {
    if (auto fault = too_fast(k, instance.core)) faults.push_back(*std::move(fault));
    if (!k.library.empty() && models::frameworks_with_attention(k.library).empty()) {
      faults.push_back(
          {k.at, "library", in_quotes(k.library, 60) + " is run by no training loop",
           "name it as \"attention\" of the catalogue's profiles, for example flash-attention-2"});
    }
    silent |= k.library.empty() && k.kernel.op != logs::KernelOp::matmul;
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  if (silent)
    remarks.add(
        "attention without a library teaches only loops whose library the profile does not know: add the "
        "column library");
}

std::vector<std::string> kinds_of(const MachineFit& fit) {
  std::map<std::string_view, int> counts;
  for (const MachineRow& row : fit.rows) ++counts[row.kind];
  std::vector<std::string> all;
  for (const auto& [kind, count] : counts) {
    // "2 collectives between nodes"
    const std::size_t noun = std::min(kind.find(' '), kind.size());
    all.push_back(counted(count, kind.substr(0, noun)) + std::string(kind.substr(noun)));
  }
  return all;
}

void add_sources(MachineCalibration& c) {
  for (MachineEstimate& e : c.fit.estimates) {
    const std::string source =
        fmt::format("{}: learnt from {} timed on {}; prior {:.4g}, log-sd {:.2f}", e.verdict,
                    fmt::join(c.kinds, ", "), c.instance, e.prior.median, e.prior.log_sd);
    e.posterior.source = source;
    if (e.library.empty()) c.fit.profile.value(e.parameter).source = source;
  }
}

}  // namespace

bool has_machine(const std::vector<LogFile>& files) {
  return std::any_of(files.begin(), files.end(), [](const LogFile& file) {
    return !file.content.times.empty() || !file.content.nccl.empty();
  });
}

MachineCalibration calibrate_machine(const MachineInputs& inputs, const topology::Instance& instance,
                                     const models::Profile& profile, const MachineSpreads& spreads,
                                     const std::string& name, Remarks& remarks) {
  refuse_learnt(inputs.files, {}, profile);
  check_kernels(inputs.kernels, instance, remarks);
  Selection chosen = select_points(inputs.points, instance, profile);
  std::vector<Diagnostic> causes = causes_of(chosen.left_out);
  if (inputs.kernels.empty() && chosen.points.empty()) {
    if (causes.empty())
      causes.push_back({{"command line", 0, 0},
                        "files",
                        "no row of an all-reduce, all-gather or reduce-scatter",
                        "give the whole output of nccl-tests, with its list of ranks"});
    throw InputError(std::move(causes));
  }
  for (Diagnostic& d : causes) {
    d.problem = "left out: " + d.problem;
    remarks.add(d);
  }
  MachineCalibration out;
  out.before = profile.name;
  out.instance = instance.name;
  out.fit = fit_machine(inputs.kernels, chosen.points, instance, profile, spreads);
  out.kinds = kinds_of(out.fit);
  for (const MachineEstimate& e : out.fit.far_off())
    remarks.add(Diagnostic{
        out.fit.rows[e.teacher].at, std::string(models::to_string(e.parameter)),
        fmt::format("{:.3g} is {} times the {:.3g} of {}, {:.0f} standard deviations away: hardly of this "
                    "type of machine",
                    e.posterior.median, factor_text(e.posterior.median / e.prior.median), e.prior.median,
                    profile.name, std::abs(e.deviations())),
        "check which machine was measured, its clocks, and the unit of the times"});
  if (!out.fit.converged) remarks.add("the fit did not converge; its parameters are not an optimum");
  models::Profile& fitted = out.fit.profile;
  fitted.name = name;
  fitted.base = profile.base;
  fitted.instance = profile.instance;
  round_values(fitted, profile.schema->parameters());
  add_sources(out);
  auto c = std::make_shared<models::Calibration>(*fitted.calibration);
  c->tool = inputs.tool;
  add_files(*c, inputs.files);
  fitted.calibration = std::move(c);
  return out;
}

}  // namespace trnplan::calibrate
