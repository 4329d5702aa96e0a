#include "sim/transfers.h"

#include <algorithm>
#include <stdexcept>

#include "sim/indexed_heap.h"

namespace trnplan::sim {

namespace {

constexpr auto kBefore = [](const auto& x, const auto& y) { return x < y; };

}  // namespace

struct Transfers::Placed {
  Transfers& transfers;
  void operator()(const End& e, std::size_t i) const {
    transfers.place_[e.bundle] = static_cast<std::uint32_t>(i);
  }
};

void Transfers::reserve(std::size_t flows) {
  network_.reserve(flows);
  ends_.reserve(flows);
  place_.reserve(flows);
}

void Transfers::start(std::span<const filling::Part> parts, double scale, std::uint32_t owner) {
  network_.add(parts, scale, owner);
  forecast_reshaped();
}

void Transfers::start(const Flow& flow, std::uint32_t owner) {
  network_.add(flow, owner);
  forecast_reshaped();
}

void Transfers::resume(std::span<const filling::Part> parts, double scale, std::uint32_t owner, SimTime since,
                       std::uint64_t sequence) {
  const FlowNetwork::Handle flow = network_.add(parts, scale, owner);
  network_.settle_alone(flow, since, sequence);
  forecast_reshaped();
  forecast(network_.bundle(flow));
}

Moment Transfers::next() const {
  Moment first;
  if (!due_.empty()) first = {due_time_, Phase::completion, due_sequence_};
  if (ends_.empty()) return first;
  return std::min(first, {ends_.front().at, Phase::completion, ends_.front().sequence});
}

Transfers::Finished Transfers::finish_next() {
  if (const auto only = take_only()) return finish(*only);
  // Bundles whose turn has come give up what ends now, which then goes by owner.
  while (!ends_.empty() &&
         (due_.empty() || (ends_.front().at == due_time_ && ends_.front().sequence == due_sequence_)))
    take_due();
  if (due_time_ == kNever) throw std::overflow_error("a transfer ends beyond the simulation clock");
  std::pop_heap(due_.begin(), due_.end(), Due::later);
  const Due first = due_.back();
  due_.pop_back();
  return finish(first.flow);
}

Transfers::Finished Transfers::finish(FlowNetwork::Handle flow) {
  const Finished finished{network_.owner(flow), network_.changed(flow)};
  network_.remove(flow);
  forecast_reshaped();
  return finished;
}

/// The common case: takes the entry of a bundle of one flow with which no other ends. Its flow, or nothing.
std::optional<FlowNetwork::Handle> Transfers::take_only() {
  if (!due_.empty() || ends_.empty()) return std::nullopt;
  const End first = ends_.front();
  if (first.at == kNever || !network_.lone(first.bundle)) return std::nullopt;
  for (std::size_t next = 1; next < std::min<std::size_t>(ends_.size(), 5);
       ++next) {  // the heap has four below
    if (ends_[next].at == first.at && ends_[next].sequence == first.sequence) return std::nullopt;
  }
  place_[first.bundle] = kNone;
  indexed_heap::erase(ends_, 0, kBefore, Placed{*this});
  return network_.first(first.bundle);
}

void Transfers::take_due() {
  const FlowNetwork::BundleId b = ends_.front().bundle;
  due_time_ = ends_.front().at;
  due_sequence_ = ends_.front().sequence;
  do {
    const FlowNetwork::Handle flow = network_.first(b);
    due_.push_back({network_.owner(flow), flow});
    std::push_heap(due_.begin(), due_.end(), Due::later);
    network_.take_out_first(b);
  } while (network_.first(b) != FlowNetwork::kNone && end_of(b, network_.first(b)) <= due_time_);
  forecast_reshaped();
}

void Transfers::settle(SimTime now, std::uint64_t sequence) {
  const std::vector<FlowNetwork::BundleId>& changed = network_.settle(now, sequence);
  changed_bundles_ = &changed;
  // Where most move the heap is made anew.
  const bool most = changed.size() > 16 && changed.size() * 4 > ends_.size();
  for (const FlowNetwork::BundleId b : changed) {
    if (!most) {
      forecast(b);
    } else if (put(b) == kNone) {
      continue;
    }
    network_.forget_reshaped(b);
  }
  if (most) indexed_heap::make(ends_, kBefore, Placed{*this});
  forecast_reshaped();
}

const std::vector<std::pair<std::uint32_t, double>>& Transfers::changed() {
  changed_.clear();
  for (const FlowNetwork::BundleId b : *changed_bundles_) {
    network_.visit_flows(
        b, [&](FlowNetwork::Handle h) { changed_.emplace_back(network_.owner(h), network_.rate(h)); });
  }
  std::sort(changed_.begin(), changed_.end());
  return changed_;
}

std::vector<Transfers::Moving> Transfers::moving() const {
  std::vector<Moving> all;
  for (const Due& d : due_) all.push_back({{due_time_, Phase::completion, due_sequence_}, d.owner, d.flow});
  for (const End& e : ends_) {
    network_.visit_flows(e.bundle, [&](FlowNetwork::Handle h) {
      all.push_back({{end_of(e.bundle, h), Phase::completion, e.sequence}, network_.owner(h), h});
    });
  }
  std::sort(all.begin(), all.end(), [](const Moving& a, const Moving& b) {
    return a.end != b.end ? a.end < b.end : a.owner < b.owner;
  });
  return all;
}

SimTime Transfers::end_of(FlowNetwork::BundleId b, FlowNetwork::Handle flow) const {
  return filling::end_after(network_.since(b), network_.ticks_left(flow)).value_or(kNever);
}

/// Writes the entry of a bundle that has flows with a rate, wherever it is; its place in `ends_`.
std::size_t Transfers::put(FlowNetwork::BundleId b) {
  if (b >= place_.size()) place_.resize(b + 1, kNone);
  const FlowNetwork::Handle first = network_.first(b);
  if (first == FlowNetwork::kNone) return kNone;  // joined by another
  const End end{end_of(b, first), network_.sequence(b), b};
  if (place_[b] == kNone) {
    place_[b] = static_cast<std::uint32_t>(ends_.size());
    ends_.push_back(end);
  } else {
    ends_[place_[b]] = end;
  }
  return place_[b];
}

/// Brings the entry of a bundle up to date.
void Transfers::forecast(FlowNetwork::BundleId b) {
  if (network_.first(b) != FlowNetwork::kNone && network_.has_rate(b))
    return indexed_heap::update(ends_, put(b), kBefore, Placed{*this});
  if (b >= place_.size() || place_[b] == kNone) return;
  indexed_heap::erase(ends_, std::exchange(place_[b], kNone), kBefore, Placed{*this});
}

void Transfers::forecast_reshaped() {
  network_.visit_reshaped([&](FlowNetwork::BundleId b) { forecast(b); });
}

}  // namespace trnplan::sim
