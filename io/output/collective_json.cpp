#include "io/output/collective_json.h"

#include <array>

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

using models::CollectiveRun;
using models::CollectiveTiming;
using models::SecondsRange;
using models::TimedCollective;
using topology::GroupVerdict;

namespace {

/// The values that are the same for all sizes.
struct CollectiveSetting {
  const topology::Cluster* cluster;
  const models::Profile* profile;
};

struct ShownCollective {
  CollectiveSetting on;
  const TimedCollective* timed;
};
struct ShownSize {
  ShownCollective of;
};
struct ShownSweep {
  CollectiveSetting on;
  const std::vector<TimedCollective>* all;
};

struct ShownVerdict {
  const GroupVerdict* of;
};

template <class T, class Get>
auto on_cluster(Get get) {
  return path(&T::on, path(&CollectiveSetting::cluster, get));
}
template <class T>
auto instance_of() {
  return on_cluster<T>(path(&topology::Cluster::instance, &topology::Instance::name));
}
/// Key for the numbers that --set changed.
template <class T>
typename Record<T>::Field changes_of() {
  return {
      "changed_hardware",
      [get = on_cluster<T>(path(&topology::Cluster::instance, &topology::Instance::changes))](const T& t) {
        const std::vector<std::string> all = std::invoke(get, t);
        return all.empty() ? std::nullopt : std::optional(all);
      },
      "numbers of the instance type that `--set` changed, as written", Absent::left_out};
}
template <class T>
auto profile_of() {
  return path(&T::on, path(&CollectiveSetting::profile, &models::Profile::name));
}

template <class Get>
auto of_run(Get get) {
  return path(&ShownCollective::timed, path(&TimedCollective::run, get));
}
template <class Get>
auto of_timing(Get get) {
  return path(&ShownCollective::timed, path(&TimedCollective::timing, get));
}

std::optional<double> seconds_of(Seconds s) {
  return finite(s.value);
}
std::array<std::optional<double>, 2> interval_of(const SecondsRange& r) {
  return {seconds_of(r.low), seconds_of(r.high)};
}

/// Rate in GB/s; absent if there is no time.
std::optional<double> gbps(double rate, const CollectiveTiming& t) {
  return seconds_of(t.nccom_seconds) ? std::optional(rate / 1e9) : std::nullopt;
}

const ShownCollective& collective_of(const ShownSize& s) {
  return s.of;
}

}  // namespace

template <>
const Record<ShownVerdict>& record() {
  const auto verdict = [](auto get) { return path(&ShownVerdict::of, get); };
  static const Record<ShownVerdict> described(
      "Verdict", "Whether the runtime accepts a group.",
      {{"verdict", verdict(&GroupVerdict::verdict), "`supported`, `doubtful` or `refused`"},
       {"rule", verdict(&GroupVerdict::rule)},
       {"message", verdict(&GroupVerdict::message)},
       {"evidence", verdict(&GroupVerdict::source)}});
  return described;
}

template <>
const Record<CollectiveTiming::Part>& record() {
  using Part = CollectiveTiming::Part;
  static const Record<Part> described(
      "Phase", "A phase of a collective.",
      {{"steps", &Part::steps},
       {"latency_seconds", &Part::latency},
       {"transfer_seconds", path(&Part::transfer, &seconds_of)},
       {"limit", &Part::limit,
        "the busiest resource, the first if several are equal: `link A>B` between chips, `memory of core C`, "
        "`nic N out` or `in`, `spine out` or `in`; `\"\"` if no bytes move"}});
  return described;
}

template <>
const Record<ShownCollective>& record() {
  using C = ShownCollective;
  static const Record<C> described(
      "Collective", "One collective; times and rates are `null` if there is no path for its bytes.",
      {{"op", of_run(&CollectiveRun::op),
        "`all_gather`, `reduce_scatter`, `all_reduce`, `all_to_all`, `permute` or `send_recv`, also when "
        "nccom-test's short name was given"},
       {"ranks", of_run(&CollectiveRun::ranks),
        "on all nodes together, the same number on each, the lowest cores first"},
       {"bytes", of_run([](const CollectiveRun& r) { return static_cast<std::int64_t>(r.bytes.value); }),
        "as nccom-test counts: the bytes with which each rank of an all-gather ends and each rank of the "
        "others starts. Whole elements of `--datatype`: other sizes are cut, but to at least one element"},
       {"algorithm", of_timing(&CollectiveTiming::algorithm),
        "as timed; `none` for one rank. It differs from `--algorithm` if that one cannot run on the group"},
       {"seconds", of_timing(path(&CollectiveTiming::seconds, &seconds_of)),
        "inside a compiled graph: `alpha_seconds` and the latency and transfer of all `phases`"},
       {"seconds_90", of_timing(path(&CollectiveTiming::seconds_90, &interval_of)),
        "the 90 % interval, by the spreads of the profile's parameters "
        "([models.md](models.md#collectives))"},
       {"nccom_seconds", of_timing(path(&CollectiveTiming::nccom_seconds, &seconds_of)),
        "what nccom-test would print: `seconds`, `host_launch_seconds` and, over several nodes, "
        "`barrier_seconds`"},
       {"nccom_seconds_90", of_timing(path(&CollectiveTiming::nccom_seconds_90, &interval_of)), "likewise"},
       {"busbw_gbps", of_timing([](const CollectiveTiming& t) { return gbps(t.busbw, t); }),
        "`algbw_gbps` times 2 (N-1)/N (all-reduce), (N-1)/N (all-gather, reduce-scatter, all-to-all) or 1"},
       {"algbw_gbps", of_timing([](const CollectiveTiming& t) { return gbps(t.algbw, t); }),
        "10^9 bytes/s: `bytes` over `nccom_seconds`; 0 for one rank or no bytes"},
       {"nodes", on_cluster<C>(&topology::Cluster::nodes)},
       {"instance", instance_of<C>()},
       changes_of<C>(),
       {"oversubscription", on_cluster<C>(&topology::Cluster::oversubscription)},
       {"profile", profile_of<C>()},
       {"verdict", of_timing([](const CollectiveTiming& t) { return ShownVerdict{&t.verdict}; }),
        "on the group of all ranks. A refused group is timed all the same (exit 3)"},
       {"alpha_seconds", of_timing(&CollectiveTiming::alpha)},
       {"phases", of_timing(&CollectiveTiming::parts), "one after the other"},
       {"host_launch_seconds", of_timing(&CollectiveTiming::host_launch)},
       {"barrier_seconds", of_timing(&CollectiveTiming::barrier)}});
  return described;
}

template <>
const Record<ShownSize>& record() {
  static const Record<ShownSize> described("CollectiveResult", "One size.", &collective_of, {});
  return described;
}

template <>
const Record<ShownSweep>& record() {
  using S = ShownSweep;
  const auto first = [](auto get) { return [get](const S& s) { return std::invoke(get, s.all->front()); }; };
  static const Record<S> described(
      "CollectiveSweep", "Many sizes of one collective.",
      {{"op", first(path(&TimedCollective::run, &CollectiveRun::op))},
       {"ranks", first(path(&TimedCollective::run, &CollectiveRun::ranks))},
       {"nodes", on_cluster<S>(&topology::Cluster::nodes)},
       {"instance", instance_of<S>()},
       changes_of<S>(),
       {"oversubscription", on_cluster<S>(&topology::Cluster::oversubscription)},
       {"profile", profile_of<S>()},
       {"verdict", first([](const TimedCollective& c) { return ShownVerdict{&c.timing.verdict}; })},
       {"results",
        [](const S& s) {
          std::vector<ShownCollective> all;
          for (const TimedCollective& c : *s.all) all.push_back({s.on, &c});
          return all;
        },
        "ascending"}});
  return described;
}

std::string collective_json(const topology::Cluster& cluster, const models::Profile& profile,
                            const TimedCollective& timed) {
  return document_of(ShownSize{{{&cluster, &profile}, &timed}});
}

std::string collective_sweep_json(const topology::Cluster& cluster, const models::Profile& profile,
                                  const std::vector<TimedCollective>& all) {
  return document_of(ShownSweep{{&cluster, &profile}, &all});
}

const Description& collective_document() {
  return record<ShownSize>().description();
}

const Description& sweep_document() {
  return record<ShownSweep>().description();
}

}  // namespace trnplan::io
