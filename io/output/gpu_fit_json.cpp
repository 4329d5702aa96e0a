#include "io/output/gpu_fit_json.h"

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

using calibrate::FittedGpuParameter;
using calibrate::GpuFit;
using calibrate::GpuFitErrors;

template <>
const Record<models::Value>& record();  // fit_json.cpp

template <>
const Record<FittedGpuParameter>& record() {
  using P = FittedGpuParameter;
  static const Record<P> described(
      "FittedGpuParameter", "A parameter of a GPU's profile, fitted again.",
      {{"name", &P::name},
       {"scope", &P::scope, "framework or instance type that it holds for; empty: every row"},
       {"prior", &P::prior},
       {"value", &P::value},
       {"shipped", &P::shipped, "in the catalogue's profile"},
       {"moved", &P::moved, "the last iteration's change of the logarithm, in standard deviations"}});
  return described;
}

template <>
const Record<GpuFitErrors>& record() {
  using E = GpuFitErrors;
  const auto median = [](auto of) { return path(of, &E::Errors::median); };
  const auto mean = [](auto of) { return path(of, &E::Errors::mean); };
  static const Record<E> described(
      "GpuFitErrors", "Errors of a source: of |predicted / measured - 1|.",
      {{"source", &E::source, "a part of the column"},
       {"rows", &E::rows},
       {"median", median(&E::fitted)},
       {"mean", mean(&E::fitted)},
       {"left_out_median", median(&E::without_source), "by a fit to the other sources, linearised"},
       {"left_out_mean", mean(&E::without_source)},
       {"without_network_median", median(&E::without_network),
        "by a fit without all rows of the same layers and hidden size, linearised"},
       {"without_network_mean", mean(&E::without_network)}});
  return described;
}

template <>
const Record<GpuFit>& record() {
  using F = GpuFit;
  static const Record<F> described("GpuFitResult", "A profile of a GPU, fitted again to a table of runs.",
                                   {{"profile", &F::profile},
                                    {"prior", &F::prior},
                                    {"rows", &F::rows},
                                    {"iterations", &F::iterations},
                                    {"parameters", &F::parameters},
                                    {"sources", &F::errors}});
  return described;
}

std::string gpu_fit_json(const GpuFit& fit) {
  return document_of(fit);
}

const Description& gpu_fit_document() {
  return record<GpuFit>().description();
}

}  // namespace trnplan::io
