#include "calibrate/fit/step_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "calibrate/fit/fit.h"
#include "models/collective/neuron_parameters.h"
#include "models/device/neuron_core_parameters.h"
#include "models/uncertainty/spread.h"

namespace trnplan::calibrate {

namespace {

using models::Parameter;

/// Rates that the build of nccom-test and its runtime may reach differently than training stacks.
constexpr std::array kRates = {models::neuron::dma_fraction, models::neuron::link_fraction,
                               models::neuron::efa_fraction};
/// Shares of bandwidths, any of which may limit one collective.
constexpr std::array kAlternatives = {models::neuron::dma_fraction, models::neuron::link_fraction,
                                      models::neuron::hbm_fraction};

/// Parameters that may affect steps or collectives.
std::vector<Parameter> fitted_parameters(const models::Profile& prior) {
  std::vector<Parameter> all;
  for (const Parameter p : prior.schema->parameters()) {
    // Launch and barrier are those of one nccom-test build.
    if (p == models::common::host_launch || p == models::neuron::barrier) continue;
    if (models::time_sign(p) != 0 && prior.value(p).log_sd > 0) all.push_back(p);
  }
  return all;
}

/// The unknowns and observations of a fit.
class Problem {
 public:
  Problem(const StepBench& bench, const CollectiveBench* collectives, const KernelBench* kernels,
          const models::Profile& prior, const StepFitOptions& options)
      : bench_(bench), prior_(prior), parameters_(fitted_parameters(prior)) {
    for (const Parameter p : parameters_) {
      FitParameter unknown{std::string(models::to_string(p)), prior[p], prior.value(p).log_sd};
      unknown.bends = true;
      if (std::find(kAlternatives.begin(), kAlternatives.end(), p) != kAlternatives.end())
        unknown.alternative = Alternative::faster_above;
      unknowns.push_back(std::move(unknown));
    }
    std::set<std::string> frameworks;
    std::map<std::string, bool> configurations;  // and whether they are causal
    std::set<std::pair<std::string, std::string>> releases;
    for (const StepObservation& o : bench.observations()) {
      if (options.use && !options.use(o)) continue;
      used_.push_back(&o);
      configurations[o.configuration] = bench.steps()[o.rows.front()].job.architecture.causal;
      if (o.software.framework.empty() || !options.stacks) continue;
      frameworks.insert(o.software.framework);
      if (!o.software.release.empty()) releases.emplace(o.software.framework, o.software.release);
    }
    for (const std::string& f : frameworks) add_stack(f, "", prior[models::common::stack_spread]);
    for (const auto& [f, r] : releases) add_stack(f, r, prior[models::common::release_spread]);
    for (const auto& [c, causal] : configurations) {
      configurations_[c] = unknowns.size();
      unknowns.push_back({c, 1, models::own_spread(prior, causal), true});
    }
    for (const StepObservation* o : used_) {
      observations.push_back({std::exp(o->log_seconds),
                              std::hypot(prior[models::common::repeat_spread], o->log_sd), o->at_most});
    }
    if (collectives != nullptr && !collectives->points().empty()) add_collectives(*collectives, options);
    if (kernels != nullptr) add_kernels(*kernels, options);
  }

  std::vector<FitParameter> unknowns;
  std::vector<Observation> observations;

  std::size_t steps() const { return used_.size(); }
  std::size_t points() const { return points_ == nullptr ? 0 : points_->points().size(); }
  std::size_t kernels() const { return kernels_ == nullptr ? 0 : kernels_->observations().size(); }

  models::Profile profile_of(const std::vector<double>& values) const {
    models::Profile profile = prior_;
    profile.calibration = nullptr;
    for (std::size_t i = 0; i < parameters_.size(); ++i) profile.value(parameters_[i]).median = values[i];
    return profile;
  }

  Linearised linearise(const std::vector<double>& values) const {
    Linearised out;
    const models::Profile profile = profile_of(values);
    for (const StepObservation* o : used_) {
      const ProgramTime time = bench_.time(o->program, profile);
      double log_seconds = time.log_seconds;
      std::vector<double> row(values.size(), 0);
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        row[i] = time.gradient[parameters_[i].place()];
      }
      for (const std::size_t unknown : effects_of(*o)) {
        row[unknown] = 1;
        log_seconds += std::log(values[unknown]);
      }
      out.predicted.push_back(std::exp(log_seconds));
      out.gradient.push_back(std::move(row));
    }
    if (points_ != nullptr) add_points(values, profile, out);
    if (kernels_ != nullptr) add_work(values, profile, out);
    return out;
  }

  StepFit result(const FitResult& fit) const {
    StepFit out;
    out.profile = profile_of(fit.median);
    auto calibration = std::make_shared<models::Calibration>();
    calibration->prior = prior_.base.empty() ? prior_.name : prior_.base;
    const models::ParameterSchema& schema = *prior_.schema;
    std::vector<std::size_t> where(schema.places(),
                                   unknowns.size());  // index among the unknowns of each kept entry
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter p = parameters_[i];
      where[p.place()] = i;
      out.profile.value(p).log_sd = fit.log_sd[i];
      out.estimates.push_back(
          {p, prior_.value(p), out.profile.value(p), fit.prior_share[i],
           verdict(fit.prior_share[i], std::log(out.profile[p] / prior_[p]) / prior_.value(p).log_sd)});
    }
    for (const auto& [stack, unknown] : stacks_) {
      calibration->stacks.push_back({stack.first, stack.second, fit.median[unknown], fit.log_sd[unknown]});
      where.push_back(unknown);
    }
    calibration->covariance.resize(where.size());
    for (std::vector<double>& row : calibration->covariance) row.resize(where.size());
    for (std::size_t i = 0; i < where.size(); ++i) {
      for (std::size_t j = 0; j < where.size(); ++j) {
        if (where[i] == unknowns.size() || where[j] == unknowns.size()) {
          // Parameters outside the fit, launch and barrier, keep their own spread.
          const Parameter left = schema.at(i);
          if (i == j && left && models::time_sign(left) != 0) {
            calibration->covariance[i][i] = std::pow(prior_.values[i].log_sd, 2);
          }
          continue;
        }
        calibration->covariance[i][j] = fit.covariance[where[i]][where[j]];
      }
    }
    out.profile.calibration = std::move(calibration);
    for (const auto& [name, unknown] : configurations_) {
      out.configuration_effects[name] = std::log(fit.median[unknown]);
    }
    out.observations = steps();
    for (const auto& [op, unknown] : alone_) out.kernel_effects[op] = std::log(fit.median[unknown]);
    out.collectives = points();
    out.kernels = kernels();
    out.iterations = fit.iterations;
    out.converged = fit.converged;
    return out;
  }

 private:
  void add_stack(const std::string& framework, const std::string& release, double spread) {
    stacks_[{framework, release}] = unknowns.size();
    unknowns.push_back({framework + " " + release, 1, spread});
  }

  void add_collectives(const CollectiveBench& data, const StepFitOptions& options) {
    points_ = &data;
    for (const Parameter p : {models::common::host_launch, models::neuron::barrier}) {
      launches_.emplace_back(p, unknowns.size());
      unknowns.push_back(
          {std::string(models::to_string(p)) + " of the build", prior_[p], options.launch_spread});
    }
    build_ = unknowns.size();
    unknowns.push_back({"rates of the build", 1, options.build_spread});
    for (const logs::MeasuredCollective& p : data.points()) {
      observations.push_back({p.seconds, options.collective_noise});
    }
  }

  void add_kernels(const KernelBench& data, const StepFitOptions& options) {
    kernels_ = &data;
    for (const KernelBench::Observation& o : data.observations()) {
      observations.push_back({std::exp(o.log_seconds), options.kernel_noise});
      if (!alone_.try_emplace(o.kernel.op, unknowns.size()).second) continue;
      unknowns.push_back({std::string(to_string(o.kernel.op)) + " alone", 1, options.kernel_spread});
    }
  }

  void add_work(const std::vector<double>& values, const models::Profile& profile, Linearised& out) const {
    for (const KernelBench::Observation& o : kernels_->observations()) {
      const KernelBench::Answer answer = kernels_->at(o, profile);
      const std::size_t alone = alone_.at(o.kernel.op);
      std::vector<double>& row = out.gradient.emplace_back(values.size(), 0.0);
      row[alone] = 1;
      for (const auto& [parameter, slope] : answer.gradient) {
        const auto found = std::find(parameters_.begin(), parameters_.end(), parameter);
        if (found != parameters_.end()) row[static_cast<std::size_t>(found - parameters_.begin())] = slope;
      }
      out.predicted.push_back(std::exp(answer.log_seconds) * values[alone]);
    }
  }

  std::vector<std::size_t> effects_of(const StepObservation& o) const {
    std::vector<std::size_t> all{configurations_.at(o.configuration)};
    for (const std::string& release : {std::string(), o.software.release}) {
      const auto found = stacks_.find({o.software.framework, release});
      if (found != stacks_.end() && (all.size() == 1 || !release.empty())) all.push_back(found->second);
    }
    return all;
  }

  void add_points(const std::vector<double>& values, models::Profile profile, Linearised& out) const {
    for (const auto& [p, unknown] : launches_) profile.value(p).median = values[unknown];
    for (const Parameter p : kRates) profile.value(p).median *= values[build_];
    const CollectiveBench::Answer answer = points_->at(profile);
    const std::size_t first = out.predicted.size();
    for (const double log_seconds : answer.log_seconds) {
      out.predicted.push_back(std::exp(log_seconds));
      out.gradient.emplace_back(values.size(), 0.0);
    }
    for (std::size_t j = 0; j < kCollectiveParameters.size(); ++j) {
      const auto unknown = unknown_of(kCollectiveParameters[j]);
      if (unknown == values.size()) continue;
      for (std::size_t i = 0; i < answer.log_seconds.size(); ++i) {
        out.gradient[first + i][unknown] = answer.gradient[j][i];
        const bool rate = std::find(kRates.begin(), kRates.end(), kCollectiveParameters[j]) != kRates.end();
        if (rate) out.gradient[first + i][build_] += answer.gradient[j][i];
      }
    }
  }

  std::size_t unknown_of(Parameter p) const {
    for (const auto& [launch, unknown] : launches_) {
      if (launch == p) return unknown;
    }
    const auto found = std::find(parameters_.begin(), parameters_.end(), p);
    return found == parameters_.end() ? unknowns.size()
                                      : static_cast<std::size_t>(found - parameters_.begin());
  }

  const StepBench& bench_;
  const models::Profile& prior_;
  std::vector<Parameter> parameters_;
  std::vector<const StepObservation*> used_;
  std::map<std::pair<std::string, std::string>, std::size_t> stacks_;
  std::map<std::string, std::size_t> configurations_;
  const CollectiveBench* points_ = nullptr;
  std::size_t build_ = 0;
  const KernelBench* kernels_ = nullptr;
  std::map<logs::KernelOp, std::size_t> alone_;
  std::vector<std::pair<Parameter, std::size_t>> launches_;
};

}  // namespace

StepFit fit_steps(const StepBench& bench, const CollectiveBench* collectives, const models::Profile& prior,
                  const StepFitOptions& options, const KernelBench* kernels) {
  const Problem problem(bench, collectives, kernels, prior, options);
  FitOptions of_fit;
  of_fit.loss = Loss::student_t;
  // Tolerances in prior standard deviations, and of the cost: both are far below the visible noise.
  of_fit.tolerance = 1e-3;
  of_fit.least_gain = 1e-6;
  of_fit.exact_curvature = true;
  of_fit.profile_widths = options.profile_widths;
  return problem.result(fit_linearised(
      problem.unknowns, problem.observations,
      [&](const std::vector<double>& values) { return problem.linearise(values); }, of_fit));
}

}  // namespace trnplan::calibrate
