#include "logs/training/results_json.h"

#include <algorithm>

namespace trnplan::logs {

namespace {

struct Metric {
  std::string name;
  std::optional<double> value, step;
};

Metric read_metric(JsonReader& json) {
  Metric metric;
  json.object([&](std::string_view key) {
    if (key == "MetricName") metric.name = json.text(80);
    if (key == "MeasuredValue") metric.value = json.number();
    if (key == "AdditionalData") {
      json.object([&](std::string_view entry) {
        if (entry == "Global step") metric.step = json.number();
      });
    }
  });
  return metric;
}

}  // namespace

void read_results(JsonReader& json, const std::string& name, Samples& out) {
  StepSample s;
  s.at = {name, json.line(), 1};
  std::optional<double> minutes, steps;
  json.object([&](std::string_view key) {
    if (key != "metrics") return;
    json.array([&] {
      const Metric metric = read_metric(json);
      if (metric.step) steps = std::max(steps.value_or(0), *metric.step);
      if (metric.name == "Time to train") minutes = metric.value;
      if (metric.name == "Average throughput" && metric.value && *metric.value > 0 && *metric.value < 1e9) {
        s.sequences_per_second = metric.value;
      }
    });
  });
  s.last_line = json.line();
  if (!minutes || !(*minutes > 1e-6) || *minutes > 1e7 || !steps || !(*steps >= 1) || *steps > 1e9) {
    out.warnings.add(s.at, "results", "without Time to train and Global step there is no step time",
                     "give the progress bar or the event file of the run as well");
    return;
  }
  s.format = "results.json";
  s.basis = "Time to train over Global step: warm-up included";
  s.framework = "nxd";
  s.seconds = *minutes * 60 / *steps;
  s.count = static_cast<int>(*steps);
  out.steps.push_back(std::move(s));
}

}  // namespace trnplan::logs
