#include "logs/detect/json_kind.h"

#include <string_view>
#include <utility>

namespace trnplan::logs {

namespace {

class JsonKindReader {
 public:
  static JsonKind of(JsonReader& json) {
    JsonKindReader reader(json);
    if (json.peek() == JsonReader::Kind::array) {
      json.array([&] { reader.read_element(); });
    } else {
      json.object([&](std::string_view key) { reader.read_entry(key); });
    }
    return reader.found_;
  }

 private:
  explicit JsonKindReader(JsonReader& json) : json_(json) {}

  void note(JsonKind kind) {
    if (found_ == JsonKind::none) found_ = kind;
    json_.stop();
  }

  void read_element() {
    if (found_ != JsonKind::none || json_.peek() != JsonReader::Kind::object) return;
    json_.object([&](std::string_view key) {
      if (key == "size(B)") note(JsonKind::nccom);
      if (key == "ph") note(JsonKind::kineto);
    });
  }

  void read_collective() {
    json_.object([&](std::string_view key) {
      if (key == "profiling_name") note(JsonKind::flight);
    });
  }

  void read_entry(std::string_view key) {
    static constexpr std::pair<std::string_view, JsonKind> kKeys[] = {
        {"neuron_runtime_data", JsonKind::monitor},
        {"traceEvents", JsonKind::kineto},
        {"trace_events", JsonKind::system},
        {"pg_config", JsonKind::flight},
        {"summary", JsonKind::device},
        {"instruction", JsonKind::device},
        {"cc_ops", JsonKind::device},
        {"train_steps_per_second", JsonKind::trainer},
        {"train_runtime", JsonKind::trainer},
        {"total_time", JsonKind::summary}};
    for (const auto& [name, kind] : kKeys) {
      if (key == name) note(kind);
    }
    if (found_ != JsonKind::none) return;
    if (key == "entries" && json_.peek() == JsonReader::Kind::array) {  // of a dump, before its groups
      json_.array([&] { read_collective(); });
    } else if (key == "results") {
      if (json_.peek() == JsonReader::Kind::array) note(JsonKind::nccom);
      if (json_.peek() == JsonReader::Kind::object) note(JsonKind::results);
    } else if (json_.peek() == JsonReader::Kind::object) {
      json_.object([&](std::string_view inner) {
        if (inner == "total_time") note(JsonKind::summary);
      });
    }
  }

  JsonReader& json_;
  JsonKind found_ = JsonKind::none;
};

}  // namespace

JsonKind json_kind_of(JsonReader& json) {
  return JsonKindReader::of(json);
}

}  // namespace trnplan::logs
