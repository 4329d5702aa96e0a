#include "io/output/log_json.h"

#include <optional>

#include "io/output/json_tree.h"

namespace trnplan::io {

namespace {

Json step(const logs::StepSample& s) {
  return {{"file", s.at.file},
          {"line", s.at.line},
          {"last_line", s.last_line},
          {"format", s.format},
          {"basis", s.basis},
          {"framework", s.framework},
          {"release", s.release},
          {"seconds", s.seconds},
          {"spread_seconds", or_null(s.spread)},
          {"count", s.count},
          {"left_out", s.left_out},
          {"wall_seconds", or_null(s.wall_seconds)},
          {"global_batch", or_null(s.global_batch)},
          {"sequence", or_null(s.sequence)},
          {"sequences_per_second", or_null(s.sequences_per_second)},
          {"tokens_per_second", or_null(s.tokens_per_second)}};
}

Json memory(const logs::MemorySample& m) {
  return {{"line", m.at.line},
          {"bytes", or_null(m.bytes)},
          {"core", or_null(m.core)},
          {"where", m.where},
          {"count", m.count}};
}

Json collective(const logs::CollectiveSample& c) {
  return {{"line", c.at.line},
          {"op", c.op},
          {"type", c.type},
          {"algorithm", c.algorithm},
          {"ranks", c.ranks > 0 ? Json(c.ranks) : Json()},
          {"bytes", c.bytes},
          {"seconds", c.seconds},
          {"median_seconds", c.median_seconds},
          {"count", c.count}};
}

Json device(const logs::DeviceSample& d) {
  return {{"line", d.at.line},
          {"name", d.name},
          {"seconds", d.seconds},
          {"active_seconds", or_null(d.active_seconds)},
          {"model_flops", or_null(d.model_flops)},
          {"hardware_flops", or_null(d.hardware_flops)},
          {"hbm_bytes", or_null(d.hbm_bytes)},
          {"collective_seconds", or_null(d.collective_seconds)},
          {"collective_active_seconds", or_null(d.collective_active_seconds)},
          {"mfu", or_null(d.mfu)},
          {"clock_hz", or_null(d.clock_hz)},
          {"engine_seconds", Json(d.engine_seconds)}};
}

Json skipped(const Diagnostic& w) {
  return {{"line", w.at.line}, {"key", w.key}, {"problem", w.problem}, {"fix", w.fix}};
}

Json kind(const logs::Detected::Kind& k) {
  return {{"kind", k.name}, {"pieces", k.pieces}};
}

template <class Item, class Write>
Json list(const std::vector<Item>& items, const Write& write) {
  Json all = Json::array();
  for (const Item& item : items) all.push_back(write(item));
  return all;
}

}  // namespace

void add_logs(Json& j, const ReadLogs& logs) {
  j["files"] = Json::array();
  for (const auto& [path, content] : logs.files) {
    std::vector<Diagnostic> left_out = content->skipped;
    left_out.insert(left_out.end(), content->kernels.left_out.begin(), content->kernels.left_out.end());
    for (const auto& table : content->tables) {
      left_out.insert(left_out.end(), table.warnings.begin(), table.warnings.end());
    }
    j["files"].push_back({{"file", path},
                          {"understood", list(content->kinds, kind)},
                          {"steps", list(content->steps, step)},
                          {"memory", list(content->memory, memory)},
                          {"collectives", list(content->collectives, collective)},
                          {"graphs", list(content->devices, device)},
                          {"skipped", list(left_out, skipped)}});
  }
  j["steps"] = list(logs.steps, step);
}

std::string logs_json(const std::string& instance, const ReadLogs& logs) {
  Json j = document();
  j["instance"] = instance;
  add_logs(j, logs);
  return dumped(j);
}

}  // namespace trnplan::io
