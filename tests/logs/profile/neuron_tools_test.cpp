// Profiles and reports of Neuron's tools, and traces of PyTorch.
#include "logs/nccom/collective_groups.h"
#include "logs/profile/profile_tables.h"
#include "tests/logs/readings.h"
#include "text/json_reader.h"

using namespace trnplan;
using namespace trnplan::logs;

TEST_CASE("JSON piece by piece", "[calibrate]") {
  JsonReader json(
      "{\"a\": [1, \"2\", null, {\"x\": [[]]}],\n \"b\\\"\": \"t\\u00e9\\n\", \"c\": 1729888371056597613, "
      "\"d\": true} ");
  std::vector<double> numbers;
  std::string text, keys;
  std::int64_t whole = 0;
  std::string_view word;
  json.object([&](std::string_view key) {
    keys += key;
    if (key == "a") json.array([&] { numbers.push_back(json.number().value_or(-1)); });
    if (key == "b\"") text = json.text();
    if (key == "c") whole = json.whole().value_or(0);
    if (key == "d") word = json.word();
  });
  CHECK_FALSE(json.failed());
  CHECK(keys == "ab\"cd");
  CHECK(numbers == std::vector<double>{1, 2, -1, -1});
  CHECK(text == "t\\u00e9\n");
  CHECK(whole == 1729888371056597613);
  CHECK(word == "true");
  CHECK(json.line() == 2);
}

TEST_CASE("JSON that is cut or wrong ends the reading with a place", "[calibrate]") {
  for (const char* text : {"{\"a\": 1", "{\"a\": ", "{\"a\"", "{\"a", "{", "{\"a\": 1 \"b\": 2}", "{a: 1}",
                           "{\"a\": }", "[1,", "[1 2]", "[,]", "{\"a\": [1}"}) {
    CAPTURE(text);
    JsonReader json(text);
    int steps = 0;
    if (json.peek() == JsonReader::Kind::object) json.object([&](std::string_view) { ++steps; });
    if (json.peek() == JsonReader::Kind::array) json.array([&] { ++steps; });
    CHECK((json.failed() || std::string(text) == "{\"a\": [1}"));
    CHECK(steps <= 1);
  }
  const std::string deep(100'000, '[');
  JsonReader nested(deep);
  nested.skip();
  CHECK(nested.failed());
  CHECK(nested.problem() == "nested deeper than 64");
}

TEST_CASE("neuron-monitor: memory by core, the most of all reports", "[calibrate]") {
  const std::string report = log_text("neuron-monitor-trn1.2xlarge.json");
  const Detected d = detect(report, "log");
  REQUIRE(d.memory.size() == 2);
  CHECK(d.memory[0].core == 0);
  CHECK(*d.memory[0].bytes == 196608 + 101125344 + 943608);
  CHECK(d.memory[1].core == 1);
  CHECK(*d.memory[1].bytes == 32768);
  CHECK(d.memory[0].where.find("trn1.2xlarge") != std::string::npos);

  // A second report with more, in the middle one that is cut; also labelled, among lines of a log.
  std::string more = report;
  more.replace(more.find("\"tensors\": 943608"), 17, "\"tensors\": 943609");
  const std::string cut = report.substr(0, report.find("\"loaded_models\"")) + "\n";
  for (const std::string prefix : {"", "0: "}) {
    const Detected many = detect(prefix + report + prefix + cut + prefix + more, "log");
    REQUIRE(many.memory.size() == 2);
    CHECK(*many.memory[0].bytes == 196608 + 101125344 + 943609);
    CHECK(many.memory[0].at.line == 3);
    CHECK(many.memory[0].count == 3);
    REQUIRE(many.skipped.size() == 1);
    CHECK(many.skipped[0].problem.find("what comes before it is read") != std::string::npos);
  }
}

TEST_CASE("fragments of the guide are no reports", "[calibrate]") {
  CHECK(refusal(log_text("neuron-monitor-fragment.txt")).find("nothing in it is recognised") !=
        std::string::npos);
}

TEST_CASE("summary-json of two graphs", "[calibrate]") {
  const Detected d = log_fixture("profile-summary.json");
  REQUIRE(d.devices.size() == 2);
  CHECK(d.devices[0].seconds == 2.199e-05);
  CHECK(*d.devices[0].mfu == 0.009699);                          // percent by name, a fraction by value
  CHECK(*d.devices[0].clock_hz == Approx(1.2e9).epsilon(1e-3));  // 26390 cycles
  CHECK(*d.devices[0].hardware_flops == 8.389e6);
  CHECK(d.devices[1].seconds == 2.266e-05);  // in quotes
  CHECK(d.devices[1].name.ends_with("4"));
  CHECK(d.skipped.empty());
  const Detected bad =
      detect(R"({"n_1": {"total_time": 5, "neuroncore_cycle_count": 7, "mfu_estimated_percent": 37.8},
                                  "n_2": {"total_active_time": 1}, "n_3": {"total_time": 1e99}})",
             "log");
  REQUIRE(bad.devices.size() == 1);
  CHECK(*bad.devices[0].mfu == Approx(0.378));
  CHECK(skips(bad, 1, "not the clock of a core"));
  CHECK(skips(bad, 2, "total_time: this summary lacks it"));
}

TEST_CASE("a device profile whose timestamps are picoseconds", "[calibrate]") {
  const Detected d = log_fixture("device-profile.json");
  // From 5,000,000,000 to 5,100,000,000 is total_time = 0.1 ms only in ps.
  REQUIRE(d.devices.size() == 1);
  CHECK(d.devices[0].seconds == 0.0001);
  CHECK(d.devices[0].engine_seconds.at("Tensor") == Approx(20e-6));
  CHECK(*d.devices[0].mfu == Approx(0.3783779707));
  REQUIRE(d.collectives.size() == 1);
  CHECK(d.collectives[0].op == "reduce_scatter");
  CHECK(d.collectives[0].bytes == 4194304);
  CHECK(d.collectives[0].ranks == 8);
  CHECK(d.collectives[0].seconds == Approx(30e-6));
  CHECK(d.collectives[0].median_seconds == Approx(35e-6));
  CHECK(skips(d, 1, "1 collective without size or duration"));

  // Without a summary they are ns.
  const std::string text = log_text("device-profile.json");
  const Detected bare = detect("{" + text.substr(text.find("\"instruction\"")), "log");
  CHECK(bare.devices.at(0).seconds == Approx(0.1));
  // What the compiler estimates is no measurement.
  std::string simulated = text;
  simulated.replace(simulated.find("false"), 5, "true");
  const Detected none = detect(simulated, "log");
  CHECK(none.devices.empty());
  CHECK(none.collectives.empty());
  CHECK(skips(none, 1, "not a measurement"));
}

TEST_CASE("the CcOp table", "[calibrate]") {
  const Detected d = log_fixture("cc-op.csv");
  REQUIRE(d.collectives.size() == 2);
  CHECK(d.collectives[0].op == "all_gather");
  CHECK(d.collectives[0].ranks == 8);
  CHECK(d.collectives[0].bytes == 8388608);  // gathered, the output
  CHECK(d.collectives[0].seconds == Approx(38e-6));
  CHECK(d.collectives[0].median_seconds == Approx(40e-6));
  CHECK(d.collectives[0].count == 3);
  CHECK(d.collectives[1].bytes == 4096);  // 1024 fp32 elements: no size stated
  CHECK(d.collectives[1].ranks == 2);
  CHECK(skips(d, 6, "no operation, size or duration"));
  CHECK(skips(d, 7, "3 columns where the heading has 16, and the file ends"));
}

TEST_CASE("the Instruction table", "[calibrate]") {
  const Detected d = log_fixture("instruction.csv");
  REQUIRE(d.devices.size() == 1);
  CHECK(d.devices[0].seconds == Approx(5e-6));  // 597613 to 602613: digits that a double would lose
  CHECK(d.devices[0].engine_seconds.at("tensor") == Approx(4e-6));
  CHECK(d.devices[0].engine_seconds.at("vector") == Approx(0.5e-6));
  CHECK(profile_table_of("start_ts,end_ts,engine,duration_ns\n") == ProfileTable::none);  // ActiveTime
}

TEST_CASE("names of collectives, sizes of groups", "[calibrate]") {
  CHECK(operation_name("AllGather") == "all_gather");
  CHECK(operation_name("_allgather_base") == "all_gather");
  CHECK(operation_name("REDUCE-SCATTER") == "reduce_scatter");
  CHECK(operation_name("broad\x1b[1mcast") == "broad?[1mcast");
  CHECK(first_group_size("[[0, 1, 2], [3, 4, 5]]") == 3);
  CHECK(first_group_size("[[0, ..., 31]]") == 0);
  CHECK(first_group_size("") == 0);
}

TEST_CASE("Kineto: collectives of the device rather than of the host", "[calibrate]") {
  const Detected d = log_fixture("kineto-2-a100.json");
  REQUIRE(d.collectives.size() == 7);
  const auto& c = d.collectives[3];
  CHECK(c.op == "all_reduce");
  CHECK(c.bytes == 4 * 6637568.0);
  CHECK(c.ranks == 2);
  CHECK(c.count == 2);
  CHECK(c.seconds == Approx(2160.803e-6));
  CHECK(c.median_seconds == Approx((2160.803e-6 + 2636.669e-6) / 2));
  CHECK(d.collectives[6].bytes == 53 * 8);      // Long
  CHECK(d.made_on == "NVIDIA A100-PG509-200");  // whose machine decides what that means

  const Detected host = detect(
      R"([{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "ts": 1, "dur": 2500000},
          {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#8", "ts": 1, "dur": "2600000"},
          {"ph": "X", "cat": "cpu_op", "name": "x", "dur": 9, "args": {"Collective name": "wait", "dtype": "Int"}},
          {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "dur": 189.5, "args": {"Collective name":
           "_reduce_scatter_base", "dtype": "BFloat16", "In msg nelems": 1024, "Out msg nelems": 32, "Group size": 32}},
          {"ph": "X", "cat")",
      "log");
  REQUIRE(host.steps.size() == 1);
  CHECK(host.steps[0].seconds == Approx(2.55));
  REQUIRE(host.collectives.size() == 1);
  CHECK(host.collectives[0].op == "reduce_scatter");
  CHECK(host.collectives[0].bytes == 2048);
  CHECK(skips(host, 1, "launches"));
  CHECK(skips(host, 6, "the text ends within the JSON"));
}

TEST_CASE("results.json of NxD", "[calibrate]") {
  const StepSample s = step_of(
      R"({"results": {"metrics": [
          {"MetricName": "Time to train", "MeasuredValue": 12.5, "Units": "minutes", "AdditionalData": {"Epoch": 0, "Global step": 50}},
          {"MetricName": "Average throughput", "MeasuredValue": "68.2", "Units": "seq/s"}], "parameters": {"lr": 1}}})");
  CHECK(s.seconds == 15);  // 750 s over 50 steps
  CHECK(s.count == 50);
  CHECK(s.sequences_per_second == 68.2);
  const Detected none =
      detect(R"({"results": {"metrics": [{"MetricName": "Final loss", "MeasuredValue": 2}]}})", "log");
  CHECK(none.steps.empty());
  CHECK(skips(none, 1, "without Time to train"));
}

TEST_CASE("the median of many collectives of one kind is held in little memory", "[logs]") {
  // Catches a sample that favours the beginning: of 1 ... 40,001 us in a shuffled order the median is 20,001, and
  // of at least 2,048 evenly taken ones it lies within three standard errors, 3 x 0.5 / sqrt(2048) = 3.3 %.
  logs::CollectiveGroups groups;
  constexpr int kCount = 40'001;
  for (int i = 0; i < kCount; ++i)
    REQUIRE(groups.add({"AllReduce", "bf16", "", 8, 1024, 1e-6 * (1 + i * 7919LL % kCount)}, {"p", 1, 1}));
  logs::Samples out;
  groups.finish(out);
  REQUIRE(out.collectives.size() == 1);
  CHECK(out.collectives[0].count == kCount);
  CHECK(out.collectives[0].seconds == Approx(1e-6));
  CHECK(out.collectives[0].median_seconds == Approx(20'001e-6).epsilon(0.066));
}
