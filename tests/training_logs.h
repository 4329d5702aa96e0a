// Text of training logs, for tests.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>

namespace trnplan {

/// Bars of a run from step `first` to `last`, each printed twice, whose clock starts at `clock` seconds.
inline std::string bars(int first, int last, const std::function<int(int)>& seconds_of, int clock = 0,
                        int total = 100) {
  std::string text;
  for (int i = first; i <= last; ++i) {
    clock += seconds_of(i);
    const std::string line = fmt::format(
        "Epoch 0:   1%|#| {}/{} [{:d}:{:02d}:{:02d}<1:00:00, 9.00s/it, v_num=2, reduced_train_loss=13.40, "
        "lr=7.5e-9, parameter_norm=5536.0, global_step={}.0, consumed_samples={}.0]\r",
        i, total, clock / 3600, clock / 60 % 60, clock % 60, i, i * 1024);
    text += line + line;
  }
  return text + "\n";
}

/// One of Megatron-LM's log.
inline std::string megatron_iteration(int i, const std::string& milliseconds) {
  return fmt::format(
      " [2025-03-04 10:05:{:02}] iteration        {}/     100 | consumed samples:  1000 | elapsed time "
      "per iteration (ms): {} | learning rate: 1.0E-05 | global batch size:   128 | lm loss: 2.0E+00 "
      "|\n",
      i, i, milliseconds);
}

/// Six iterations of Megatron-LM's log, each of so many milliseconds.
inline std::string megatron_iterations(const char* milliseconds) {
  std::string text;
  for (int i = 1; i <= 6; ++i) text += megatron_iteration(i, milliseconds);
  return text;
}

}  // namespace trnplan
