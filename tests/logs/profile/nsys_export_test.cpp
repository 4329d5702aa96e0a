// Exports of Nsight Systems: what they say, what they lack, and databases that nobody should trust.
#include <filesystem>
#include <fstream>

#include "io/input/log_stream.h"
#include "logs/profile/kernel_names.h"
#include "logs/profile/nvtx_steps.h"
#include "tests/folder.h"
#include "tests/logs/profile/nsys_sample.h"
#include "tests/logs/readings.h"

using namespace trnplan;
using namespace trnplan::logs;

namespace {

/// The only device of the sample, with further statements.
DeviceSample device_of(const Detected& d) {
  REQUIRE(d.devices.size() == 1);
  return d.devices[0];
}

/// True if something was left out for a reason with these words.
bool skipped(const Detected& d, const std::string& words) {
  return skips(d, 0, words);
}

}  // namespace

// Faults that this catches: a wrong unit, a window that is off by a step, overlap counted twice, the mean of
// collectives where the least is wanted, the bytes of another call.
TEST_CASE("an export of four steps", "[calibrate]") {
  const Detected d = detect(nsys_bytes(), "x.sqlite");
  CHECK(d.kinds.at(0).name == "Nsight Systems export");
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].seconds == Approx(1));
  CHECK(d.steps[0].count == 3);  // from start to start; the range itself ends 0.1 s earlier
  CHECK(d.steps[0].basis.find("iteration #") != std::string::npos);
  const DeviceSample g = device_of(d);
  CHECK(g.name == "NVIDIA H100 80GB HBM3, GPU 0, mean of 2 steps");
  CHECK(g.seconds == Approx(1));
  CHECK(g.engine_seconds.at("matmul") == Approx(0.4));
  CHECK(g.engine_seconds.at("attention") == Approx(0.1));
  CHECK(g.engine_seconds.at("collectives") == Approx((0.012 + 0.011) / 2));  // of the second and third step
  CHECK(*g.collective_active_seconds == Approx(*g.collective_seconds));
  CHECK(*g.active_seconds == Approx(0.5 + *g.collective_seconds / 2));
  REQUIRE(d.collectives.size() == 1);
  CHECK(d.collectives[0].op == "all_reduce");
  CHECK(d.collectives[0].type == "bf16");
  CHECK(d.collectives[0].algorithm == "RING_LL");
  CHECK(d.collectives[0].ranks == 8);
  CHECK(d.collectives[0].bytes == 1048576);
  CHECK(d.collectives[0].seconds == Approx(0.010));
  CHECK(d.collectives[0].median_seconds == Approx(0.0115));
  CHECK(d.collectives[0].count == 4);
  CHECK(d.skipped.empty());
}

TEST_CASE("an export reads the same from a file, also one that another program locks", "[calibrate]") {
  const TestFolder folder;
  const std::string path = folder / "odd #%? name.sqlite";
  std::ofstream(path, std::ios::binary) << nsys_bytes();
  sqlite3* writer = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &writer) == SQLITE_OK);
  REQUIRE(sqlite3_exec(writer, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  io::LogStream stream(path);
  const Detected d = detect(stream, path);
  sqlite3_close(writer);
  CHECK(d.collectives.size() == 1);
  CHECK(d.collectives[0].seconds == Approx(0.010));
  CHECK(d.steps.size() == 1);
  CHECK(std::filesystem::exists(path));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);  // no journal, no WAL
}

TEST_CASE("tables and columns that an export lacks are named", "[calibrate]") {
  const auto refused = [](const std::string& more) { return refusal(nsys_bytes(more)); };
  CHECK(refused("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;")
            .find("CUPTI_ACTIVITY_KIND_KERNEL: this export (schema 3.25.0) lacks this table") !=
        std::string::npos);
  CHECK(
      refused(
          "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT);")
          .find("--cuda-graph-trace=node") != std::string::npos);
  CHECK(refused("DROP TABLE StringIds;").find("StringIds") != std::string::npos);
  CHECK(refused(
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN end TO stop; ALTER TABLE StringIds RENAME "
            "COLUMN value TO text;")
            .find("lacks the columns CUPTI_ACTIVITY_KIND_KERNEL.end, StringIds.value") != std::string::npos);
  CHECK(refusal(sqlite_bytes("CREATE TABLE sweep (a INT);")).find("did not export") != std::string::npos);

  const Detected bare = detect(nsys_bytes("DROP TABLE NVTX_EVENTS;"), "x.sqlite");
  CHECK(skipped(bare, "NVTX_EVENTS: this export (schema 3.25.0) lacks this table: no steps"));
  CHECK(skipped(bare, "4 kernels of NCCL without sizes"));
  CHECK(bare.steps.empty());
  CHECK(device_of(bare).name.ends_with("whole trace"));
  CHECK(device_of(bare).seconds == Approx(3.6));  // from the first kernel to the end of the last
  // An older export: short names only, and no process, payload or device.
  const Detected old = detect(
      nsys_bytes("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName; ALTER TABLE "
                 "CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid; ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL "
                 "DROP COLUMN "
                 "deviceId; ALTER TABLE NVTX_EVENTS DROP COLUMN jsonText; DROP TABLE META_DATA_EXPORT;"),
      "x.sqlite");
  CHECK(old.steps.size() == 1);
  CHECK(device_of(old).engine_seconds.at("matmul") == Approx(0.4));
  CHECK(skipped(old, "--include-json"));
}

TEST_CASE("collectives of a trace that are not clear are left out", "[calibrate]") {
  // An all-gather's message is that of one rank, so its bytes need the ranks.
  const std::string gather = "UPDATE StringIds SET value = 'ncclAllGather' WHERE id = 4;";
  const Detected d = detect(nsys_bytes(gather), "x.sqlite");
  REQUIRE(d.collectives.size() == 1);
  CHECK(d.collectives[0].op == "all_gather");
  CHECK(d.collectives[0].bytes == 8 * 1048576);
  const Detected rankless =
      detect(nsys_bytes(gather + "DELETE FROM NVTX_EVENTS WHERE start = 1000;"), "x.sqlite");
  CHECK(rankless.collectives.empty());
  CHECK(skipped(rankless, "lacks the ranks of their communicators"));
  // A group of one call, whose kernel is launched at its end; with a second call it is no longer clear.
  const std::string group =
      "UPDATE NVTX_EVENTS SET end = start + 1000 WHERE textId = 4;"
      "INSERT INTO NVTX_EVENTS SELECT start - 500, start - 400, 59, globalTid, 'ncclGroupStart', NULL, NULL "
      "FROM "
      "NVTX_EVENTS WHERE textId = 4;"
      "INSERT INTO NVTX_EVENTS SELECT start + 2000, start + 8000, 59, globalTid, 'ncclGroupEnd', NULL, NULL "
      "FROM "
      "NVTX_EVENTS WHERE textId = 4;";
  CHECK(detect(nsys_bytes(group), "x.sqlite").collectives.at(0).count == 4);
  const Detected two = detect(
      nsys_bytes(group + "INSERT INTO NVTX_EVENTS SELECT start + 1100, end + 600, 59, globalTid, NULL, "
                         "4, jsonText FROM NVTX_EVENTS WHERE textId = 4;"),
      "x.sqlite");
  CHECK(two.collectives.empty());
  CHECK(skipped(two, "4 kernels of NCCL left out"));
  // Launches of a whole graph share a number.
  CHECK(detect(nsys_bytes("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 100;"), "x.sqlite")
            .collectives.empty());
}

TEST_CASE("names of kernels and ranges", "[calibrate]") {
  CHECK(work_of_kernel("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<gemm>>>") ==
        KernelWork::attention);
  CHECK(work_of_kernel("nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT") == KernelWork::matmul);
  CHECK(work_of_kernel("void at::native::vectorized_elementwise_kernel<4>()") == KernelWork::other);
  const NcclKernel old =
      nccl_kernel("ncclKernel_ReduceScatter_RING_LL128_Sum_float(ncclDevComm*, unsigned long)");
  CHECK(old.op == "ReduceScatter");
  CHECK(old.algorithm == "RING_LL128");
  CHECK(old.type == "float");
  CHECK(nccl_kernel("ncclDevKernel").op.empty());
  CHECK(step_range_name("ProfilerStep#12")->kind == "ProfilerStep##");
  CHECK(step_range_name("ProfilerStep#12")->number == 12);
  CHECK_FALSE(step_range_name("step 3 of 9")->number);
  CHECK_FALSE(step_range_name("aten::mm"));
}

// Catches: two validations at the ends of a trace that pass for its steps, and a gap in the numbers that is one step.
TEST_CASE("steps are the ranges that last, and as many as their numbers say", "[calibrate]") {
  NvtxSteps trace;
  for (std::int64_t i = 0; i < 100; ++i)
    trace.add(*step_range_name("train_step " + std::to_string(i)), 1, i * 100'000'000,
              i * 100'000'000 + 90'000'000);
  for (const std::int64_t at : {std::int64_t{1}, std::int64_t{9'990'000'000}})
    trace.add(*step_range_name("validation_step"), 1, at, at + 5'000'000);
  trace.choose();
  REQUIRE(trace.window());
  CHECK(trace.window()->steps == 98);  // without the first, up to the start of the last
  NvtxSteps gap;
  for (const int i : {5, 6, 8})
    gap.add(*step_range_name("step " + std::to_string(i)), 1, i * 1000, i * 1000 + 900);
  gap.choose();
  REQUIRE(gap.window());
  CHECK(gap.window()->steps == 2);
}

// Faults that this catches: a crash, an endless loop, or a result of a database that is not sound.
TEST_CASE("cut, damaged and hostile databases give one fault", "[calibrate]") {
  const std::string whole = nsys_bytes();
  for (std::size_t size = 16; size < whole.size(); size += 509) {
    const std::string text = refusal(whole.substr(0, size));
    INFO(size << ": " << text);
    CHECK_FALSE(text.empty());
    CHECK(std::count(text.begin(), text.end(), '\n') <= 1);
  }
  const auto refused = [&](const std::string& more, const std::string& words) {
    const std::string text = refusal(nsys_bytes(more));
    INFO(text);
    CHECK(text.find(words) != std::string::npos);
  };
  // Views and virtual tables are no tables of an export: they may run anything.
  refused(
      "DROP TABLE StringIds; CREATE VIEW StringIds AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + "
      "1 FROM n) "
      "SELECT i AS id, 'x' AS value FROM n;",
      "StringIds: this export");
  refused(
      "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, "
      "demangledName INT, end "
      "INT AS (length(zeroblob(1000000000))));",
      "lacks the column CUPTI_ACTIVITY_KIND_KERNEL.end");
  refused("INSERT INTO StringIds VALUES (99, hex(zeroblob(200000)));", "longer than 256 KiB");
  const Detected odd =
      detect(nsys_bytes("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('a', 5, 0, 0, 0, 0, 1, 1), "
                        "(9, 5, 0, 0, 0, 0, 1, 1), (5, 9223372036854775807, 0, 0, 0, 0, 1, 1);"),
             "x.sqlite");
  CHECK(skipped(odd, "3 kernels without start or duration left out"));
  CHECK(odd.devices.size() == 1);
}
