#include "io/trace/chrome_trace.h"

#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

#include "io/trace/trace_events.h"

namespace trnplan::io {

namespace {

using models::Timeline;

class ChromeWriter {
 public:
  explicit ChromeWriter(const Timeline& timeline) : t_(timeline) {}

  std::string run() {
    out_ = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    describe_tracks();
    for (const TraceEvent& e : trace_events(t_)) {
      if (e.kind == TraceEvent::Kind::sample) {
        sample(t_.samples[e.index]);
      } else {
        slice(t_.slices[e.index], e.kind == TraceEvent::Kind::begin);
      }
    }
    return std::move(out_) + "\n]}\n";
  }

 private:
  template <class... Arguments>
  void event(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(out_), form, std::forward<Arguments>(arguments)...);
  }

  static std::string quoted(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }

  /// Microseconds, exact.
  static std::string micro(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  std::string place(std::size_t track) const {
    return fmt::format("\"pid\": {}, \"tid\": {}", t_.tracks[track].lane, track);
  }

  void describe_tracks() {
    int described = -1;
    for (std::size_t i = 0; i < t_.tracks.size(); ++i) {
      const Timeline::Track& t = t_.tracks[i];
      if (t.lane > described) {
        described = t.lane;
        event(R"({{"ph": "M", "name": "process_name", "pid": {}, "args": {{"name": {}}}}})", t.lane,
              quoted(t_.name_of(t_.lanes[static_cast<std::size_t>(t.lane)])));
        event(R"({{"ph": "M", "name": "process_sort_index", "pid": {}, "args": {{"sort_index": {}}}}})",
              t.lane, t.lane);
      }
      if (t.counter) continue;  // named by its events
      event(R"({{"ph": "M", "name": "thread_name", {}, "args": {{"name": {}}}}})", place(i), quoted(t.name));
      event(R"({{"ph": "M", "name": "thread_sort_index", {}, "args": {{"sort_index": {}}}}})", place(i), i);
    }
  }

  void slice(const Timeline::Slice& s, bool begins) {
    const std::int64_t start = nanoseconds(s.start), end = nanoseconds(s.end);
    if (!begins) {
      if (s.flow != 0) event(R"({{"ph": "E", "ts": {}, {}}})", micro(end), place(s.track));
      return;
    }
    const std::string what = fmt::format(R"("ts": {}, {}, "name": {}, "cat": {})", micro(start),
                                         place(s.track), quoted(s.name), quoted(s.category));
    std::string more;
    if (s.micro_batch >= 0) more += fmt::format(R"(, "args": {{"micro_batch": {})", s.micro_batch);
    if (s.chunk >= 0)
      more += fmt::format(R"({}"chunk": {})", more.empty() ? R"(, "args": {)" : ", ", s.chunk);
    if (!more.empty()) more += "}";
    if (s.flow == 0) {
      event(R"({{"ph": "X", "dur": {}, {}{}}})", micro(end - start), what, more);
      return;
    }
    event(R"({{"ph": "B", {}{}}})", what, more);
    event(R"({{"ph": {}, "ts": {}, {}, "name": "message", "cat": {}, "id": {}}})",
          s.receives ? R"("f", "bp": "e")" : R"("s")", micro(start), place(s.track), quoted(s.category),
          s.flow);
  }

  void sample(const Timeline::Sample& s) {
    const Timeline::Track& t = t_.tracks[s.track];
    event(R"({{"ph": "C", "ts": {}, "pid": {}, "name": {}, "args": {{{}: {}}}}})", micro(nanoseconds(s.at)),
          t.lane, quoted(t.name), quoted(t.unit == "bytes" ? "bytes" : "share"),
          nlohmann::json(s.value).dump());
  }

  const Timeline& t_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string chrome_trace(const Timeline& timeline) {
  return ChromeWriter(timeline).run();
}

}  // namespace trnplan::io
