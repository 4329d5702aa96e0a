#include "api/inputs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/catalog/profile_reader.h"
#include "io/input/instance_names.h"
#include "models/collective/collective_runtime.h"
#include "models/uncertainty/spread.h"
#include "text/diagnostic.h"

namespace trnplan::api {

namespace {

/// Runs `look_up`, and attributes a fault without a place to the option that named the thing.
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

/// Refuses a path to an existing file that is not a profile by its name.
void refuse_misnamed(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) return;
  if (std::filesystem::is_directory(status)) {
    throw InputError({{path, 0, 0}, "--profile", "is a folder", "name the profile's .json file in it"});
  }
  throw InputError({{path, 0, 0},
                    "--profile",
                    "this file's name does not end in .json, so it is read as a name of the catalogue",
                    "rename it to end in .json"});
}

}  // namespace

models::Profile load_profile(const io::Catalog& catalog, const std::string& named) {
  const std::string name = named.empty() ? catalog.default_profile() : named;
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

namespace {

bool knows(const models::Profile& profile, const topology::Instance& instance) {
  return profile.schema->contains(models::runtime_of(instance).parameters().start);
}

/// Family of the machine that the profile states.
std::string family_of(const io::Catalog& catalog, const models::Profile& profile) {
  const std::vector<std::string> known = catalog.instances();
  const bool type = std::find(known.begin(), known.end(), profile.instance) != known.end();
  return type ? catalog.instance(profile.instance).family
              : profile.instance.substr(0, profile.instance.find('.'));
}

bool has_sites(const models::Profile& profile) {
  if (profile.calibration == nullptr) return false;
  const std::vector<models::StackFactor>& known = profile.calibration->stacks;
  return std::any_of(known.begin(), known.end(), [](const models::StackFactor& f) { return f.is_site(); });
}

/// Default profile, or one that has learnt clusters, on a machine of another family: nobody chose it for that one.
bool unchosen_for(const io::Catalog& catalog, const models::Profile& profile,
                  const topology::Instance& instance) {
  if (profile.instance == instance.family || profile.instance.empty()) return false;
  const bool chosen = profile.name != catalog.default_profile() && !has_sites(profile);
  return !chosen && family_of(catalog, profile) != instance.family;
}

/// Catalogue's profile of the machine's family; adds a remark if the requested one was `given`.
std::optional<models::Profile> profile_of_family(const io::Catalog& catalog, const models::Profile& asked,
                                                 bool given, const topology::Instance& instance,
                                                 Remarks& remarks) {
  const std::string& own = instance.family;
  if (!std::filesystem::exists(catalog.file("profiles/" + own + ".json"))) return std::nullopt;
  if (given)
    remarks.add(fmt::format("{} timed with the parameters of {}: {} is of another {}", instance.name, own,
                            asked.name, knows(asked, instance) ? "generation" : "kind of machine"),
                "profile");
  return load_profile(catalog, own);
}

}  // namespace

models::Profile profile_for(const io::Catalog& catalog, models::Profile profile, bool given,
                            const topology::Instance& instance, Remarks& remarks) {
  if (knows(profile, instance) && !unchosen_for(catalog, profile, instance)) return profile;
  auto own = profile_of_family(catalog, profile, given, instance, remarks);
  return own ? *std::move(own) : std::move(profile);
}

namespace {

/// Throws InputError unless the profile, which was asked for as `named`, can time that machine.
void require_known(const models::Profile& profile, const std::string& named,
                   const topology::Instance& instance) {
  if (knows(profile, instance)) return;
  throw InputError({{"command line", 0, 0},
                    "--profile",
                    named + " has no parameters for the collectives of " + instance.name,
                    "name a profile of that family, " + instance.family});
}

}  // namespace

models::Profile load_profile_of(const io::Catalog& catalog, const std::string& name,
                                const topology::Instance& instance) {
  models::Profile profile = load_profile(catalog, name);
  require_known(profile, profile.name, instance);
  return profile;
}

models::Profile load_profile_for(const io::Catalog& catalog, const std::string& name, bool given,
                                 const topology::Instance& instance, Remarks& remarks) {
  models::Profile asked = load_profile(catalog, name);
  const std::string named = asked.name;
  models::Profile own = profile_for(catalog, std::move(asked), given, instance, remarks);
  require_known(own, named, instance);
  const std::string alone = instance.family + "-kernels";
  if (!given && std::filesystem::exists(catalog.file("profiles/" + alone + ".json"))) {
    remarks.add(
        fmt::format("timed as inside a training step, as plan does; --profile {} times it as benchmarks of "
                    "collectives alone",
                    alone),
        "profile");
  }
  return own;
}

void remark_family(const io::Catalog& catalog, const models::Profile& profile,
                   const topology::Instance& instance, Remarks& remarks) {
  if (profile.instance.empty()) return;
  if (family_of(catalog, profile) == instance.family)
    return;  // compares data of the catalogue with data of the profile
  remarks.add(instance.name + " timed with the parameters of " + profile.name + " (" + profile.instance + ")",
              "profile");
}

namespace {

/// "2.9" before "2.10".
std::pair<std::size_t, std::string> release_order(const std::string& release) {
  return {release.size(), release};
}

/// Adds a remark if the profile was fitted to published steps of other frameworks than the job's.
void remark_stack(const models::Profile& profile, const models::Software& software, Remarks& remarks) {
  if (software.framework.empty() || profile.calibration == nullptr) return;
  std::set<std::string> known;
  for (const models::StackFactor& s : profile.calibration->stacks) {
    if (s.instance.empty()) known.insert(s.framework);
  }
  if (known.empty() || known.contains(software.framework)) return;
  remarks.add(fmt::format("{} was fitted to runs of {}, none of {}, so the interval is that of an unknown "
                          "stack",
                          profile.name, fmt::join(known, ", "), printable(software.framework)),
              "profile");
}

/// Remark on a job that borrows from other stacks on its machine, or from its stack on others.
void remark_borrowed(const models::Profile& profile, const models::Job& job,
                     const models::FactorShares& shares, Remarks& remarks) {
  std::vector<std::string> learnt;
  std::vector<double> gradient(profile.schema->places(), 0);
  gradient.resize(gradient.size() + shares.weights.size(), 0);
  double moved = 0;
  for (const std::size_t i : shares.borrowed) {
    const models::StackFactor& f = profile.calibration->stacks[i];
    learnt.push_back(fmt::format("{} on {} ({:.3g} times as long)",
                                 models::stack_name(f.framework, f.release), f.instance, f.median));
    gradient[profile.schema->places() + i] = shares.weights[i];
    moved += shares.weights[i] * std::log(f.median);
  }
  const std::string stack = models::stack_name(job.software.framework, job.software.release);
  const double spread = std::sqrt(shares.variance + log_variance(profile, gradient));
  remarks.add(
      fmt::format("{} has learnt {}; how much of that holds for {} on {} is unknown, so it is predicted "
                  "{:.3g} times as long, give or take {:.0f} %",
                  profile.name, printable(fmt::format("{}", fmt::join(learnt, ", ")), 300),
                  stack.empty() ? "another stack" : printable(stack, 50),
                  printable(job.cluster.instance.name, 40), std::exp(moved), 100 * std::expm1(spread)),
      "profile");
}

}  // namespace

void remark_site(const models::Profile& profile, const models::Job& job, Remarks& remarks) {
  if (profile.calibration == nullptr || at_known_site(profile, job)) return;
  const models::FactorShares shares = factor_shares(profile, job);
  if (!shares.borrowed.empty()) return remark_borrowed(profile, job, shares, remarks);
  std::string learnt;
  for (const models::StackFactor& f : profile.calibration->stacks) {
    if (!f.is_site()) continue;
    learnt += fmt::format("{}{} on {}", learnt.empty() ? "" : ", ",
                          models::stack_name(f.framework, f.release), f.instance);
  }
  if (learnt.empty()) return;
  remarks.add(fmt::format("{} has learnt {}; {} on {} is predicted without that", profile.name,
                          printable(learnt, 200), printable(job.software.framework, 30),
                          printable(job.cluster.instance.name, 40)),
              "profile");
}

void remark_release(const models::Profile& profile, const models::Job& job, Remarks& remarks) {
  const models::Software& software = job.software;
  if (profile.of_collectives)
    remarks.add(
        fmt::format("{} is for collectives, not for planning: its launches and barriers are those of one "
                    "build of a benchmark",
                    profile.name),
        "profile");
  remark_stack(profile, software, remarks);
  remark_site(profile, job, remarks);
  if (software.release.empty()) return;
  if (!models::has_releases(job.cluster.instance)) {
    remarks.add(fmt::format("release {} is one of the Neuron SDK, and {} runs none: it changes nothing",
                            printable(software.release, 20), printable(job.cluster.instance.name, 40)),
                "release");
    return;
  }
  if (profile.calibration == nullptr) return;
  std::vector<std::string> known;
  for (const models::StackFactor& s : profile.calibration->stacks) {
    if (!s.release.empty() && (software.framework.empty() || s.framework == software.framework))
      known.push_back(s.release);
  }
  if (known.empty() || !factor_shares(profile, job).borrowed.empty()) return;
  std::sort(known.begin(), known.end(),
            [](const std::string& a, const std::string& b) { return release_order(a) < release_order(b); });
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::string release = "Neuron SDK " + printable(software.release, 20);
  if (std::find(known.begin(), known.end(), software.release) == known.end()) {
    remarks.add(
        fmt::format(
            "{}: nothing is known about it, so step and interval are those without a release; {} knows {}{}",
            release, profile.name, software.framework.empty() ? "" : software.framework + " on ",
            fmt::join(known, ", ")),
        "release");
  } else if (software.framework.empty()) {
    remarks.add(fmt::format("{}: each release is known for one framework, and the job states none "
                            "(software.framework), so step and interval are those without a release",
                            release),
                "release");
  }
}

std::string usual_instance() {
  try {
    return io::Catalog::standard().default_instance();
  } catch (const InputError&) {
    return "";  // the function that needs the catalogue reports its fault
  }
}

std::string machine_of(const io::Catalog& catalog, const std::string& stated, int processes, int nodes) {
  return stated.empty() ? catalog.instance_of_ranks(processes, nodes > 1)
                        : load_instance(catalog, stated).name;
}

std::string profile_name(const std::string& name) {
  return name.empty() ? io::Catalog::standard().default_profile() : name;
}

void check_apart(const char* option, const std::string& path, const std::vector<std::string>& others) {
  const auto place = [](const std::string& p) {
    std::error_code none;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(p, none), none);
  };
  if (path.empty()) return;
  for (const std::string& other : others) {
    if (other.empty() || place(other) != place(path)) continue;
    throw InputError({{"command line", 0, 0},
                      option,
                      in_quotes(path) + " is read, or written, by this command already",
                      "choose another path"});
  }
}

topology::Instance load_instance(const io::Catalog& catalog, const std::string& name) {
  return blame("--instance", [&] { return catalog.instance(io::whole_name(name, catalog)); });
}

topology::Instance load_instance_or_usual(const io::Catalog& catalog, const std::string& name) {
  return load_instance(catalog, name.empty() ? catalog.default_instance() : name);
}

void settle(models::Job& job, Remarks& remarks) {
  const models::SearchSpace free = std::move(job.space);
  job.space = {};
  if (free.nodes.size() > 1)
    remarks.add("cluster.nodes is free: " + std::to_string(job.cluster.nodes) + " are used", "free");
  if (free.instances.size() > 1)
    remarks.add("cluster.instance is free: " + job.cluster.instance.name + " is used", "free");
  if (free.largest_batch > free.smallest_batch)
    remarks.add("training.global_batch is free: " + std::to_string(job.training.global_batch) + " is used",
                "free");
  if (free.precision)
    remarks.add("training.precision is free: " + std::string(to_string(job.training.precision)) + " is used",
                "free");
}

io::JobReading load_job(const JobInput& input, const io::Catalog& catalog, Remarks& remarks) {
  io::JobReading reading = io::read_job_input(input.job, input.options, catalog, input.texts).reading;
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
      "{} is outside the range of runs that {} was fitted to: {}; its interval is widened only for its "
      "distance from known runs",
      what, profile.name, text);
}

std::string no_efa_fix() {
  return "use one node, or an instance with EFA devices, for example trn1.32xlarge";
}

}  // namespace trnplan::api
