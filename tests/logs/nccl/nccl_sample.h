// Output of all_reduce_perf in the format of NVIDIA/nccl-tests@01d67614:src/common.cu, with invented times.
#pragma once

#include <string>

#include <fmt/format.h>

namespace trnplan {

/// A row for hosts of eight GPUs, out of place and in place; busbw = 2 (ranks - 1) / ranks algbw.
inline std::string nccl_row(double bytes, double us, double us_in_place, int hosts = 2) {
  const double algbw = bytes / us / 1e3, in_place = bytes / us_in_place / 1e3, factor = 2 - 0.25 / hosts;
  return fmt::format(
      "{:12.0f} {:13.0f}     float     sum      -1 {:8.2f} {:7.2f} {:7.2f}      0 {:8.2f} {:7.2f} {:7.2f}    "
      "  0\n",
      bytes, bytes / 4, us, algbw, algbw * factor, us_in_place, in_place, in_place * factor);
}

inline std::string nccl_ranks(int hosts, const std::string& device) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg "
      "iters: 1 "
      "validation: 1 graph: 0\n#\n# Using devices\n";
  for (int rank = 0; rank < hosts * 8; ++rank)
    text += fmt::format("#  Rank {:2d} Group  0 Pid {:6d} on {:>10} device {:2d} [0x{:02x}] {}\n", rank,
                        1000 + rank, fmt::format("node-{}", rank / 8), rank % 8, 0x53 + rank % 8, device);
  return text;
}

inline std::string nccl_heading() {
  return "#\n"
         "#                                                              out-of-place                       "
         "in-place\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   "
         "algbw   "
         "busbw #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  "
         "(GB/s)  "
         "(GB/s)\n";
}

inline std::string nccl_end(bool failed = false) {
  return std::string("# Out of bounds values : ") + (failed ? "3 FAILED" : "0 OK") +
         "\n# Avg bus bandwidth    : 61.7 \n#\n";
}

/// Two hosts of eight GPUs; 1 GiB at 187.5 GB/s of bus bandwidth.
inline std::string nccl_sample(const std::string& device = "NVIDIA H100 80GB HBM3") {
  return nccl_ranks(2, device) + nccl_heading() + nccl_row(8, 60, 60) + nccl_row(1048576, 120, 118) +
         nccl_row(1073741824, 10737.42, 10737.42) + nccl_end();
}

}  // namespace trnplan
