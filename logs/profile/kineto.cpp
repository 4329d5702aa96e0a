#include "logs/profile/kineto.h"

#include <algorithm>
#include <vector>

#include "logs/nccom/collective_groups.h"
#include "logs/training/step_log.h"
#include "text/log_lines.h"

namespace trnplan::logs {

namespace {

constexpr double kMicro = 1e-6;
constexpr std::size_t kSteps = 1'000'000;

struct Event {
  std::string name, category;
  std::optional<double> microseconds;
  TimedOperation operation;
  double elements = 0;
};

class TraceReader {
 public:
  TraceReader(JsonReader& json, const std::string& name, Samples& out)
      : json_(json), name_(name), out_(out) {}

  void read() {
    const SourcePos at{name_, json_.line(), 1};
    if (json_.peek() == JsonReader::Kind::array) {
      json_.array([&] { read_event(); });
    } else {
      json_.object([&](std::string_view key) {
        if (key == "traceEvents") json_.array([&] { read_event(); });
        if (key == "deviceProperties") json_.array([&] { read_device(); });
      });
    }
    finish(at);
  }

 private:
  void read_device() {
    json_.object([&](std::string_view key) {
      if (key == "name" && device_.empty()) device_ = printable(json_.text(80), 80);
    });
  }

  void read_arguments(Event& event) {
    json_.object([&](std::string_view key) {
      if (key == "Collective name") {
        event.operation.op = json_.text(80);
      } else if (key == "dtype") {
        event.operation.type = json_.text(40);
      } else if (key == "In msg nelems" || key == "Out msg nelems") {
        event.elements = std::max(event.elements, json_.number().value_or(0));
      } else if (key == "Group size") {
        event.operation.ranks = static_cast<int>(std::clamp(json_.number().value_or(0), 0.0, 1e9));
      }
    });
  }

  void read_event() {
    Event event;
    const int line = json_.line();
    json_.object([&](std::string_view key) {
      if (key == "name") {
        event.name = json_.text(80);
      } else if (key == "cat") {
        event.category = json_.text(40);
      } else if (key == "dur") {
        event.microseconds = json_.number();
      } else if (key == "args") {
        read_arguments(event);
      }
    });
    if (!event.microseconds) return;
    constexpr std::string_view kStep = "ProfilerStep#";
    if (event.category == "user_annotation" && event.name.starts_with(kStep)) {
      const auto step = whole_number_of(std::string_view(event.name).substr(kStep.size()));
      if (step && steps_.size() < kSteps) steps_.push_back({*step, *event.microseconds * kMicro, line});
      return;
    }
    TimedOperation& o = event.operation;
    // Waits and barriers move no bytes.
    if (o.op.empty() || o.op == "wait" || o.op == "barrier") return;
    o.bytes = event.elements * torch_scalar_bytes(o.type);
    o.seconds = *event.microseconds * kMicro;
    if (event.category == "cpu_op") {
      on_host_ += host_.add(o, {name_, line, 1});
    } else {
      on_device_ += device_groups_.add(o, {name_, line, 1});
    }
  }

  void finish(const SourcePos& at) {
    if (on_device_ > 0) {
      device_groups_.finish(out_);
    } else if (on_host_ > 0) {
      host_.finish(out_);
      out_.warnings.add(at, "",
                        "collectives on the host only: their durations are those of launches, not transfers",
                        "record device activities as well");
    }
    out_.made_on = device_;
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.number < b.number; });
    StepLog log({"Kineto trace", "ProfilerStep annotations"}, name_);
    for (const Step& step : steps_) {
      StepRecord record;
      record.step = step.number;
      record.seconds = step.seconds;
      record.line = step.line;
      log.add(record, out_);
    }
    log.finish("", std::nullopt, out_);
  }

  struct Step {
    std::int64_t number;
    double seconds;
    int line;
  };
  JsonReader& json_;
  const std::string& name_;
  Samples& out_;
  std::string device_;
  CollectiveGroups host_, device_groups_;
  int on_host_ = 0, on_device_ = 0;
  std::vector<Step> steps_;
};

}  // namespace

void read_kineto(JsonReader& json, const std::string& name, Samples& out) {
  TraceReader(json, name, out).read();
}

}  // namespace trnplan::logs
