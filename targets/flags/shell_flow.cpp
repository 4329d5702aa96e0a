#include "targets/flags/shell_flow.h"

#include <utility>

#include <fmt/format.h>

namespace trnplan::targets {

namespace {

/// Most levels of compound commands; our own limit.
constexpr std::size_t kDeepestCompound = 64;
/// Most notes that are kept; our own limit.
constexpr std::size_t kMostNotes = 20;

}  // namespace

ShellFlow::Frame* ShellFlow::top(Kind kind) {
  return !frames_.empty() && frames_.back().kind == kind ? &frames_.back() : nullptr;
}

void ShellFlow::settle(ShellTruth holds, bool tested) {
  last_ = inverts_ ? shell_not(holds) : holds;
  tested_ = tested;
  inverts_ = false;
}

void ShellFlow::chain(bool conjunction) {
  const bool known = last_ != ShellTruth::unknown;
  chained_ = conjunction ? last_ == ShellTruth::yes || (!known && !tested_) : last_ == ShellTruth::no;
  if (active_ && !known && tested_) {
    note(source_.at(), "the condition is known only during the run: what depends on it is left out");
  }
}

void ShellFlow::end_list() {
  chained_ = true;
  inverts_ = false;
}

ShellFlow::Frame& ShellFlow::push(Kind kind) {
  if (frames_.size() == kDeepestCompound) {
    const ShellWord where = source_.place(source_.at());
    throw InputError({{name_, where.line, where.column},
                      "",
                      fmt::format("commands are nested deeper than {}", kDeepestCompound),
                      "give the script that starts the run, or the line that it ends in"});
  }
  Frame frame;
  frame.kind = kind;
  frame.before = active_;
  frame.enters = active_ && chained_;
  active_ = frame.enters;
  chained_ = true;
  frames_.push_back(std::move(frame));
  return frames_.back();
}

void ShellFlow::pop() {
  active_ = frames_.back().before;
  frames_.pop_back();
  end_list();
  begin_condition();
}

void ShellFlow::close_group(char with) {
  if (const Frame* f = top(Kind::group); f != nullptr && f->closes == with) pop();
}

void ShellFlow::begin_condition() {
  last_ = ShellTruth::yes;
  tested_ = false;
}

void ShellFlow::then(std::size_t at) {
  Frame* f = top(Kind::when);
  if (f == nullptr) return;
  const bool open = f->enters && !f->taken;
  active_ = open && last_ == ShellTruth::yes;
  if (open && last_ == ShellTruth::unknown)
    note(at, "the condition is known only during the run: assumed false");
  f->taken = f->taken || active_;
}

void ShellFlow::otherwise(bool last) {
  Frame* f = top(Kind::when);
  if (f == nullptr) return;
  active_ = f->enters && !f->taken;
  if (last) f->taken = true;
  begin_condition();
}

void ShellFlow::loop_body(std::size_t at) {
  Frame* f = top(Kind::loop);
  if (f == nullptr) return;
  const bool holds = f->runs ? *f->runs : last_ != (f->until ? ShellTruth::yes : ShellTruth::no);
  active_ = f->enters && holds;
  if (active_) note(at, "the loop is followed once");
}

void ShellFlow::begin_patterns() {
  frames_.back().patterns = true;
  active_ = false;
}

void ShellFlow::choose(ShellTruth any) {
  Frame& f = frames_.back();
  f.patterns = false;
  if (f.enters && !f.taken && any == ShellTruth::unknown)
    note(source_.at(), "the case is known only during the run: assumed not to be this one");
  active_ = f.enters && !f.taken && any == ShellTruth::yes;
  f.taken = f.taken || active_;
  end_list();
}

void ShellFlow::note(std::size_t at, const std::string& text) {
  if (notes_.size() < kMostNotes) notes_.push_back(fmt::format("line {}: {}", source_.place(at).line, text));
}

}  // namespace trnplan::targets
