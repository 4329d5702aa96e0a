// Logs packed with gzip: the same as unpacked, in constant memory, with damage said.
#include <zlib.h>

#include <string>

#include "logs/detect/detect.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/logs/readings.h"
#include "text/gzip_stream.h"

using namespace trnplan;
using logs::log_text;

namespace {

std::string gzip_of(const std::string& text) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&z, text.size()) + 64, '\0');
  std::string copy = text;
  z.next_in = reinterpret_cast<Bytef*>(copy.data());
  z.avail_in = static_cast<uInt>(copy.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

std::string unpacked(const std::string& packed, std::size_t piece, std::string* fault = nullptr) {
  TextStream bytes(packed, piece);
  GzipStream stream(bytes, "x.gz");
  std::string all;
  while (append_from(stream, all, 100)) {
  }
  if (fault != nullptr) *fault = stream.fault() ? stream.fault()->problem : "";
  return all;
}

}  // namespace

TEST_CASE("a Kineto trace packed with gzip reads as it does unpacked", "[logs]") {
  const std::string trace = log_text("kineto-2-a100.json"), packed = gzip_of(trace);
  const logs::Detected plain = logs::detect(trace, "t.json"), read = logs::detect(packed, "t.json.gz");
  REQUIRE(read.kinds.size() == 1);
  CHECK(read.kinds[0].name == plain.kinds[0].name);
  CHECK(read.collectives.size() == plain.collectives.size());
  REQUIRE(read.steps.size() == plain.steps.size());
  CHECK(read.skipped.size() == plain.skipped.size());
}

// A member that ends at the end of a piece was once the end of all; padding was damage.
TEST_CASE("gzip members follow each other, in pieces of any length, and again after rewind", "[logs]") {
  const std::string text = std::string(100'000, 'a') + "\nstep";
  const std::string packed = gzip_of(text) + gzip_of("next") + std::string(10, '\0');
  std::string fault;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, packed.size()}) {
    CHECK(unpacked(packed, piece, &fault) == text + "next");
    CHECK(fault.empty());
  }
  TextStream bytes(packed);
  GzipStream stream(bytes, "x.gz");
  std::string first, second;
  append_from(stream, first, 500);
  REQUIRE(stream.rewind());
  append_from(stream, second, 500);
  CHECK(first == second);
}

TEST_CASE("cut and damaged gzip files give what is sound, and say so", "[logs]") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * 7919) + "\n";
  std::string packed = gzip_of(text), fault;
  const std::string cut = unpacked(packed.substr(0, packed.size() / 2), 100, &fault);
  CHECK(text.starts_with(cut));
  CHECK(cut.size() > 1000);
  CHECK(contains(fault, "cut off"));
  packed[packed.size() - 6] ^= 1;  // of its checksum
  CHECK(unpacked(packed, 100, &fault) == text);
  CHECK(contains(fault, "damaged"));
  CHECK(contains(refusal_of([] { (void)logs::detect(std::string("\x1f\x8b\x08"), "x.gz"); }), "cut off"));
  CHECK(
      contains(refusal_of([] { (void)logs::detect(std::string("\x1f\x8bzzzzzzzzzz"), "x.gz"); }), "damaged"));
  const std::string trace = log_text("kineto-2-a100.json"), whole = gzip_of(trace);
  const logs::Detected some = logs::detect(whole.substr(0, whole.size() - 20), "t.json.gz");
  REQUIRE_FALSE(some.skipped.empty());
  CHECK(contains(some.skipped.back().problem, "cut off"));
  CHECK(
      contains(refusal_of([&] { (void)logs::detect(gzip_of(whole), "t.json.gz.gz"); }), "packed with gzip"));
}
