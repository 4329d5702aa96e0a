// Files given to calibrate: logs, profiles, tables, event files.
#include "logs/detect/detect.h"

#include <cmath>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

namespace {

bool positive(double value) {
  return std::isfinite(value) && value > 0;
}

void ensure_positive(const std::optional<double>& value, const char* what) {
  fuzz::ensure(!value || positive(*value), what);
}

void check(const logs::StepSample& s) {
  fuzz::ensure(positive(s.seconds), "a step takes time");
  fuzz::ensure(!s.spread || (std::isfinite(*s.spread) && *s.spread >= 0), "a spread is none or a number");
  fuzz::ensure(s.count >= 0 && s.left_out >= 0, "steps are counted");
  fuzz::ensure(s.at.line >= 0 && s.last_line >= s.at.line, "lines are in order");
  ensure_positive(s.wall_seconds, "wall seconds");
  ensure_positive(s.global_batch, "a batch has sequences");
  ensure_positive(s.sequence, "a sequence has tokens");
  ensure_positive(s.sequences_per_second, "sequences/s");
  ensure_positive(s.tokens_per_second, "tokens/s");
  fuzz::ensure(fuzz::is_printable(s.format + s.basis + s.framework), "a sample is safe to print");
}

void check(const logs::Detected& d) {
  fuzz::ensure(!d.kinds.empty(), "something is known, or the file is refused");
  for (const auto& kind : d.kinds) fuzz::ensure(kind.pieces > 0, "a kind has pieces");
  for (const auto& s : d.steps) check(s);
  for (const auto& m : d.memory) {
    ensure_positive(m.bytes, "memory has bytes");
    fuzz::ensure(fuzz::is_printable(m.where), "a place is safe to print");
  }
  for (const auto& c : d.collectives) {
    fuzz::ensure(positive(c.bytes) && positive(c.seconds) && c.median_seconds >= c.seconds && c.count > 0,
                 "a collective has size and time");
    fuzz::ensure(fuzz::is_printable(c.op + c.type + c.algorithm), "a collective is safe to print");
  }
  for (const auto& g : d.devices) {
    fuzz::ensure(positive(g.seconds), "a graph takes time");
    fuzz::ensure(fuzz::is_printable(g.name), "a name is safe to print");
    for (const auto& [engine, seconds] : g.engine_seconds) {
      fuzz::ensure(std::isfinite(seconds) && seconds >= 0, "an engine is busy for a time");
      fuzz::ensure(fuzz::is_printable(engine), "an engine is safe to print");
    }
  }
  fuzz::ensure(d.kernels.points.size() + d.kernels.left_out.size() == d.kernels.rows, "no kernel is lost");
  for (const auto& k : d.kernels.points) {
    fuzz::ensure(positive(k.seconds) && !k.id.empty(), "a kernel has an id and takes time");
    const auto again = logs::parse_kernel(to_string(k.kernel));
    fuzz::ensure(again.kernel && to_string(*again.kernel) == to_string(k.kernel),
                 "a kernel reads as written");
  }
  for (const Diagnostic& w : d.kernels.left_out) {
    fuzz::ensure(fuzz::is_printable(to_string(w)), "what is left out is safe to print");
  }
  for (const auto& table : d.nccl) {
    fuzz::ensure(fuzz::is_printable(table.device), "a device is safe to print");
    for (const auto& time : table.times)
      fuzz::ensure(positive(time.bytes) && positive(time.seconds), "a time has a size");
  }
  for (const Diagnostic& hung : logs::hung_collectives(d.dumps)) {
    fuzz::ensure(!hung.at.file.empty() && !hung.fix.empty(), "a hung collective has a place and a fix");
    fuzz::ensure(fuzz::is_printable(to_string(hung)), "a hung collective is safe to print");
  }
  fuzz::ensure(d.skipped.size() <= 51, "warnings are few");
  for (const Diagnostic& w : d.skipped) {
    fuzz::ensure(!w.at.file.empty() && !w.problem.empty() && !w.fix.empty(),
                 "a warning says where, what and how");
    fuzz::ensure(fuzz::is_printable(to_string(w)), "a warning is safe to print");
  }
}

}  // namespace

void fuzz::detect_target(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  std::size_t steps = 0, kinds = 0;
  fuzz::refusable([&] {
    const logs::Detected d = logs::detect(text, "log");
    check(d);
    steps = d.steps.size();
    kinds = d.kinds.size();
  });
  fuzz::refusable([&] {
    TextStream pieces(text, 7);
    const logs::Detected d = logs::detect(pieces, "log");
    fuzz::ensure(d.steps.size() == steps && d.kinds.size() == kinds, "pieces read as the whole");
  });
}
