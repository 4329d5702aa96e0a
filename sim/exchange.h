// Collective algorithms message by message.
//
// An exchange is a group of members that send messages in rounds. A message of a round moves when both its
// sender and its receiver have sent and received all their messages of the round before; it takes the round's
// latency, then the time its flow needs under the sharing of resources, then its own latency. Nothing else
// synchronises the members: a slow link holds up those that wait for it, step by step.
//
// In a pipelined round a message waits for its sender alone, and the sender has sent it when its flow has
// ended: while a message is in flight the next one may follow. Only its receiver waits for its latency.
//
// models/collective/collective.h folds the same description into coflows; a test holds the two together.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// One message from a member to another (or to itself), as a flow over the resources it uses.
struct Message {
  std::uint32_t from = 0, to = 0;
  Flow flow;
  SimTime latency = {};  ///< from the end of its flow until the receiver has it
};

/// The same messages, `repeat` times one after the other.
struct Round {
  std::int64_t repeat = 1;
  SimTime latency;  ///< before each message's flow
  std::vector<Message> messages;
  bool pipelined = false;
};

struct Exchange {
  std::uint32_t members = 0;
  SimTime start;
  std::vector<Round> rounds;
  /// Parts that may be the same but for their numbers: members come in runs of `run`, one of each part in
  /// turn; messages part after part, in each the same order; resources part after part.
  std::uint32_t parts = 1, run = 0;
};

struct ExchangeRun {
  SimTime end;                 ///< of the last exchange
  std::vector<SimTime> ended;  ///< per exchange; its start when it has nothing to do
  std::uint64_t messages = 0, events = 0;
  std::uint64_t digest = 0;  ///< of when each message of each repeat ends
};

/// Folding runs equal parts (sim/exchange_fold.h) as one. It changes nothing but `events`.
enum class Folding { where_same, never };

/// Runs exchanges that share resources, every message of its own or of those that it is the same as.
/// `capacity` in bytes/s by ResourceId. Messages are made as they are due, so memory is O(messages of one
/// step of every round, and those in flight), not of the whole. Throws std::invalid_argument for an unknown
/// member or resource, a capacity that is_capacity() refuses, weights that do not ascend by resource, or a
/// negative repeat or latency; std::overflow_error beyond the clock, or for capacities more than 2^80 apart.
/// Cost: O(log) per message plus the sharing.
ExchangeRun run_exchanges(const std::vector<double>& capacity, const std::vector<Exchange>& exchanges,
                          Folding folding = Folding::where_same);

}  // namespace trnplan::sim
