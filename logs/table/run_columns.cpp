#include "logs/table/run_columns.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

#include "models/architecture/limits.h"
#include "models/job/limits.h"

namespace trnplan::logs {

namespace {

using models::model_limits, models::run_limits;

struct Column {
  std::string_view name;
  int most;
};
/// Bounds by column name; tables have several names for one number.
constexpr Column kColumns[] = {{"layers", model_limits.layers},
                               {"hidden", model_limits.hidden},
                               {"ffn", model_limits.intermediate},
                               {"heads", model_limits.heads},
                               {"kv_heads", model_limits.heads},
                               {"kv", model_limits.heads},
                               {"vocab", model_limits.vocabulary},
                               {"experts", model_limits.experts},
                               {"vpp_layers", model_limits.layers},
                               {"seq", run_limits.sequence},
                               {"seq_len", run_limits.sequence},
                               {"sequence", run_limits.sequence},
                               {"tp", run_limits.ranks},
                               {"pp", run_limits.ranks},
                               {"vpp", model_limits.layers},
                               {"cp", run_limits.ranks},
                               {"ep", run_limits.ranks},
                               {"dp", run_limits.ranks},
                               {"gpus", run_limits.ranks},
                               {"accelerators", run_limits.ranks},
                               {"nodes", run_limits.ranks},
                               {"micro_batch", run_limits.micro_batch},
                               {"mbs", run_limits.micro_batch},
                               {"global_batch", run_limits.global_batch},
                               {"gbs", run_limits.global_batch}};

}  // namespace

int count_of(CsvReader& csv, std::string_view column, int fallback) {
  const auto* found = std::find_if(std::begin(kColumns), std::end(kColumns),
                                   [&](const Column& c) { return c.name == column; });
  if (found == std::end(kColumns)) throw std::invalid_argument("no bounds of " + std::string(column));
  return csv.whole(column, fallback, found->most);
}

}  // namespace trnplan::logs
