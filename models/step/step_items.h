// Items, the pieces of a step, and the attribution of their time. Internal to the step model.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/collective/collective.h"
#include "models/operators/operators.h"
#include "models/parameters/profile.h"
#include "units/sim_time.h"

namespace trnplan::models {

inline constexpr std::size_t kCategories = static_cast<std::size_t>(Category::count);
inline constexpr std::size_t kParameters = kMostParameters;

/// Ticks of one operator.
struct OperatorTicks {
  std::string_view name;
  SimTime time;
};

/// Ticks by category, by parameter and by operator. The categories add up exactly to the whole, and so do the
/// parameters. `also` counts time again under a second parameter that it scales with.
struct Attribution {
  std::array<std::int64_t, kCategories> category{};
  std::array<std::int64_t, kParameters> parameter{}, also{};
  std::vector<OperatorTicks> operators;

  SimTime total() const;
  void add(std::string_view name, Category c, Parameter p, SimTime t);
  /// `times` may be 0.
  void add(const Attribution& other, std::int64_t times = 1);
};

/// The collective that an item was made from, so that it can be repeated on other groups.
struct Call {
  ProcessGroup process_group = ProcessGroup::none;
  CollectiveOp op = CollectiveOp::all_gather;
  Bytes bytes{};
  int repeat = 1;
  std::size_t phase = 0;

  auto operator<=>(const Call&) const = default;
};

/// A task in the step model: a fixed part, then perhaps a transfer. A collective is one item per phase.
struct Item {
  std::string_view name;
  Attribution fixed;
  SimTime length;     ///< of the fixed part
  Fabric::Load load;  ///< empty: work only
  double scale = 0;   ///< of sim::Flow
  Category transfer_category = Category::compute;
  /// Parameter of the time beyond `length`. For work: of the concurrent transfer that slows it.
  Parameter transfer_parameter = common::overlap_slowdown;
  Seconds alone{};  ///< the transfer's length without contention
  Call call;
  bool overlapped = false;  ///< runs concurrently with the next item
  bool background = false;  ///< see Operator
  Flops flops{};            ///< tensor-engine operations of work

  bool is_transfer() const { return call.process_group != ProcessGroup::none; }
  SimTime uncontended() const { return length + to_sim_time(alone); }
};
using Items = std::vector<Item>;

/// True if an item of a list runs concurrently with the next one: the last runs with none.
inline bool runs_with_next(const Items& items, std::size_t i) {
  return items[i].overlapped && i + 1 < items.size();
}

/// Attributes the time of an item beyond its fixed part. A concurrent transfer slows work by `slowdown` f, so
/// that it takes t (1 - 1/f) longer, with t the transfer's time. That scales with the resource that limits
/// the transfer, and grows by t/f for each unit of log f, which also counts for overlap_slowdown.
void attribute_beyond(Attribution& attribution, const Item& item, SimTime beyond, double slowdown);
/// Length of an item of work on a core whose work takes `factor` times as long: its compute and optimizer do,
/// not what the host or a message takes.
SimTime stretched(const Item& item, double factor);
/// Attributes the time of work beyond its length on an ideal core.
void attribute_stretch(Attribution& attribution, const Item& item, SimTime stretch,
                       const ParameterSchema& schema);
/// An item of work. `also` is a second parameter that the length scales with, or none.
Item work_item(std::string_view name, Category c, Parameter p, Seconds s, Parameter also = {});
/// The items of `collective` repeated `call.repeat` times in a row: its phases, each for all repeats
/// together. Throws std::overflow_error where its bytes have no path.
Items transfer_items(const Fabric& fabric, std::string_view name, Category c, const Collective& collective,
                     const Call& call);
SimTime uncontended(const Items& items);
/// uncontended() of the collective's transfer_items(). Throws as these do.
SimTime uncontended(const Fabric& fabric, const Collective& collective, int repeat);

}  // namespace trnplan::models
