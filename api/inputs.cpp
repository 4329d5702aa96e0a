#include "api/inputs.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "io/catalog/profile_reader.h"
#include "models/uncertainty/spread.h"
#include "text/diagnostic.h"

namespace trnplan::api {

namespace {

/// Runs `look_up`; a fault without a place is put down to the option that named the thing.
template <class LookUp>
auto blame(const char* option, const LookUp& look_up) {
  try {
    return look_up();
  } catch (const InputError& e) {
    std::vector<Diagnostic> faults = e.faults();
    for (Diagnostic& f : faults) {
      if (f.at.file.empty()) f.key = option;
    }
    throw InputError(std::move(faults));
  }
}

/// A path that is there, but no profile by its name.
void refuse_misnamed(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) return;
  if (std::filesystem::is_directory(status)) {
    throw InputError({{path, 0, 0}, "--profile", "is a folder", "name the profile's .json file in it"});
  }
  throw InputError({{path, 0, 0},
                    "--profile",
                    "this file's name does not end in .json, so it is taken for a name of the catalogue",
                    "rename it to end in .json"});
}

}  // namespace

models::Profile load_profile(const io::Catalog& catalog, const std::string& name) {
  if (name.ends_with(".json")) return io::profile_from(read_document(name), &catalog);
  return blame("--profile", [&] {
    try {
      return catalog.profile(name);
    } catch (const InputError&) {
      refuse_misnamed(name);
      throw;
    }
  });
}

void remark_family(const io::Catalog& catalog, const models::Profile& profile,
                   const topology::Instance& instance, Remarks& remarks) {
  if (profile.instance.empty()) return;
  const std::vector<std::string> known = catalog.instances();
  const bool type = std::find(known.begin(), known.end(), profile.instance) != known.end();
  const std::string label = type ? catalog.instance(profile.instance).family
                                 : profile.instance.substr(0, profile.instance.find('.'));
  if (label == instance.family) return;  // data against data: what the one file names the other has
  remarks.add(instance.name + " timed with the parameters of " + profile.name + " (" + profile.instance +
              ")");
}

std::string usual_instance() {
  try {
    return io::Catalog::standard().default_instance();
  } catch (const InputError&) {
    return "";  // what needs the catalogue says what is wrong with it
  }
}

topology::Instance load_instance(const io::Catalog& catalog, const std::string& name) {
  return blame("--instance", [&] { return catalog.instance(name); });
}

void settle(models::Job& job, Remarks& remarks) {
  const models::SearchSpace free = std::move(job.space);
  job.space = {};
  if (free.nodes.size() > 1)
    remarks.add("cluster.nodes is free: " + std::to_string(job.cluster.nodes) + " are taken");
  if (free.instances.size() > 1)
    remarks.add("cluster.instance is free: " + job.cluster.instance.name + " is taken");
  if (free.largest_batch > free.smallest_batch)
    remarks.add("training.global_batch is free: " + std::to_string(job.training.global_batch) + " is taken");
  if (free.precision)
    remarks.add("training.precision is free: " + std::string(to_string(job.training.precision)) +
                " is taken");
}

io::JobReading load_job(const JobInput& input, const io::Catalog& catalog, Remarks& remarks) {
  io::JobReading reading = io::read_job_input(input.job, input.options, catalog).reading;
  remarks.add(reading.notes);
  return reading;
}

std::string beyond_the_fit(const char* what, const models::Profile& profile, const models::Job& job,
                           const models::Strategy& strategy) {
  std::string text;
  for (const models::Extrapolation& e : models::extrapolations(profile, job, strategy)) {
    text += fmt::format("{}{} {:.4g} (fitted: {:.4g} to {:.4g})", text.empty() ? "" : ", ",
                        printable(e.fitted.of, 40), e.value, e.fitted.low, e.fitted.high);
  }
  if (text.empty()) return text;
  return fmt::format(
      "{} lies outside the runs that {} was fitted to: {}; its interval is widened for its distance from "
      "known runs alone",
      what, profile.name, text);
}

std::string no_efa_fix() {
  return "use one node, or an instance with EFA devices, for example trn1.32xlarge";
}

}  // namespace trnplan::api
