#include "logs/training/checkpoint_lines.h"

#include "text/log_lines.h"
#include "units/quantity.h"

namespace trnplan::logs {

namespace {

constexpr double kMostSeconds = 7 * kDay;  ///< as of a step: more is not the time of a save

std::optional<double> stated(std::string_view line) {
  Scan megatron(line);
  if (megatron.past("save-checkpoint ..")) {
    if (!megatron.past(": ")) return std::nullopt;
    if (Scan most = megatron; most.past(", ")) megatron = most;
    const auto ms = megatron.number();
    return ms ? std::optional(*ms * 1e-3) : std::nullopt;
  }
  Scan titan(line);
  if (titan.past("Finished saving the checkpoint")) return titan.past("in ") ? titan.number() : std::nullopt;
  Scan nemo(line);
  return nemo.past("Global Checkpoint Save") && nemo.past("Save duration: ") ? nemo.number() : std::nullopt;
}

}  // namespace

std::optional<double> save_seconds(std::string_view line) {
  const std::optional<double> seconds = stated(line);
  return seconds && *seconds > 0 && *seconds <= kMostSeconds ? seconds : std::nullopt;
}

}  // namespace trnplan::logs
