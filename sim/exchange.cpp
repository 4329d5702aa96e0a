#include "sim/exchange.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/event_queue.h"
#include "sim/exchange_fold.h"
#include "sim/transfers.h"

namespace trnplan::sim {

namespace {

/// Messages of a round by member: first[m] .. first[m + 1] in `messages`.
struct ByMember {
  std::vector<std::uint32_t> first, messages;

  ByMember(const Round& round, std::uint32_t members) : first(members + 1, 0) {
    visit(round, [&](std::uint32_t member, std::uint32_t) { ++first[member + 1]; });
    for (std::uint32_t m = 0; m < members; ++m) first[m + 1] += first[m];
    messages.resize(first[members]);
    std::vector<std::uint32_t> fill(first.begin(), first.end() - 1);
    visit(round, [&](std::uint32_t member, std::uint32_t i) { messages[fill[member]++] = i; });
  }
  std::uint32_t count(std::uint32_t member) const { return first[member + 1] - first[member]; }

 private:
  template <class Visit>
  static void visit(const Round& round, Visit&& each) {
    for (std::uint32_t i = 0; i < round.messages.size(); ++i) {
      each(round.messages[i].from, i);
      if (round.messages[i].to != round.messages[i].from) each(round.messages[i].to, i);
    }
  }
};

struct ExchangeEvent {
  enum class Kind : std::uint8_t { begin, move, arrival } kind = Kind::begin;
  std::uint32_t id = 0;  ///< exchange, message slot
};

void check(const std::vector<double>& capacity, const std::vector<Exchange>& exchanges) {
  for (const double c : capacity) {
    if (!is_capacity(c))
      throw std::invalid_argument("a capacity must lie between 10^-100 and 10^100 bytes/s");
  }
  for (const Exchange& e : exchanges) {
    if (e.start.ps < 0) throw std::invalid_argument("an exchange must not start before time zero");
    for (const Round& round : e.rounds) {
      if (round.repeat < 0 || round.latency.ps < 0) {
        throw std::invalid_argument("a round's repeat and latency must not be negative");
      }
      for (const Message& m : round.messages) {
        if (m.latency.ps < 0) throw std::invalid_argument("a message's latency must not be negative");
        if (m.from >= e.members || m.to >= e.members) {
          throw std::invalid_argument("a message names a member that does not exist");
        }
        const Weight* last = nullptr;
        for (const Weight& w : m.flow.weights) {
          if (w.resource >= capacity.size() || !(w.bytes > 0) || !std::isfinite(w.bytes)) {
            throw std::invalid_argument("a message's bytes must be positive, on a known resource");
          }
          if (last != nullptr && last->resource >= w.resource) {
            throw std::invalid_argument("a message's weights must ascend by resource, each once");
          }
          last = &w;
        }
      }
    }
  }
}

class Runner {
 public:
  /// Each of these messages stands for `parts` of them.
  Runner(const std::vector<double>& capacity, const std::vector<Exchange>& exchanges, std::uint32_t parts)
      : exchanges_(exchanges), parts_(parts), transfers_(capacity) {
    for (const Exchange& e : exchanges) {
      State& s = states_.emplace_back();
      s.at.resize(e.members);
      for (const Round& round : e.rounds) {
        s.by_member.emplace_back(round, e.members);
        const auto first = static_cast<std::uint32_t>(slots_.size());
        s.first_message.push_back(first);
        for (const Message& m : round.messages) {
          const auto place = static_cast<std::uint32_t>(slots_.size()) - first;
          slots_.push_back({&m, static_cast<std::uint32_t>(states_.size() - 1), first * parts + place,
                            static_cast<std::uint32_t>(round.messages.size()), round.latency,
                            round.pipelined});
        }
      }
      run_.ended.push_back(e.start);
    }
  }

  ExchangeRun run() {
    for (std::uint32_t e = 0; e < exchanges_.size(); ++e) {
      queue_.schedule(exchanges_[e].start, Phase::completion, {ExchangeEvent::Kind::begin, e});
    }
    while (true) {
      const Moment flow = transfers_.next(), event = queue_.next();
      const bool flow_first = flow < event;
      const SimTime at = flow_first ? flow.at : event.at;
      if (sharing_due_ && at > queue_.now()) {  // after everything that ends now
        sharing_due_ = false;
        transfers_.settle(queue_.now(), queue_.take_sequence());
      } else if (flow_first) {
        queue_.advance(at);
        sent(transfers_.finish_next().owner);
      } else if (event != Moment{}) {
        handle(queue_.pop().payload);
      } else {
        break;
      }
      ++run_.events;
      sharing_due_ = sharing_due_ || transfers_.unsettled();
    }
    for (const SimTime t : run_.ended) run_.end = std::max(run_.end, t);
    return std::move(run_);
  }

 private:
  /// Where a member is, and how many of its messages there are still to end.
  struct At {
    std::uint32_t round = 0, left = 0;
    std::int64_t repeat = 0;
  };
  struct State {
    std::vector<ByMember> by_member;           ///< per round
    std::vector<std::uint32_t> first_message;  ///< per round: its first slot
    std::vector<At> at;                        ///< per member
  };
  /// A message of a round; its flow is under way at most once at a time. Those in flight arrive in order.
  struct Slot {
    const Message* message;
    std::uint32_t exchange;
    std::uint32_t number, step;  ///< among all messages: the first it stands for, and how far to the next
    SimTime latency;
    bool pipelined;
    std::uint8_t ready = 0;   ///< ends that have come to this repeat
    bool awaited = false;     ///< pipelined: the receiver stands at the repeat of the next to arrive
    std::uint64_t early = 0;  ///< pipelined: arrived before the receiver came to their repeat
  };

  void handle(const ExchangeEvent& p) {
    switch (p.kind) {
      case ExchangeEvent::Kind::begin:
        for (std::uint32_t m = 0; m < exchanges_[p.id].members; ++m) arrive(p.id, m);
        return;
      case ExchangeEvent::Kind::move:
        return move(p.id);
      case ExchangeEvent::Kind::arrival:
        return arrived(p.id);
    }
  }

  /// A member stands before a round; rounds it has no part in are passed.
  void arrive(std::uint32_t e, std::uint32_t member) {
    State& s = states_[e];
    At& at = s.at[member];
    const auto& rounds = exchanges_[e].rounds;
    do {
      while (at.round < rounds.size() &&
             (at.repeat >= rounds[at.round].repeat || s.by_member[at.round].count(member) == 0)) {
        ++at.round;
        at.repeat = 0;
      }
      if (at.round == rounds.size()) return;
      at.left = s.by_member[at.round].count(member) - received_early(e, member);
      if (at.left == 0) ++at.repeat;
    } while (at.left == 0);
    const ByMember& mine = s.by_member[at.round];
    // The last message to be started may end at once and lead here again: `at` must not be read after it.
    const std::uint32_t first = s.first_message[at.round];
    for (std::uint32_t i = mine.first[member]; i < mine.first[member + 1]; ++i) {
      const std::uint32_t slot = first + mine.messages[i];
      Slot& m = slots_[slot];
      if (m.pipelined && m.message->from != member) continue;
      const bool alone = m.pipelined || m.message->from == m.message->to;
      if (++m.ready < (alone ? 1 : 2)) continue;
      m.ready = 0;
      if (m.latency.ps == 0) {
        move(slot);
      } else {
        queue_.schedule(queue_.now() + m.latency, Phase::completion, {ExchangeEvent::Kind::move, slot});
      }
    }
  }

  /// Of a pipelined round's messages to a member, those already there; the others are awaited from now on.
  std::uint32_t received_early(std::uint32_t e, std::uint32_t member) {
    const State& s = states_[e];
    const std::uint32_t round = s.at[member].round;
    if (!exchanges_[e].rounds[round].pipelined) return 0;
    std::uint32_t there = 0;
    for (std::uint32_t i = s.by_member[round].first[member]; i < s.by_member[round].first[member + 1]; ++i) {
      Slot& m = slots_[s.first_message[round] + s.by_member[round].messages[i]];
      if (m.message->to != member) continue;
      if (m.early > 0) {
        --m.early;
        ++there;
      } else {
        m.awaited = true;
      }
    }
    return there;
  }

  void move(std::uint32_t slot) {
    const Flow& flow = slots_[slot].message->flow;
    if (flow.weights.empty()) {
      ended_now_.push_back(slot);
      if (ended_now_.size() > 1) return;  // the loop below, further up the stack, takes it
      for (std::size_t i = 0; i < ended_now_.size(); ++i) sent(ended_now_[i]);
      ended_now_.clear();
      return;
    }
    transfers_.start(flow, slot);
  }

  /// A message's flow has ended.
  void sent(std::uint32_t slot) {
    const Slot& m = slots_[slot];
    const SimTime flight = m.message->latency;
    if (flight.ps > 0) {
      queue_.schedule(queue_.now() + flight, Phase::completion, {ExchangeEvent::Kind::arrival, slot});
    } else {
      arrived(slot);
    }
    if (m.pipelined && m.message->to != m.message->from) pass(m.exchange, m.message->from);
  }

  void arrived(std::uint32_t slot) {
    Slot& m = slots_[slot];
    run_.messages += parts_;
    run_.ended[m.exchange] = queue_.now();
    for (std::uint32_t p = 0; p < parts_; ++p) note(m.number + p * m.step);
    const std::uint32_t from = m.message->from, to = m.message->to;
    if (!m.pipelined) {
      pass(m.exchange, from);
      if (to != from) pass(m.exchange, to);
    } else if (m.awaited) {
      m.awaited = false;
      pass(m.exchange, to);
    } else {
      ++m.early;
    }
  }

  void pass(std::uint32_t e, std::uint32_t member) {
    At& at = states_[e].at[member];
    if (--at.left > 0) return;
    ++at.repeat;
    arrive(e, member);
  }

  /// A sum, so that the order of what ends at the same time is no matter.
  void note(std::uint64_t message) {
    std::uint64_t h = (message + 1) * 0x9e3779b97f4a7c15u ^ static_cast<std::uint64_t>(queue_.now().ps);
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    run_.digest += h ^ h >> 32;
  }

  const std::vector<Exchange>& exchanges_;
  std::uint32_t parts_;
  Transfers transfers_;
  std::vector<State> states_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> ended_now_;
  EventQueue<ExchangeEvent> queue_;
  bool sharing_due_ = false;
  ExchangeRun run_;
};

}  // namespace

ExchangeRun run_exchanges(const std::vector<double>& capacity, const std::vector<Exchange>& exchanges,
                          Folding folding) {
  check(capacity, exchanges);
  if (folding == Folding::where_same) {
    if (const auto one = fold(capacity, exchanges))
      return Runner(one->capacity, one->exchanges, one->parts).run();
  }
  return Runner(capacity, exchanges, 1).run();
}

}  // namespace trnplan::sim
