#include "logs/training/event_file.h"

#include <bit>

#include "io/trace/protobuf.h"
#include "tests/logs/readings.h"
#include "text/wire_reader.h"

using namespace trnplan;
using namespace trnplan::logs;

namespace {

std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string record(const std::string& data) {
  const std::string length = little(data.size(), 8);
  return length + little(masked_crc32c(length), 4) + data + little(masked_crc32c(data), 4);
}

std::string unhex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return out;
}

/// Field 2 of Summary.Value: the project's writer has no float.
std::string simple_value(float value) {
  return "\x15" + little(std::bit_cast<std::uint32_t>(value), 4);
}

std::string event(double wall, std::uint64_t step, const std::string& tag, const std::string& value) {
  io::ProtoMessage named, summary, all;
  named.text(1, tag);
  summary.text(1, named.bytes() + value);
  all.real(1, wall);
  if (step > 0) all.number(2, step);
  return record(all.message(5, summary).bytes());
}

const std::string kVersion = record(io::ProtoMessage().real(1, 1.7e9).text(3, "brain.Event:2").bytes());

}  // namespace

TEST_CASE("CRC-32C as TFRecord masks it", "[calibrate]") {
  CHECK(masked_crc32c("123456789") == 0xC78AB0E5);
  CHECK(masked_crc32c("") == 0xA282EAD8);
}

TEST_CASE("protocol buffers, field by field", "[calibrate]") {
  io::ProtoMessage m;
  m.number(1, 300).fixed64(2, 7).real(3, -2.5).text(4, "ab").number(536870911, ~0ULL);
  const std::string bytes = m.bytes() + simple_value(0.5f);
  WireReader fields(bytes);
  REQUIRE(fields.next());
  CHECK((fields.field == 1 && fields.number == 300));
  REQUIRE(fields.next());
  CHECK(fields.number == 7);
  REQUIRE(fields.next());
  CHECK(fields.real() == -2.5);
  REQUIRE(fields.next());
  CHECK(fields.bytes == "ab");
  REQUIRE(fields.next());
  CHECK((fields.field == 536870911 && fields.number == ~0ULL));
  REQUIRE(fields.next());
  CHECK(fields.real() == 0.5);
  CHECK_FALSE(fields.next());
  CHECK_FALSE(fields.failed());
  for (const std::string bad :
       {std::string("\x08"), std::string("\x08\x80"), std::string("\x12\x05zz"), std::string("\x15\x01\x02"),
        std::string("\x0b"), std::string("\0\0", 2), std::string("\x08") + std::string(11, '\xff')}) {
    WireReader reader(bad);
    CHECK_FALSE(reader.next());
    CHECK(reader.failed());
  }
}

TEST_CASE("two records byte by byte", "[calibrate]") {
  // tensorflow/tensorflow's layout: a version record at 1700000000.0 s, then step 7, "throughput" = 4.0.
  const std::string bytes = unhex(
      "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d"
      "200000000000000029eda9500900000040fc54d94110072a130a110a0a7468726f7567687075741500008040de6a6070");
  CHECK(is_event_file(bytes));
  CHECK(bytes.substr(0, 40) == kVersion);
  CHECK(bytes == kVersion + event(1.7e9, 7, "throughput", simple_value(4)));
  const Detected d = detect(bytes, "events");
  CHECK(d.kinds.at(0).name == "TensorBoard event file");
  CHECK(d.steps.empty());  // one step has no time
  CHECK(skips(d, 2, "no step time"));
}

TEST_CASE("step timings, batch and throughput from tags of NxDT", "[calibrate]") {
  std::string bytes = kVersion;
  for (int step = 1; step <= 4; ++step) {
    const double wall = 1.7e9 + 20 * step;
    bytes += event(wall, step, "train_step_timing", simple_value(step == 1 ? 400.f : 19.f + 0.25f * step));
    bytes += event(wall, step, "parameter_norm", simple_value(3));
    bytes += event(wall, step, "global_step", simple_value(step));
    bytes += event(wall, step, "consumed_samples", simple_value(1024.f * step));
    bytes += event(wall, step, "throughput", simple_value(53.5f));
  }
  const Detected d = detect(bytes, "events");
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].seconds == 19.75);  // of 19.5, 19.75, 20
  CHECK(d.steps[0].count == 3);
  CHECK(d.steps[0].wall_seconds == 20.0);
  CHECK(d.steps[0].global_batch == 1024.0);
  CHECK(d.steps[0].sequences_per_second == 53.5);
  CHECK(d.steps[0].framework == "nxdt");
  CHECK(d.skipped.empty());
}

TEST_CASE("without a timing the wall times tell, per step of the logging interval", "[calibrate]") {
  std::string bytes = kVersion;
  // Scalars as TensorFlow 2 writes them: a tensor of rank 0, dtype 1 float, 4 tensor_content.
  const std::string tensor =
      io::ProtoMessage().message(8, io::ProtoMessage().number(1, 1).text(4, little(0x40800000, 4))).bytes();
  for (int i = 1; i <= 4; ++i) bytes += event(1.7e9 + 65 * i, 10 * i, "loss", tensor);
  const StepSample s = step_of(bytes);
  CHECK(s.seconds == 6.5);
  CHECK(s.count == 30);
  CHECK_FALSE(*s.spread > 1e-9);  // all alike, and no tick
}

TEST_CASE("event files with damage", "[calibrate]") {
  const auto step = [](int i) { return event(1.7e9 + 5 * i, i, "loss", simple_value(1)); };
  std::string damaged = step(4);
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  const std::string sound = kVersion + step(2) + step(3) + damaged + step(5);
  Detected d = detect(sound, "events");
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].count == 3);
  CHECK(skips(d, 4, "checksum of this record is wrong"));
  // Still being written: nothing to say.
  d = detect(sound + step(6).substr(0, 30), "events");
  CHECK(d.steps.at(0).count == 3);
  CHECK(d.skipped.size() == 1);
  // A length that cannot be trusted ends the reading.
  std::string lost = step(6);
  lost[0] = static_cast<char>(lost[0] ^ 1);
  d = detect(sound + lost + step(7), "events");
  CHECK(d.steps.at(0).count == 3);
  CHECK(skips(d, 6, "the rest is not read"));
  // Sound checksums around nonsense.
  const std::string nonsense = little(~0ULL, 8);
  d = detect(kVersion + nonsense + little(masked_crc32c(nonsense), 4) + "abcdefgh", "events");
  CHECK(d.steps.empty());
  d = detect(kVersion + record("\xff\xff\xff") + step(2), "events");
  CHECK(skips(d, 2, "not an event"));
  d = detect(kVersion + event(std::nan(""), 3, "loss", simple_value(1)) +
                 event(1e308, 4, "loss", simple_value(1)) + event(-1e308, ~0ULL, "loss", simple_value(1)),
             "events");
  CHECK(d.steps.empty());
}
