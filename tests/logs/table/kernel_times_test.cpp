#include "logs/table/kernel_times.h"

#include "logs/detect/detect.h"
#include "tests/catch.h"
#include "text/diagnostic.h"

using namespace trnplan;
using logs::KernelOp;
using logs::parse_kernel_times;

namespace {

std::vector<std::string> faults_of(const std::string& text) {
  std::vector<std::string> all;
  try {
    (void)parse_kernel_times(text, "k.csv");
  } catch (const InputError& e) {
    for (const Diagnostic& d : e.faults())
      all.push_back(std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + ": " + d.key);
  }
  return all;
}

}  // namespace

TEST_CASE("tables of timed kernels", "[logs]") {
  const auto rows = parse_kernel_times(
      "k,m,n,dtype,us,b,note\n4096,128,256,torch.bfloat16,12.5,,x\n1,2,3,fp32,4,5,\n", "dir/k.csv");
  REQUIRE(rows.size() == 2);
  CHECK(to_string(rows[0].kernel) == "matmul,m=128,k=4096,n=256,dtype=bf16");
  CHECK(rows[0].seconds == Approx(12.5e-6));
  CHECK(rows[0].at.line == 2);
  CHECK(to_string(rows[1].kernel) == "matmul,m=2,k=1,n=3,batch=5,dtype=fp32");
  const auto attention = parse_kernel_times(
      std::string(logs::kAttentionColumns) + "\n2,32,4096,128,bf16,yes,backward,900,flash-attention-2\n",
      "k.csv");
  REQUIRE(attention.size() == 1);
  CHECK(attention[0].kernel.op == KernelOp::flash_backward);
  CHECK(attention[0].library == "flash-attention-2");
}

TEST_CASE("wrong tables of kernels name every fault at its place", "[logs]") {
  // Catches a fault that hides others, and one without its column.
  CHECK(faults_of("m,n,k,dtype,us\n8192,0,8192,bf9,-5\n1,2\nx,4096,4096,bf16,\n") ==
        std::vector<std::string>{"2:6: n", "2:13: dtype", "2:17: us", "3:1: ", "4:1: m", "4:18: us"});
  CHECK(faults_of("m,n,k,type\n1,2,3,bf16\n") == std::vector<std::string>{"1:1: dtype", "1:1: us"});
  CHECK(faults_of("batch,heads,seq,head_dim,dtype,causal,pass,us\n1,1,1,1,bf16,true,both,3\n") ==
        std::vector<std::string>{"2:14: causal", "2:19: pass"});
  CHECK(faults_of("m,n,k,dtype,us\n") == std::vector<std::string>{"1:1: "});
}

TEST_CASE("tables of kernels are found by their heading", "[logs]") {
  CHECK(logs::detect("m,n,k,dtype,us\r\n8,8,8,bf16,3\r\n", "a.txt").times.size() == 1);
  CHECK_FALSE(logs::is_kernel_times("time,command,name"));
}
