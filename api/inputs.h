// Inputs from a catalogue for the functions of this layer, and remarks on them.
#pragma once

#include <string>

#include "api/stated_files.h"
#include "io/catalog/catalog.h"
#include "io/input/job_input.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "text/remarks.h"

namespace trnplan::api {

/// A job file, a model of the catalogue, an HF config.json or an NxDT YAML, and values that override its
/// keys.
struct JobInput {
  std::string job;
  io::JobOptions options;
  StatedFiles texts;  ///< `job`, and files it names, if in memory
};

/// Most bytes of a table that a command reads.
inline constexpr std::size_t kCsvBytes = 64u << 20;

/// Profile by name; the catalogue's default for ""; a file if `name` ends in .json. Throws InputError.
[[nodiscard]] models::Profile load_profile(const io::Catalog& catalog, const std::string& name);
/// The same for data of one machine. Throws InputError if the profile contains nothing about its collectives.
[[nodiscard]] models::Profile load_profile_of(const io::Catalog& catalog, const std::string& name,
                                              const topology::Instance& instance);
/// `name`, or the name of the catalogue's default for "".
[[nodiscard]] std::string profile_name(const std::string& name);
/// `profile`, or the catalogue's profile of the machine's family (FAMILY) if there is one and `profile`
/// contains nothing about such machines, or is the default and for another family. Adds a remark if the user
/// named `profile`: `given`.
[[nodiscard]] models::Profile profile_for(const io::Catalog& catalog, models::Profile profile, bool given,
                                          const topology::Instance& instance, Remarks& remarks);
/// Profile that plan uses for the machine, provided that it contains parameters of its collectives. If the
/// user named no profile, a remark names the one fitted to benchmarks of kernels and collectives
/// (FAMILY-kernels), if it exists. Throws InputError if the profile contains nothing about collectives.
[[nodiscard]] models::Profile load_profile_for(const io::Catalog& catalog, const std::string& name,
                                               bool given, const topology::Instance& instance,
                                               Remarks& remarks);
/// Default instance type; "" without a catalogue.
[[nodiscard]] std::string usual_instance();
/// Instance of the catalogue by its name, whole or short. The fault of an unknown one refers to --instance.
[[nodiscard]] topology::Instance load_instance(const io::Catalog& catalog, const std::string& name);
/// The same; the default one for "".
[[nodiscard]] topology::Instance load_instance_or_usual(const io::Catalog& catalog, const std::string& name);
/// Instance type of a config that states how many processes a node has: `stated`, else the catalogue's with so many
/// cores a host; "" if none has. Throws InputError if `stated` is unknown.
[[nodiscard]] std::string machine_of(const io::Catalog& catalog, const std::string& stated, int processes,
                                     int nodes);
/// Adds remarks on observations, assumptions and replacements. Throws InputError.
[[nodiscard]] io::JobReading load_job(const JobInput& input, const io::Catalog& catalog, Remarks& remarks);

/// Throws InputError if the path that `option` writes is among `others`, which the command also reads or
/// writes. "" is no path.
void check_apart(const char* option, const std::string& path, const std::vector<std::string>& others);

/// Adds a remark if the profile is for another family than that of `instance`.
void remark_family(const io::Catalog& catalog, const models::Profile& profile,
                   const topology::Instance& instance, Remarks& remarks);
/// Adds a remark if the profile has learnt clusters, and the job runs on none of them.
void remark_site(const models::Profile& profile, const models::Job& job, Remarks& remarks);
/// Adds a remark if the job states a release of the Neuron SDK that the profile does not know, or knows only
/// for a framework that the job does not state; or if the profile was fitted to other frameworks or has learnt
/// other clusters.
void remark_release(const models::Profile& profile, const models::Job& job, Remarks& remarks);
/// Fixes cluster and batch that the job leaves open, for commands that consider only one, and adds remarks on
/// the choice.
void settle(models::Job& job, Remarks& remarks);

/// Sentence on `strategy` of `job`, with a fixed cluster, if it lies outside the runs that the profile was
/// fitted to; else "". `what`: "the winner".
[[nodiscard]] std::string beyond_the_fit(const char* what, const models::Profile& profile,
                                         const models::Job& job, const models::Strategy& strategy);

/// Fix for a group over several nodes if the instance has no EFA device.
[[nodiscard]] std::string no_efa_fix();

}  // namespace trnplan::api
