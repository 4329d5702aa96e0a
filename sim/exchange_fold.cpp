#include "sim/exchange_fold.h"

#include <algorithm>
#include <utility>

namespace trnplan::sim {

namespace {

/// How members and resources are numbered: in turns of `parts` runs, a run of each part after the other.
class Numbering {
 public:
  Numbering(std::uint32_t run, std::uint32_t parts) : run_(run), parts_(parts) {}

  /// The one of the part `by` on.
  std::uint32_t moved(std::uint32_t i, std::uint32_t by) const {
    const std::uint32_t turn = run_ * parts_;
    return i / turn * turn + (i % turn + by * run_) % turn;
  }
  /// Its like of the first part, numbered among those of the first part.
  std::uint32_t first(std::uint32_t i) const { return i / (run_ * parts_) * run_ + i % run_; }

 private:
  std::uint32_t run_, parts_;
};

void sort(std::vector<Weight>& weights) {
  std::sort(weights.begin(), weights.end(),
            [](const Weight& a, const Weight& b) { return a.resource < b.resource; });
}

bool equal(const std::vector<Weight>& a, const std::vector<Weight>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Weight& x, const Weight& y) {
    return x.resource == y.resource && x.bytes == y.bytes;
  });
}

class Folder {
 public:
  Folder(const Exchange& e, std::uint32_t resources)
      : e_(e), parts_(e.parts), members_(e.run, parts_), resources_(resources / parts_, parts_) {}

  std::optional<Exchange> run() const {
    Exchange out{e_.members / parts_, e_.start, {}};
    for (const Round& round : e_.rounds) {
      if (round.messages.size() % parts_ != 0) return std::nullopt;
      const std::size_t each = round.messages.size() / parts_;
      Round folded{round.repeat, round.latency, {}, round.pipelined};
      for (std::size_t i = 0; i < each; ++i) {
        for (std::uint32_t by = 1; by < parts_; ++by) {
          if (!same(round.messages[i], round.messages[by * each + i], by)) return std::nullopt;
        }
        std::optional<Message> one = folded_message(round.messages[i]);
        if (!one) return std::nullopt;
        folded.messages.push_back(std::move(*one));
      }
      out.rounds.push_back(std::move(folded));
    }
    return out;
  }

 private:
  bool same(const Message& first, const Message& other, std::uint32_t by) const {
    if (members_.moved(first.from, by) != other.from || members_.moved(first.to, by) != other.to ||
        first.latency != other.latency || first.flow.scale != other.flow.scale)
      return false;
    std::vector<Weight> moved = first.flow.weights, its = other.flow.weights;
    for (Weight& w : moved) w.resource = resources_.moved(w.resource, by);
    sort(moved);
    sort(its);
    return equal(moved, its);
  }

  /// nullopt when two members or resources of the message become one, which would change what it waits for or
  /// what it gets.
  std::optional<Message> folded_message(const Message& m) const {
    Message out{members_.first(m.from), members_.first(m.to), m.flow, m.latency};
    if (out.from == out.to && m.from != m.to) return std::nullopt;
    for (Weight& w : out.flow.weights) w.resource = resources_.first(w.resource);
    sort(out.flow.weights);
    const auto twice = [](const Weight& a, const Weight& b) { return a.resource == b.resource; };
    const auto& weights = out.flow.weights;
    if (std::adjacent_find(weights.begin(), weights.end(), twice) != weights.end()) return std::nullopt;
    return out;
  }

  const Exchange& e_;
  std::uint32_t parts_;
  Numbering members_, resources_;
};

bool well_formed(const Exchange& e, std::uint32_t parts, std::size_t resources) {
  if (e.parts != parts || e.run == 0 || e.members % (e.run * parts) != 0) return false;
  return std::all_of(e.rounds.begin(), e.rounds.end(), [&](const Round& round) {
    return std::all_of(round.messages.begin(), round.messages.end(), [&](const Message& m) {
      const auto& weights = m.flow.weights;
      return m.from < e.members && m.to < e.members &&
             std::all_of(weights.begin(), weights.end(),
                         [&](const Weight& w) { return w.resource < resources; });
    });
  });
}

}  // namespace

std::optional<FoldedExchanges> fold(const std::vector<double>& capacity,
                                    const std::vector<Exchange>& exchanges) {
  if (exchanges.empty() || exchanges.front().parts < 2) return std::nullopt;
  FoldedExchanges out;
  out.parts = exchanges.front().parts;
  if (capacity.size() % out.parts != 0) return std::nullopt;
  const std::size_t each = capacity.size() / out.parts;
  for (std::size_t r = each; r < capacity.size(); ++r) {
    if (capacity[r] != capacity[r - each]) return std::nullopt;
  }
  out.capacity.assign(capacity.begin(), capacity.begin() + static_cast<std::ptrdiff_t>(each));
  for (const Exchange& e : exchanges) {
    if (!well_formed(e, out.parts, capacity.size())) return std::nullopt;
    auto one = Folder(e, static_cast<std::uint32_t>(capacity.size())).run();
    if (!one) return std::nullopt;
    out.exchanges.push_back(std::move(*one));
  }
  return out;
}

}  // namespace trnplan::sim
