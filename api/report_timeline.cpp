// Step of a plan, as drawn on a page.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "api/report_parts.h"
#include "api/simulate.h"
#include "models/step/timeline.h"
#include "topology/chip_graph.h"

namespace trnplan::api {

using io::JsonValue;

namespace {

/// Most slices of the timeline for the categories of operators; a page draws kSlicesInReport of them.
constexpr std::size_t kSlicesAskedFor = 60'000;

/// True for each slice that lies inside another of its track.
std::vector<bool> nested(const std::vector<models::Timeline::Slice>& slices) {
  std::map<std::uint32_t, SimTime> open;  // end of the last outer slice of a track
  std::vector<bool> inside;
  for (const models::Timeline::Slice& s : slices) {
    SimTime& end = open[s.track];
    inside.push_back(s.start < end && s.end <= end);
    if (!inside.back()) end = s.end;
  }
  return inside;
}

/// Slices of a page, by micro-batch: first passes and the end of the step, then messages, then operators, as
/// many as the page draws. Also the number of micro-batches with all of theirs.
struct Chosen {
  std::vector<bool> kept;
  std::size_t left_out = 0;
  int listed = 0, sent = 0, detailed = 0;  ///< passes, messages, operators
};
/// True for slices of a micro-batch that are no passes: sends, their waits and their launches.
bool is_message(const models::Timeline::Slice& s) {
  return s.micro_batch >= 0 && s.category != models::to_string(models::Category::compute);
}
Chosen chosen_slices(const models::Timeline& t) {
  const std::vector<bool> inside = nested(t.slices);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < t.slices.size(); ++i) {
    if (!t.tracks[t.slices[i].track].counter) order.push_back(i);
  }
  const auto rank = [&](std::size_t i) {
    return std::tuple(static_cast<bool>(inside[i]), is_message(t.slices[i]), t.slices[i].micro_batch);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  Chosen out{std::vector<bool>(t.slices.size(), false), 0, t.listed_micro_batches, t.listed_micro_batches,
             t.detailed_micro_batches};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const models::Timeline::Slice& s = t.slices[order[i]];
    if (i < kSlicesInReport) {
      out.kept[order[i]] = true;
      continue;
    }
    ++out.left_out;
    int& complete = inside[order[i]] ? out.detailed : is_message(s) ? out.sent : out.listed;
    if (s.micro_batch >= 0) complete = std::min(complete, s.micro_batch);
  }
  return out;
}

/// Slices as lists of numbers; each name and category is listed once.
JsonValue slices_part(const models::Timeline& t) {
  std::map<std::pair<std::string_view, std::string_view>, int> places;
  JsonValue names = JsonValue::List(), slices = JsonValue::List();
  const Chosen chosen = chosen_slices(t);
  for (std::size_t i = 0; i < t.slices.size(); ++i) {
    if (!chosen.kept[i]) continue;
    const models::Timeline::Slice& s = t.slices[i];
    const auto [place, fresh] = places.try_emplace({s.name, s.category}, static_cast<int>(places.size()));
    if (fresh) names.add(JsonValue::List{s.name, s.category});
    const std::int64_t start = s.start.ps / 1'000'000, end = s.end.ps / 1'000'000;
    slices.add(JsonValue::List{s.track, start, end - start, place->second, s.micro_batch, s.chunk});
  }
  JsonValue tracks = JsonValue::List();
  for (const models::Timeline::Track& track : t.tracks) {
    if (track.counter) {
      tracks.add(JsonValue());
      continue;
    }
    const models::Timeline::Lane& lane = t.lanes[static_cast<std::size_t>(track.lane)];
    tracks.add(JsonValue::object({{"stage", lane.stage},
                                  {"core", t.lanes_of_stage > 1 ? JsonValue(lane.core) : JsonValue()},
                                  {"cores", t.name_of(lane)},
                                  {"name", track.name}}));
  }
  return JsonValue::object({{"end_microseconds", t.end.ps / 1'000'000},
                            {"tracks", std::move(tracks)},
                            {"names", std::move(names)},
                            {"slices", std::move(slices)},
                            {"micro_batches", t.micro_batches},
                            {"listed_micro_batches", chosen.listed},
                            {"told_micro_batches", chosen.sent},
                            {"detailed_micro_batches", chosen.detailed},
                            {"kinds", t.lanes_of_stage},
                            {"kinds_drawn", t.drawn_of_stage()},
                            {"left_out", chosen.left_out}});
}

/// Operators along the critical path, each with the category of most of its slices.
JsonValue operators_part(const models::StepReport& report, const models::Timeline* t) {
  std::map<std::string_view, std::map<std::string_view, std::int64_t>> times;
  if (t != nullptr) {
    for (const models::Timeline::Slice& s : t->slices) times[s.name][s.category] += (s.end - s.start).ps;
  }
  JsonValue all = JsonValue::List();
  for (const auto& [name, seconds] : report.by_operator) {
    JsonValue category;
    if (const auto found = times.find(name); found != times.end()) {
      const auto most = std::max_element(found->second.begin(), found->second.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      category = most->first;
    }
    all.add(JsonValue::List{name, seconds.value, category});
  }
  return all;
}

}  // namespace

JsonValue timeline_part(const models::Job& planned, const models::Strategy& s, const models::Profile& profile,
                        const models::StepReport& report, const ScenarioStep* scenario) {
  models::TimelineOptions options = scenario == nullptr ? models::TimelineOptions() : scenario->drawn();
  options.most_slices = kSlicesAskedFor;
  try {
    const models::StepModel model(planned, s, profile, topology::ChipGraph(planned.cluster.instance));
    const models::Timeline t = models::timeline(model, planned, s, profile, options);
    return JsonValue::object(
        {{"operators", operators_part(report, &t)},
         {"timeline", slices_part(t)},
         {"scenario", scenario == nullptr ? JsonValue() : JsonValue(scenario->scenario)},
         {"of_runs",
          scenario == nullptr || !scenario->runs ? JsonValue() : JsonValue(scenario->runs->runs)}});
  } catch (const std::overflow_error&) {  // without a rhythm it has too many passes to draw each
    return JsonValue::object({{"operators", operators_part(report, nullptr)},
                              {"timeline", JsonValue()},
                              {"scenario", JsonValue()}});
  }
}

}  // namespace trnplan::api
