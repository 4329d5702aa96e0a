#include "logs/table/kernel_points.h"

#include "tests/catch.h"
#include "tests/logs/readings.h"

using namespace trnplan;
using logs::Kernel;
using logs::KernelOp;

namespace {

constexpr const char* kHeading = "id,kernel,device_us,instance,quality,source,missing\n";

/// The problems of a text, one after the other.
std::string problems(const std::string& text) {
  std::string all;
  for (const auto& f : logs::parse_kernel(text).faults) all += f.problem + " (" + f.fix + ")\n";
  return all;
}

logs::KernelTable kernels_of(const std::string& rows) {
  return logs::parse_measured_kernels(kHeading + rows, "k.csv");
}

std::string refusal_of_rows(const std::string& rows) {
  return refusal_of([&] { kernels_of(rows); });
}

}  // namespace

TEST_CASE("kernels are read in any order and written in one", "[calibrate]") {
  for (const auto& [text, written] : std::vector<std::pair<std::string, std::string>>{
           {"matmul,dtype=fp16,n=3,m=1,k=2", "matmul,m=1,k=2,n=3,dtype=bf16"},
           {"flash_backward,heads=4,sequence=8192,head_dim=128,causal=no,dtype=fp32,batch=2",
            "flash_backward,heads=4,sequence=8192,head_dim=128,batch=2,causal=no,dtype=fp32"},
           {"flash_forward,heads=4,sequence=1e3,head_dim=64,causal=yes,dtype=bf16",
            "flash_forward,heads=4,sequence=1000,head_dim=64,batch=1,causal=yes,dtype=bf16"},
           {"norm,width=5,rows=4", "norm,rows=4,width=5"},
           {"vector,elements=10000000000000,passes=3", "vector,elements=10000000000000,passes=3"},
           {"stream,bytes=1", "stream,bytes=1"}}) {
    INFO(text);
    const auto read = logs::parse_kernel(text);
    CHECK(read.faults.empty());
    REQUIRE(read.kernel);
    CHECK(to_string(*read.kernel) == written);
  }
}

TEST_CASE("a kernel is refused with all that is wrong with it", "[calibrate]") {
  const std::string all = problems("matmul,m=0,k=2e9,dtype=int8,heads=3,m=4,k");
  for (const char* part :
       {"m is \"0\" (give a whole number", "k is \"2e9\", more than the 1e+09", "dtype \"int8\" is not known",
        "matmul has no \"heads\"", "m is given twice", "\"k\" is not a key=value", "matmul needs n"}) {
    INFO(part);
    CHECK(contains(all, part));
  }
  CHECK(contains(problems("matmu,m=1"), "\"matmu\" is not an operator (did you mean matmul?)"));
  CHECK(contains(problems("conv2d"),
                 "the known ones are matmul, flash_forward, flash_backward, norm, vector, stream"));
  CHECK(contains(problems(""), "\"\" is not an operator"));
  CHECK(contains(problems("stream"), "stream needs bytes"));
  CHECK(contains(problems("flash_forward,heads=4,sequence=1,head_dim=1,causal=maybe,dtype=bf16"),
                 "causal=yes"));
  for (const char* number : {"nan", "inf", "-1", "1.5", "1x", "", "0x10", "1e400"}) {
    INFO(number);
    CHECK(contains(problems("stream,bytes=" + std::string(number)), "give a whole number of at least 1"));
  }
  CHECK(contains(problems(std::string(100'000, ',')), "is too long"));
}

TEST_CASE("a table gives what is complete and names the rest", "[calibrate]") {
  const auto read = kernels_of(
      "a,\"matmul,m=1,k=2,n=3,dtype=bf16\",2.5,trn1.2xlarge,B,here,\n"
      "b,,7,,C,there,no shapes\n"
      "c,,7,,D,there,\n");
  CHECK(read.rows == 3);
  REQUIRE(read.points.size() == 1);
  CHECK(read.points[0].id == "a");
  CHECK(read.points[0].seconds == Approx(2.5e-6));
  CHECK(read.points[0].instance == "trn1.2xlarge");
  CHECK(read.points[0].at.line == 2);
  REQUIRE(read.left_out.size() == 2);
  CHECK(contains(to_string(read.left_out[0]), "k.csv:3:7: kernel: b: quality C: no shapes"));
  CHECK(contains(read.left_out[1].problem, "c: quality D: machine or shapes are missing"));
}

TEST_CASE("a table is refused with every fault at its place", "[calibrate]") {
  const std::string all = refusal_of_rows(
      "a,\"matmul,m=1,k=2,dtype=bf16\",0,,B,,\n"
      "a,\"stream,bytes=1\",x,trn1.2xlarge,E,here,\n"
      ",\"stream,bytes=1\",,trn1.2xlarge,A,here,\n"
      "d,\"stream,bytes=1\",1e30,trn1.2xlarge,A,here,\n");
  for (const char* part :
       {"k.csv:2:3: kernel: matmul needs n", "k.csv:2:31: device_us: is not the time of a kernel",
        "k.csv:2:33: instance: not stated", "source: not stated", "k.csv:3:1: id: line 2 has this id too",
        "k.csv:3:20: device_us", "quality: \"E\" is not one of A, B, C, D", "k.csv:4:1: id: not stated",
        "device_us: not stated", "k.csv:5:20: device_us: is not the time of a kernel"}) {
    INFO(all);
    INFO(part);
    CHECK(contains(all, part));
  }
  CHECK(contains(refusal_of_rows("a,\"stream,bytes=1\",1e-320,trn1.2xlarge,A,here,\n"),
                 "is not the time of a kernel"));
  CHECK(contains(refusal_of([] { logs::parse_measured_kernels("id,kernel,device_us\n", "k.csv"); }),
                 "measured-kernels.md"));
}

TEST_CASE("no published kernel is complete", "[calibrate]") {
  const auto text = read_text(TRNPLAN_SOURCE_DIR "/catalog/measured-kernels.csv");
  const auto d = logs::detect(text, "measured-kernels.csv");
  CHECK(d.kernels.rows == 5);
  CHECK(d.kernels.points.empty());
  REQUIRE(d.kernels.left_out.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(contains(d.kernels.left_out[i].problem, "X0" + std::to_string(39 + i) + ": quality C: "));
  }
}

TEST_CASE("a profile is a kernel when it holds one graph of one core", "[calibrate]") {
  const Kernel kernel = *logs::parse_kernel("stream,bytes=1").kernel;
  const auto taken = [&](const std::string& json) {
    std::vector<Diagnostic> faults;
    const auto d = logs::detect(json, "k.json");
    const auto point = logs::measured_kernel(d.devices, kernel, "k.json", faults);
    CHECK(point.has_value() == faults.empty());
    return point ? std::to_string(point->seconds) : faults[0].problem;
  };
  CHECK(taken(R"({"g": {"total_time": 0.5}})") == "0.500000");
  CHECK(taken(R"({"summary": [{"total_time": 0.25}]})") == "0.250000");
  CHECK(taken(R"({"g": {"total_time": 1e-320}})") == "1e-320 s is not the time of a kernel");
  CHECK(taken(R"({"g": {"total_time": 0}})") == "the file has no device time");
  CHECK(taken(R"({"g": {"total_time": 1}, "h": {"total_time": 2}})") == "the file has 2 graphs");
  CHECK(contains(taken(R"({"g": {"total_time": 1, "cc_op_time": 0.1}})"), "has collectives"));
  // What the compiler estimates is no measurement.
  CHECK(taken(R"({"metadata": [{"is_simulation": true}], "summary": [{"total_time": 1}]})") ==
        "the file has no device time");
}
