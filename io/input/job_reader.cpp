#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "io/input/framework_names.h"
#include "io/input/job_keys.h"
#include "io/input/job_learning.h"
#include "io/input/job_sections.h"
#include "io/input/job_space.h"
#include "io/input/readers.h"
#include "models/job/limits.h"
#include "targets/nxdt/nxdt_target.h"
#include "targets/nxdt/nxdt_versions.h"
#include "targets/registry.h"
#include "text/parse.h"

namespace trnplan::io {

namespace {

void read_software(JobDraft& d, MapReader& map) {
  const Node* node = map.raw("software");
  if (node == nullptr || node->is_null()) return;
  MapReader fields = job_section(*node, "software", d.faults);
  models::Software& s = d.job().software;
  s.framework = fields.text("framework", s.framework);
  const std::vector<std::string> known = targets::names();
  if (!s.framework.empty() && std::find(known.begin(), known.end(), s.framework) == known.end()) {
    fields.fault("framework", "unknown framework " + in_quotes(s.framework), stack_fix(s.framework));
  }
  s.in_flight = fields.has("requests_in_flight")
                    ? fields.whole("requests_in_flight", s.in_flight, 1, models::run_limits.requests)
                    : s.in_flight;
  s.fuse_qkv = fields.boolean("fuse_qkv", s.fuse_qkv);
  if (fields.has("sequential_move_factor")) {
    const int cores = std::max(1, d.job().cluster.instance.cores());
    s.sequential_move = fields.whole("sequential_move_factor", 0, 1, cores);
  }
  s.release = fields.text("release", "");
  if (!s.release.empty() && !is_version(s.release)) {
    fields.fault("release", in_quotes(s.release) + " is not a Neuron SDK release",
                 "write it like \"2.22\", in quotes");
  }
  s.version = fields.text("version", "");
  if (!s.version.empty() && !is_version(s.version)) {
    fields.fault("version", in_quotes(s.version) + " is not a version of a framework",
                 "write it like \"1.6\", in quotes");
  }
  const bool nxdt = targets::of(d.job()).name() == targets::nxdt().name();
  if (nxdt && is_version(s.version)) {
    for (const std::string& doubt : targets::version_doubts(s))
      d.note("software.version: " + doubt, "version");
  }
  fields.finish();
}

void settle(JobDraft& d, MapReader& map) {
  const Node* training = map.raw("training");
  if (training == nullptr || !training->is_map()) return;
  MapReader fields = job_section(*training, "training", d.faults);
  settle_batch(fields, d.job());
}

void note_positions(JobDraft& d) {
  const models::Architecture& a = d.job().architecture;
  if (a.learned_positions || a.max_positions == 0 || d.job().training.sequence <= a.max_positions) return;
  d.note("sequence " + std::to_string(d.job().training.sequence) +
             " is beyond the model's max_position_embeddings " + std::to_string(a.max_positions),
         "positions");
}

void remember_places(JobDraft& d, const std::string& section) {
  const Node* node = d.root.find(section);
  if (node == nullptr) return;
  for (const Node::Entry& e : node->entries) d.reading.places[section + "." + e.key] = e.value.at;
}

/// Of the whole run, by its largest batch; 0 where it has no tokens.
double steps_in(const models::Job& job) {
  const models::Training& t = job.training;
  const double per_step =
      static_cast<double>(t.sequence) * std::max(t.global_batch, job.space.smallest_batch);
  return t.tokens > 0 && per_step > 0 ? std::ceil(t.tokens / per_step) : 0;
}

JobReading read(JobDraft d) {
  if (d.root.is_null()) {
    throw InputError(Diagnostic{{d.path.string()},
                                "",
                                "the job is empty",
                                "write at least model, training and cluster; see examples/"});
  }
  MapReader map = job_section(d.root, "", d.faults);
  read_job_model(d, map);
  read_job_training(d, map);
  read_job_cluster(d, map);
  read_software(d, map);
  d.collect([&] { d.job().neuron_releases = d.catalog.neuron_releases(); });
  settle(d, map);
  read_goal(map, d.job());
  read_job_pin(d, map);
  read_learning(map, d.job().learning, d.faults, steps_in(d.job()));
  read_run_files(map, d.job().run, d.faults);
  remember_places(d, "training");
  remember_places(d, "pin");
  remember_places(d, "learning");
  remember_places(d, "run");
  for (const char* key : {"budget", "objective"})  // money needs prices, which options may state
    if (const Node* node = d.root.find(key)) d.reading.places[key] = node->at;
  targets::take_defaults(d.job(), targets::of(d.job()), d.reading.places.contains("training.precision"));
  refuse_not_modelled(map);
  map.finish();
  note_devices(d);
  note_positions(d);
  std::stable_sort(d.faults.begin(), d.faults.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.at.file, a.at.line) < std::tie(b.at.file, b.at.line);
  });
  if (!d.faults.empty()) throw InputError(std::move(d.faults));
  return std::move(d.reading);
}

}  // namespace

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

JobReading read_job(const std::filesystem::path& path, const Catalog& catalog, const Files& files) {
  return job_from(parse_document(files.text(path), path.string()), path, catalog, files);
}

JobReading job_from(Node root, const std::filesystem::path& path, const Catalog& catalog, const Files& files,
                    const std::string& target) {
  return read({path, catalog, files, std::move(root), target, {}, {}});
}

}  // namespace trnplan::io
