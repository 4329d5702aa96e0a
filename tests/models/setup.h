// Jobs for tests: catalogue models on the trn1.32xlarge with the data-sheet profile.
#pragma once

#include <string>

#include "io/catalog/catalog.h"
#include "io/input/strategy_text.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"

namespace trnplan {

inline const io::Catalog& test_catalog() {
  static const io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  return catalog;
}

inline models::Profile datasheet() {
  return test_catalog().profile("trn1-datasheet");
}

inline models::Job job_of(const std::string& model, int nodes, int sequence, int global_batch) {
  models::Job job;
  job.architecture = test_catalog().architecture(model);
  job.cluster = {test_catalog().instance("trn1.32xlarge"), nodes};
  static const auto releases = test_catalog().neuron_releases();
  job.neuron_releases = releases;
  job.training = {sequence, global_batch, 0, models::Precision::mixed_precision};
  return job;
}

inline models::Strategy strategy_of(const models::Job& job, const std::string& text) {
  return io::parse_strategy(text, job);
}

}  // namespace trnplan
