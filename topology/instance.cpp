#include "topology/instance.h"

#include <algorithm>
#include <string_view>

namespace trnplan::topology {

std::string Instance::shown_name() const {
  std::string text = name;
  for (const std::string& change : changes) text += (&change == &changes.front() ? " with " : ", ") + change;
  return text;
}

std::string price_words(std::string kind) {
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return kind;
}

const Price* Instance::price() const {
  if (chosen) return &*chosen;
  const auto found =
      std::find_if(prices.begin(), prices.end(), [](const Price& p) { return p.is_on_demand(); });
  if (found != prices.end()) return &*found;
  return prices.empty() ? nullptr : &prices.front();
}

bool Instance::starts_in_blocks_alone() const {
  const auto has = [&](std::string_view kind) {
    return std::any_of(prices.begin(), prices.end(), [&](const Price& p) { return p.kind == kind; });
  };
  return has("capacity_block") && !has("on_demand");
}

double Instance::usd_per_hour() const {
  const Price* known = price();
  return known == nullptr ? 0.0 : known->usd_per_hour;
}

std::string_view chip_word(const Instance& instance) {
  const bool gpu = instance.traits.accelerator == Accelerator::gpu && instance.cores_per_chip == 1;
  return gpu ? device_word(instance.traits.accelerator) : "chip";
}

}  // namespace trnplan::topology
