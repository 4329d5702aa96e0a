// Parquet tables of Neuron Explorer. The files of fixtures/logs were written by parquet-rs and DuckDB, which share no
// code with the reader (README.md there says how).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "logs/profile/parquet_rows.h"
#include "logs/profile/parquet_values.h"
#include "logs/profile/thrift.h"
#include "tests/logs/readings.h"
#include "tests/sanitised.h"
#include "text/byte_stream.h"

using namespace trnplan;
using namespace trnplan::logs;

namespace {

constexpr const char* kParquet[] = {"cc-op-v1-snappy.parquet",  "cc-op-v2-delta.parquet",
                                    "cc-op-plain-gzip.parquet", "cc-op-duckdb-v2.parquet",
                                    "instruction-zstd.parquet", "summary.parquet"};

/// What a table taught, in words: equal for equal samples. Places differ between CSV and Parquet.
std::string samples_in(const Detected& d) {
  std::string all;
  for (const CollectiveSample& c : d.collectives) {
    all += fmt::format("{} {} {} {} {} {} {} {}\n", c.op, c.type, c.algorithm, c.ranks, c.bytes, c.seconds,
                       c.median_seconds, c.count);
  }
  for (const DeviceSample& s : d.devices) {
    all += fmt::format("{} {} {} {}", s.name, s.seconds, s.mfu.value_or(-1), s.clock_hz.value_or(-1));
    for (const auto& [engine, seconds] : s.engine_seconds) all += fmt::format(" {}={}", engine, seconds);
    all += "\n";
  }
  return all;
}

std::string detected_or_refused(const std::string& bytes) {
  try {
    return samples_in(detect(bytes, "log"));
  } catch (const InputError& e) {
    return e.what();
  }
}

template <class Value>
std::vector<Value> all_of(auto reader) {
  std::vector<Value> values;
  Value value{};
  while (values.size() < 100 && reader.next(value)) values.push_back(value);
  return values;
}

}  // namespace

// Catches a value, level or null that a codec, an encoding or a version of pages reads otherwise.
TEST_CASE("a CcOp table in Parquet teaches what the same rows teach as CSV and JSON", "[logs][parquet]") {
  // The last line of the CSV is cut; the Parquet files have the rows before it.
  const std::string expected = samples_in(log_fixture("cc-op.csv"));
  REQUIRE(std::count(expected.begin(), expected.end(), '\n') == 2);
  for (const char* file : kParquet) {
    if (!std::string(file).starts_with("cc-op")) continue;
    INFO(file);
    const Detected d = log_fixture(file);
    CHECK(samples_in(d) == expected);
    CHECK(d.kinds.at(0).name == "CcOp table");
    CHECK(skips(d, 5, "no operation, size or duration; the row is left out"));
    CHECK(d.skipped.size() == 1);
  }
  const std::string json = R"({"summary": [], "cc_ops": [
    {"timestamp": 1000, "duration": 40000, "operation": "AllGather", "algorithm": "Ring", "dtype": "bf16",
     "input_size": 1048576, "output_size": 8388608, "replica_group": "[[0,1,2,3,4,5,6,7]]"},
    {"timestamp": 60000, "duration": 38000, "operation": "AllGather", "algorithm": "Ring", "dtype": "bf16",
     "input_size": 1048576, "output_size": 8388608, "replica_group": "[[0,1,2,3,4,5,6,7]]"},
    {"timestamp": 100000, "duration": 90000, "operation": "AllGather", "algorithm": "Ring", "dtype": "bf16",
     "input_size": 1048576, "output_size": 8388608, "replica_group": "[[0,1,2,3,4,5,6,7]]"}]})";
  const std::string same = samples_in(detect(json, "log"));
  CHECK(same.substr(0, same.find('\n')) == expected.substr(0, expected.find('\n')));
}

TEST_CASE("Instruction and Summary in Parquet teach what CSV and JSON teach", "[logs][parquet]") {
  CHECK(samples_in(log_fixture("instruction-zstd.parquet")) == samples_in(log_fixture("instruction.csv")));
  const Detected json = detect(
      R"({"summary": [{"total_time": 0.0001, "mfu_estimated_percent": 37.83779707219885, "neuroncore_cycle_count": 140000,
          "tensor_engine_active_time": 1.9999999494757503e-05, "model_flops": null}]})",
      "log");
  const Detected d = log_fixture("summary.parquet");
  REQUIRE(d.devices.size() == 1);
  CHECK(samples_in(d) == samples_in(json));
  CHECK(*d.devices[0].mfu == Approx(0.3783779707));
  CHECK_FALSE(d.devices[0].model_flops);
  CHECK(d.skipped.empty());
}

TEST_CASE("Metadata in Parquet says whether the compiler estimated the profile", "[logs][parquet]") {
  const Detected d = log_fixture("metadata-simulated.parquet");
  CHECK(d.simulated);
  CHECK(skips(d, 1, "not a measurement"));
}

TEST_CASE("what of Parquet is not read is refused with all columns and a way out", "[logs][parquet]") {
  const std::string brotli = refusal(log_text("cc-op-brotli.parquet"));
  for (const char* column : {"operation", "duration_ns", "input_size", "replica_group"}) {
    CHECK(brotli.find(std::string(column) + ": a column packed with BROTLI, which is not read") !=
          std::string::npos);
  }
  CHECK(brotli.find("duckdb -c \"COPY (FROM") != std::string::npos);
  // 25.00 as a decimal is stored as 2500.
  const std::string decimal = refusal(log_text("cc-op-decimal.parquet"));
  CHECK(decimal.find("duration_ns: a column of decimals, dates or times") != std::string::npos);
  const std::string split = refusal(log_text("cc-op-split.parquet"));
  CHECK(split.find("duration_ns: a column encoded as BYTE_STREAM_SPLIT, which is not read") !=
        std::string::npos);
  CHECK(split.find("input_size: a column encoded as BYTE_STREAM_SPLIT") != std::string::npos);
  CHECK(split.find("operation") == std::string::npos);
  CHECK(refusal("PAR1zzz").find("cut off: it has no footer") != std::string::npos);
  CHECK(refusal("PAR1zzzzzzzzzPARE").find("encrypted") != std::string::npos);
  CHECK(refusal(std::string("PAR1\x15\0\0\0PAR1", 12)).find("footer is damaged") != std::string::npos);
  CHECK(refusal(std::string("PAR1\0\0\0\0PAR1", 12)).find("footer is damaged") != std::string::npos);
}

// Catches a read beyond the bytes (under the sanitizers) and a hang.
TEST_CASE("Parquet files that are cut are refused, and none is half read", "[logs][parquet]") {
  for (const char* file : kParquet) {
    const std::string whole = log_text(file);
    INFO(file);
    for (std::size_t size = 4; size < whole.size(); size += kSanitised ? 11 : 1) {
      REQUIRE(refusal(whole.substr(0, size)).find("a Parquet file") != std::string::npos);
    }
  }
}

// Flips that leave a valid file may change a value, but not how much is read.
TEST_CASE("Parquet files with bytes changed are read or refused", "[logs][parquet]") {
  for (const char* file : kParquet) {
    const std::string whole = log_text(file);
    for (std::size_t at = 4; at < whole.size(); at += kSanitised ? 29 : 3) {  // the fuzz target changes all
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ change);
        const std::string words = detected_or_refused(bytes);
        REQUIRE(std::count(words.begin(), words.end(), '\n') < 30);
      }
    }
  }
}

TEST_CASE("a damaged page ends the reading: rows before it count", "[logs][parquet]") {
  // Two row groups of three rows and two: the last bytes of pages belong to the second.
  std::string bytes = log_text("cc-op-plain-gzip.parquet");
  TextStream file(bytes);
  const ParquetFooter footer = read_footer(file, bytes.size(), "log");
  REQUIRE(footer.groups.size() == 2);
  const auto column = std::find_if(footer.columns.begin(), footer.columns.end(),
                                   [](const ParquetColumn& c) { return c.name == "duration_ns"; });
  const ParquetChunk& chunk =
      footer.groups[1].chunks[static_cast<std::size_t>(column - footer.columns.begin())];
  bytes[static_cast<std::size_t>(chunk.offset + chunk.bytes) - 5] ^= 0x55;  // within gzip's checksum
  const Detected d = detect(bytes, "log");
  REQUIRE(d.collectives.size() == 1);
  CHECK(d.collectives[0].count == 3);
  CHECK(skips(d, 4,
              "column \"duration_ns\": a page of GZIP is damaged; this row and those after it are left out"));
}

// Encodings.md gives both examples, but for the sizes of their blocks.
TEST_CASE("runs, packed numbers and differences as the format's document encodes them", "[logs][parquet]") {
  using Numbers = std::vector<std::uint32_t>;
  CHECK(all_of<std::uint32_t>(RunReader("\x03\x88\xc6\xfa", 3)) == Numbers{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(all_of<std::uint32_t>(RunReader(std::string_view("\x0a\x01\x02", 3), 9)) ==
        Numbers(5, 0x201 & 0x1ff));
  CHECK(all_of<std::uint32_t>(RunReader("", 3)).empty());
  CHECK(all_of<std::uint32_t>(RunReader(std::string_view("\x00\x05", 2), 3)).empty());  // a run of none
  CHECK(all_of<std::uint32_t>(RunReader("\x03\x88", 3)) == Numbers{0, 1});              // cut
  using Wholes = std::vector<std::int64_t>;
  // Block of 8 in one miniblock; 5 values from 1; least difference 1, width 0.
  CHECK(all_of<std::int64_t>(DeltaReader(std::string_view("\x08\x01\x05\x02\x02\x00", 6))) ==
        Wholes{1, 2, 3, 4, 5});
  // 8 values from 7; least difference -2, width 2: 0 0 0 3 3 3 3.
  CHECK(all_of<std::int64_t>(DeltaReader(std::string_view("\x08\x01\x08\x0e\x03\x02\xc0\x3f", 8))) ==
        Wholes{7, 5, 3, 1, 2, 3, 4, 5});
  CHECK(all_of<std::int64_t>(DeltaReader(std::string_view("\x08\x00\x08\x0e\x03\x02\xc0\x3f", 8))).empty());
  CHECK(all_of<std::int64_t>(DeltaReader(std::string_view("\x08\x01\x08\x0e\x03\x41\xc0\x3f", 8))) ==
        Wholes{7});
}

TEST_CASE("Thrift: unknown fields are passed, and what is cut or too deep ends", "[logs][parquet]") {
  const auto field_2 = [](std::string_view bytes, bool& failed) {
    ThriftReader thrift(bytes);
    std::int64_t value = -1;
    thrift.structure([&](int field) {
      if (field == 2) value = thrift.whole();
    });
    failed = thrift.failed();
    return value;
  };
  bool failed = false;
  // Field 1: a list of two texts; 2: i32 -3; 5: true.
  CHECK(field_2(std::string_view("\x19\x28\x01"
                                 "a\x01"
                                 "b\x15\x05\x31\x00",
                                 10),
                failed) == -3);
  CHECK_FALSE(failed);
  field_2("\x19\x28\x01", failed);
  CHECK(failed);
  field_2(std::string(1000, '\x1c'), failed);
  CHECK(failed);
  field_2("\x19\xf8\xff\xff\xff\xff\x07", failed);  // a list of 2 thousand million texts
  CHECK(failed);
}

// Catches a file of a few bytes that unpacks to more than the machine has.
TEST_CASE("what a Parquet file may cost is bounded by its size", "[logs][parquet]") {
  ParquetBudget budget(1000);
  CHECK(budget.hold(std::int64_t{192} << 20));
  CHECK_FALSE(budget.hold(1));
  budget.release(1);
  CHECK(budget.hold(1));
  CHECK(budget.spend((std::int64_t{1} << 30) + 200 * 1000));
  CHECK_FALSE(budget.spend(1));
  std::string out;
  CHECK_FALSE(unpack(static_cast<int>(ParquetCodec::lz4), "x", 1, out));
  CHECK_FALSE(unpack(static_cast<int>(ParquetCodec::snappy), "\xff\xff\xff\x7f", 1, out));  // 2^28 - 1 bytes
  CHECK_FALSE(unpack(static_cast<int>(ParquetCodec::none), "ab", 1, out));
}
