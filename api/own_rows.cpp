#include "api/own_rows.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/judged_row.h"
#include "io/input/framework_names.h"
#include "io/input/measured_network.h"
#include "io/input/readers.h"
#include "io/input/strategy_text.h"
#include "models/framework/framework.h"
#include "targets/registry.h"
#include "text/document.h"
#include "text/parse.h"

namespace trnplan::api {

using calibrate::OwnJob;
using calibrate::ScoredRow;
using logs::LayoutRun;

namespace {

const SourcePos kOptions{io::kCommandLine, 0, 0};

/// The training loop of that name, unless it names a stack; "" for others.
std::string_view loop_named(const std::string& name) {
  if (targets::find(name) != nullptr) return "";
  const std::vector<std::string_view> all = models::framework_names();
  const auto it = std::find(all.begin(), all.end(), name);
  return it == all.end() ? "" : *it;
}

void check_framework(const std::string& name, const SourcePos& at, const char* key) {
  if (!name.empty() && targets::find(name) == nullptr && loop_named(name).empty())
    throw InputError({at, key, "unknown framework " + in_quotes(name), io::stack_fix(name)});
}

void check_release(const std::string& name, const SourcePos& at, const char* key) {
  if (!name.empty() && !is_version(name))
    throw InputError({at, key, in_quotes(name) + " is not a release", "write it like 2.22"});
}

}  // namespace

struct OwnRows::Entry {
  explicit Entry(ResolvedJob resolved) : job(std::move(resolved)) {}

  ResolvedJob job;
  Predictor predictor{job};
  bool assumed = false;  ///< nothing states the stack

  /// A sharding that the usual stack lacks belongs to another that trains on the machine. Throws InputError.
  [[nodiscard]] models::Strategy strategy(const std::string& grammar) const {
    try {
      return io::parse_strategy(grammar, job.job());
    } catch (const InputError&) {
      if (!assumed) throw;
      for (const StackRef& stack : job.stacks(job.job())) {
        try {
          return io::parse_strategy(grammar, stack->job);
        } catch (const InputError&) {
          continue;
        }
      }
      throw;
    }
  }
};

OwnRows::OwnRows(const ScoreRequest& request, const io::Catalog& catalog, const calibrate::LayoutRules& rules,
                 Remarks& remarks)
    : request_(request),
      catalog_(catalog),
      rules_(rules),
      remarks_(remarks),
      spreads_(io::network_spreads_from(*catalog.document("measuring.json"))) {
  const io::JobOptions& o = request.job.options;
  check_framework(request.framework, kOptions, "--framework");
  check_release(o.release, kOptions, "--release");
  stated_.framework = request.framework;
  stated_.release = o.release;
  stated_.instance = o.instance;
  if (!request.job.job.empty()) {
    base_ = load_job(request.job, catalog, remarks);
    settle(base_->job, remarks);
    if (!o.instance.empty()) stated_.instance = base_->job.cluster.instance.name;
    stated_.job = base_->job;
    return;
  }
  for (const auto& [option, text] :
       {std::pair("--nodes", o.nodes), std::pair("--sequence", o.sequence),
        std::pair("--global-batch", o.global_batch), std::pair("--precision", o.precision)}) {
    if (!text.empty())
      throw InputError({kOptions, option, "there is no job whose value it would replace",
                        "add --job, or a column to the table"});
  }
  if (!o.instance.empty()) (void)load_instance(catalog, o.instance);
}

OwnRows::~OwnRows() = default;

logs::StatedBeside OwnRows::stated() const {
  return {stated_.job.has_value(), !stated_.instance.empty()};
}

bool OwnRows::takes(const LayoutRun& run) const {
  return calibrate::is_own(run, rules_, stated_);
}

OwnRows::Entry& OwnRows::resolved(const OwnJob& own, const std::string& loop) {
  const std::string all_reduce =
      own.job.all_reduce ? fmt::format("{}", own.job.all_reduce->bus.value) : std::string();
  const std::string key =
      key_of(own.job, fmt::format("{}|{}|{}|{}|{}", own.job.architecture.name, own.job.software.framework,
                                  own.job.software.release, loop, all_reduce));
  std::unique_ptr<Entry>& entry = entries_[key];
  if (entry) return *entry;
  io::JobReading reading = base_ ? *base_ : io::JobReading();
  reading.job = own.job;
  if (!loop.empty()) {
    reading.job.pin.framework = loop_named(loop);
    reading.places["pin.framework"] = {};
  } else if (!own.framework.empty()) {
    reading.job.pin.framework.reset();
    reading.places.erase("pin.framework");
  }
  targets::take_defaults(reading.job, targets::of(reading.job),
                         reading.places.contains("training.precision"));
  Remarks remarks;
  const Asked asked{request_.job, "", request_.profile};
  entry = std::make_unique<Entry>(
      ResolvedJob(catalog_, std::move(reading), asked, {.one_strategy = true}, remarks));
  entry->assumed = !entry->job.stacks(entry->job.job()).front()->stack.stated;
  for (const Remark& r : remarks.all()) {
    const auto* text = std::get_if<std::string>(&r);
    if (text != nullptr && (text->ends_with("[stack]") || !said_.insert(*text).second)) continue;
    remarks_.add(r);
  }
  return *entry;
}

void OwnRows::predict(OwnJob own, const LayoutRun& run, ScoredRow& row) {
  check_framework(own.framework, run.at, "framework");
  check_release(own.job.software.release, run.at, "release");
  const std::string loop(loop_named(own.framework));
  if (!own.framework.empty()) own.job.software.framework = loop.empty() ? own.framework : "";
  if (run.all_reduce && request_.network_state && own.job.cluster.nodes > 1)
    own.job.all_reduce = io::large_all_reduce(own.job.cluster, BytesPerSecond(*run.all_reduce), spreads_);
  Entry& entry = resolved(own, loop);
  const models::Job& job = entry.job.job();
  const models::Strategy strategy = entry.strategy(own.strategy);
  const Prediction p = entry.predictor.predict(job, strategy);
  // A strategy may state the framework itself.
  if (entry.assumed && own.strategy.find("framework=") == std::string::npos)
    ++assumed_[std::string(name_of(p.stack->stack))];
  row.strategy = strategy;
  row.nodes = p.job.cluster.nodes;
  used_.insert(p.stack->profile->name);
  take(p.judgement, row, *p.stack->profile, own.memory);
}

void OwnRows::predict(const LayoutRun& run, ScoredRow& row) {
  try {
    OwnJob own =
        calibrate::own_job(run, rules_, stated_,
                           {[&](const std::string& name) { return catalog_.instance(name); },
                            [&](const std::string& name) {
                              return catalog_.architecture(io::known_model(name, catalog_).value_or(name));
                            }});
    row.skipped = own.refused;
    if (!own.refused.empty()) return;
    if (row.measured_memory) *row.measured_memory *= own.memory.scale;
    row.group =
        fmt::format("{}, {} x {}, sequence {}, batch {}", own.job.architecture.name, own.job.cluster.nodes,
                    own.job.cluster.instance.name, own.job.training.sequence, own.job.training.global_batch);
    if (row.source.empty()) row.source = own.framework;
    predict(std::move(own), run, row);
  } catch (const InputError& e) {
    const std::string& fix = e.faults().front().fix;
    row.skipped = problem_of(e) + (fix.empty() ? "" : " (fix: " + fix + ")");
  } catch (const std::invalid_argument& e) {
    row.skipped = e.what();
  } catch (const std::overflow_error& e) {
    row.skipped = e.what();
  }
}

void OwnRows::remark_assumptions() {
  for (const auto& [stack, rows] : assumed_)
    remarks_.add(fmt::format("{} no framework: predicted as {} runs {}; a column framework, or --framework, "
                             "states it",
                             rows == 1 ? "1 row states" : fmt::format("{} rows state", rows), stack,
                             rows == 1 ? "it" : "them"),
                 "stack");
}

}  // namespace trnplan::api
