// The host's launches against the work that they start.
#pragma once

#include <algorithm>
#include <utility>

#include "models/device/device.h"
#include "models/operators/operators.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Operators that state the host's time (Operator::host), one after the other.
class LaunchedWork {
 public:
  /// Excess of `host` over the work since the last call (beyond_busy); `busy` is all work until now.
  Seconds beyond(SimTime busy, Seconds host) {
    return beyond_busy(to_seconds(busy - std::exchange(launched_, busy)), host);
  }

 private:
  SimTime launched_;
};

/// The host's launches of a list (Operator::host).
struct Launches {
  Operator all;        ///< of the pass: name, category and parameter, with the host's time of all
  bool waits = false;  ///< it waits for the device inside the list

  explicit Launches(const OperatorList& list = {}) {
    for (const Operator& o : list) {
      if (o.host.value <= 0) continue;
      if (!o.of_pass) {
        waits = true;
        continue;
      }
      const Seconds before = all.host;
      all = o;
      all.host += before;
    }
  }
};

/// Two queues: the host launches the lists of a pass one after the other, and the device works on what was
/// launched. The host starts when the device has nothing left.
class HostQueue {
 public:
  /// Each wait is shorter by `less`, which a bound needs where its times are rounded in another way.
  explicit HostQueue(SimTime less = {}) : less_(less) {}

  /// Time for which the device waits for the host in each of `times` equal lists that take `each`. Nothing while
  /// the work before them lasts.
  SimTime wait(SimTime each, const Launches& launches, int times) {
    const Seconds work = to_seconds(each) * times, host = launches.all.host * times;
    if (launches.waits) {
      restart();
      return {};
    }
    SimTime wait;
    if (host.value > 0)
      wait = std::max(to_sim_time(beyond_busy(ahead_ + work, host) / times) - less_, SimTime{});
    ahead_ = ahead_ + work + to_seconds(wait) * times - host;
    return wait;
  }

  /// The device has nothing left.
  void restart() { ahead_ = {}; }

 private:
  SimTime less_;
  Seconds ahead_{};  ///< of the host: work that the device still has when the host has launched all
};

}  // namespace trnplan::models
