#include "io/trace/perfetto.h"

#include <cmath>

#include "io/trace/protobuf.h"
#include "io/trace/trace_events.h"

namespace trnplan::io {

namespace {

using models::Timeline;

constexpr int kPacket = 1;                                                    // Trace
constexpr int kTimestamp = 8, kSequence = 10, kEvent = 11, kDescriptor = 60;  // TracePacket
constexpr int kUuid = 1, kTrackName = 2, kProcess = 3, kParent = 5, kCounter = 8, kChildOrdering = 11,
              kSiblingRank = 12;           // TrackDescriptor
constexpr int kPid = 1, kProcessName = 6;  // ProcessDescriptor
constexpr int kUnit = 3, kUnitName = 6;    // CounterDescriptor
constexpr int kAnnotations = 4, kType = 9, kTrack = 11, kCategories = 22, kName = 23, kWholeValue = 30,
              kRealValue = 44, kFlows = 47, kEndingFlows = 48;  // TrackEvent
constexpr int kAnnotationInt = 4, kAnnotationName = 10;         // DebugAnnotation
constexpr int kBegin = 1, kEnd = 2, kSample = 4;                // TrackEvent.Type
constexpr int kExplicit = 3, kBytesUnit = 3;

class PerfettoWriter {
 public:
  explicit PerfettoWriter(const Timeline& timeline) : t_(timeline) {}

  std::string run() {
    describe_tracks();
    for (const TraceEvent& e : trace_events(t_)) {
      ProtoMessage event;
      if (e.kind == TraceEvent::Kind::sample) {
        sample(event, t_.samples[e.index]);
      } else {
        slice(event, t_.slices[e.index], e.kind == TraceEvent::Kind::begin);
      }
      packet(ProtoMessage()
                 .number(kTimestamp, static_cast<std::uint64_t>(nanoseconds(e.at)))
                 .number(kSequence, 1)
                 .message(kEvent, event));
    }
    return std::move(out_);
  }

 private:
  void packet(const ProtoMessage& p) { out_ += ProtoMessage().message(kPacket, p).bytes(); }

  std::uint64_t uuid(std::size_t track) const { return first_track_ + track; }

  static std::uint64_t process_of(std::size_t lane) { return lane + 1; }

  void describe_tracks() {
    for (std::size_t i = 0; i < t_.lanes.size(); ++i) {
      const std::uint64_t process = process_of(i);  // 0 is the idle process
      packet(ProtoMessage().message(
          kDescriptor,
          ProtoMessage()
              .number(kUuid, process)
              .message(kProcess,
                       ProtoMessage().number(kPid, process).text(kProcessName, t_.name_of(t_.lanes[i])))
              .number(kChildOrdering, kExplicit)));
    }
    first_track_ = process_of(t_.lanes.size());
    for (std::size_t i = 0; i < t_.tracks.size(); ++i) {
      const Timeline::Track& t = t_.tracks[i];
      ProtoMessage d;
      d.number(kUuid, uuid(i)).number(kParent, process_of(static_cast<std::size_t>(t.lane)));
      if (t.counter) {
        ProtoMessage counter;
        if (is_bytes(t)) {
          counter.number(kUnit, kBytesUnit);
        } else {
          counter.text(kUnitName, "of its rate");
        }
        d.message(kCounter, counter);
      }
      d.text(kTrackName, t.name);
      if (i > 0) d.number(kSiblingRank, i);
      packet(ProtoMessage().message(kDescriptor, d));
    }
  }

  static bool is_bytes(const Timeline::Track& t) { return t.unit == "bytes"; }

  void slice(ProtoMessage& event, const Timeline::Slice& s, bool begins) const {
    if (begins) {
      annotate(event, "micro_batch", s.micro_batch);
      annotate(event, "chunk", s.chunk);
    }
    event.number(kType, begins ? kBegin : kEnd).number(kTrack, uuid(s.track));
    if (!begins) return;
    if (!s.category.empty()) event.text(kCategories, s.category);
    event.text(kName, s.name);
    if (s.flow != 0) event.fixed64(s.receives ? kEndingFlows : kFlows, s.flow);
  }

  /// Adds an annotation; nothing for -1.
  static void annotate(ProtoMessage& event, std::string_view name, int value) {
    if (value < 0) return;
    event.message(
        kAnnotations,
        ProtoMessage().number(kAnnotationInt, static_cast<std::uint64_t>(value)).text(kAnnotationName, name));
  }

  void sample(ProtoMessage& event, const Timeline::Sample& s) const {
    event.number(kType, kSample).number(kTrack, uuid(s.track));
    if (is_bytes(t_.tracks[s.track])) {
      event.number(kWholeValue, static_cast<std::uint64_t>(std::llround(s.value)));
    } else {
      event.real(kRealValue, s.value);
    }
  }

  const Timeline& t_;
  std::string out_;
  std::uint64_t first_track_ = 1;
};

}  // namespace

std::string perfetto_trace(const Timeline& timeline) {
  return PerfettoWriter(timeline).run();
}

}  // namespace trnplan::io
