// What the functions of this floor take from a catalogue, and what they say of it.
#pragma once

#include <string>

#include "api/stated_files.h"
#include "io/catalog/catalog.h"
#include "io/input/job_input.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "text/remarks.h"

namespace trnplan::api {

/// A job file, a model of the catalogue, an HF config.json or an NxDT YAML, and what stands in place of its keys.
struct JobInput {
  std::string job;
  io::JobOptions options;
  StatedFiles texts;  ///< `job`, and files it names, where they stand in memory
};

/// Bytes of a table that a command reads.
inline constexpr std::size_t kCsvBytes = 64u << 20;

/// The profile by name, the catalogue's default for "", or from a file when `name` ends in .json. Throws InputError.
[[nodiscard]] models::Profile load_profile(const io::Catalog& catalog, const std::string& name);
/// `name`, or that of the catalogue's default for "".
[[nodiscard]] std::string profile_name(const std::string& name);
/// `profile`, or the catalogue's of the machine's family (FAMILY) where there is one and `profile` says nothing of such
/// machines, or is the usual one and for another family; which is remarked on where somebody named `profile`: `given`.
[[nodiscard]] models::Profile profile_for(const io::Catalog& catalog, models::Profile profile, bool given,
                                          const topology::Instance& instance, Remarks& remarks);
/// The profile that plan takes for the machine, where it says anything of its collectives. A remark names the one that is
/// fitted to benchmarks of kernels and collectives (FAMILY-kernels), where there is one and nobody named a profile. Throws
/// InputError where the profile says nothing of them.
[[nodiscard]] models::Profile load_profile_for(const io::Catalog& catalog, const std::string& name,
                                               bool given, const topology::Instance& instance,
                                               Remarks& remarks);
/// The type that is meant where none is named; "" where there is no catalogue.
[[nodiscard]] std::string usual_instance();
/// The catalogue's instance of that name; an unknown one is blamed on --instance.
[[nodiscard]] topology::Instance load_instance(const io::Catalog& catalog, const std::string& name);
/// Remarks on what was noticed, assumed and replaced. Throws InputError.
[[nodiscard]] io::JobReading load_job(const JobInput& input, const io::Catalog& catalog, Remarks& remarks);

/// Throws InputError where the path that `option` writes is one of `others`, which a command reads or writes besides; ""
/// is none.
void check_apart(const char* option, const std::string& path, const std::vector<std::string>& others);

/// Says so when the profile is for another family than that of `instance`.
void remark_family(const io::Catalog& catalog, const models::Profile& profile,
                   const topology::Instance& instance, Remarks& remarks);
/// Says so when the job states a release of the Neuron SDK of which the profile knows nothing, or which it knows of a
/// framework alone that the job does not state.
void remark_release(const models::Profile& profile, const models::Software& software, Remarks& remarks);
/// For what looks at one cluster and one batch: says which of those the job leaves free it takes.
void settle(models::Job& job, Remarks& remarks);

/// Where `strategy` of `job`, whose cluster is settled, lies outside the runs that the profile was fitted to;
/// "" where it does not. `what`: "the winner".
[[nodiscard]] std::string beyond_the_fit(const char* what, const models::Profile& profile,
                                         const models::Job& job, const models::Strategy& strategy);

/// How to get a group over several nodes where the instance has no EFA device.
[[nodiscard]] std::string no_efa_fix();

}  // namespace trnplan::api
