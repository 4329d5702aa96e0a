#include "tests/second_opinion/schedules.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "units/index.h"

namespace trnplan::second_opinion {

using models::Schedule;

namespace {

using Stages = std::vector<std::vector<Pass>>;

/// 1F1B as a rule for each stage of a pipeline in which every pass takes one tick: a backward pass goes first; stage i
/// of P takes a new micro-batch as long as it holds fewer than P - i.
/// D. Narayanan et al., SOSP 2019 (PipeDream), section 3.2; SC 2021, section 2.2.1.
class Ticks {
 public:
  Ticks(int stages, int micro_batches)
      : stages_(stages),
        micro_batches_(micro_batches),
        order_(at(stages)),
        forwards_(at(stages), 0),
        backwards_(at(stages), 0) {}

  Stages run() {
    while (backwards_.front() < micro_batches_) {
      const std::vector<int> forwards = forwards_, backwards = backwards_;  // before this tick
      for (int i = 0; i < stages_; ++i) tick(i, forwards, backwards);
    }
    return order_;
  }

 private:
  void tick(int i, const std::vector<int>& forwards, const std::vector<int>& backwards) {
    const int next_up = forwards[at(i)], next_down = backwards[at(i)];
    const bool gradient_is_there = next_down < (i + 1 < stages_ ? backwards[at(i + 1)] : next_up);
    const bool input_is_there = next_up < (i > 0 ? forwards[at(i - 1)] : micro_batches_);
    if (gradient_is_there) {
      order_[at(i)].push_back({PassKind::backward, next_down});
      ++backwards_[at(i)];
    } else if (input_is_there && next_up - next_down < stages_ - i) {
      order_[at(i)].push_back({PassKind::forward, next_up});
      ++forwards_[at(i)];
    }
  }

  int stages_, micro_batches_;
  Stages order_;
  std::vector<int> forwards_, backwards_;  ///< passes that a stage has done
};

/// ZB-H1: gradients of weights wait; as soon as more wait than there are stages before this one, the first is computed.
/// P. Qi et al., ICLR 2024, section 3.
Stages zero_bubble(int stages, int micro_batches) {
  Stages all = Ticks(stages, micro_batches).run();
  for (int i = 0; i < stages; ++i) {
    std::vector<Pass> order;
    std::vector<int> waiting;
    const auto compute_first = [&] {
      order.push_back({PassKind::weights, waiting.front()});
      waiting.erase(waiting.begin());
    };
    for (const Pass& pass : all[at(i)]) {
      order.push_back(pass);
      if (pass.kind != PassKind::backward) continue;
      waiting.push_back(pass.micro_batch);
      if (static_cast<int>(waiting.size()) > i) compute_first();
    }
    while (!waiting.empty()) compute_first();
    all[at(i)] = order;
  }
  return all;
}

/// Everything forward, then everything backward, the last first. Y. Huang et al., NeurIPS 2019, section 2.3.
Stages gpipe(int stages, int micro_batches) {
  std::vector<Pass> order;
  for (int m = 0; m < micro_batches; ++m) order.push_back({PassKind::forward, m});
  for (int m = micro_batches - 1; m >= 0; --m) order.push_back({PassKind::backward, m});
  return Stages(at(stages), order);
}

/// PP micro-batches through the first chunk, the same through the second and so on, then the next PP; backwards from
/// the last chunk. aws-neuron/neuronx-distributed@fbac349 src/neuronx_distributed/pipeline/scheduler.py (how many
/// forwards come first).
Stages interleaved(int stages, int chunks, int micro_batches) {
  std::vector<Pass> up, down;
  for (int first = 0; first < micro_batches; first += stages) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (int m = first; m < first + stages; ++m) {
        up.push_back({PassKind::forward, m, chunk});
        down.push_back({PassKind::backward, m, chunks - 1 - chunk});
      }
    }
  }
  Stages all;
  for (int i = 0; i < stages; ++i) {
    std::size_t ahead = at(2 * (stages - i - 1) + (chunks - 1) * stages);
    if (micro_batches == stages || ahead > up.size()) ahead = up.size();
    std::vector<Pass>& order = all.emplace_back(up.begin(), up.begin() + static_cast<std::ptrdiff_t>(ahead));
    for (std::size_t k = 0; k < up.size(); ++k) {
      if (ahead + k < up.size()) order.push_back(up[ahead + k]);
      order.push_back(down[k]);
    }
  }
  return all;
}

/// ZB-V as PyTorch lists it: words of passes, each so often, then numbers by chunk and kind.
/// P. Qi et al., ICLR 2024, section 6; pytorch/pytorch torch/distributed/pipelining/schedules.py,
/// ScheduleZBVZeroBubble.
Stages zero_bubble_v(int stages, int micro_batches) {
  const int fill = std::max(2 * stages - 1, micro_batches);
  Stages all;
  for (int i = 0; i < stages; ++i) {
    std::string word;
    const auto say = [&](int times, const char* passes) {
      for (int k = 0; k < times; ++k) word += passes;
    };
    const int above = stages - 1 - i;
    say(2 * above + 1, "f");
    say(i, "Ff");
    say(above + 1, "FBW");
    say(fill - 2 * stages + 1 + i, "fbwFBW");
    say(above, "bwFBW");
    say(i, "bB");
    say(above + 1, "bw");
    say(i, "W");
    say(i, "w");
    std::map<char, int> count;
    std::vector<Pass>& order = all.emplace_back();
    for (const char letter : word) {  // capitals: the second chunk
      const int m = count[letter]++;
      if (m >= micro_batches) continue;
      const char small = static_cast<char>(letter | 0x20);
      order.push_back({small == 'f'   ? PassKind::forward
                       : small == 'b' ? PassKind::backward
                                      : PassKind::weights,
                       m, letter == small ? 0 : 1});
    }
  }
  return all;
}

struct Row {
  Schedule schedule;
  Definition is;
  Stages (*passes)(int stages, int chunks, int micro_batches);
};
constexpr Row kRows[] = {
    {Schedule::one_f_one_b, {.meets = true}, [](int p, int, int m) { return Ticks(p, m).run(); }},
    {Schedule::interleaved,
     {.least = 2, .most = std::numeric_limits<int>::max(), .whole_rounds = true},
     interleaved},
    {Schedule::zero_bubble, {.splits = true}, [](int p, int, int m) { return zero_bubble(p, m); }},
    {Schedule::gpipe, {.meets = true, .piles_up = true}, [](int p, int, int m) { return gpipe(p, m); }},
    {Schedule::zero_bubble_v,
     {.least = 2, .most = 2, .in_a_v = true, .splits = true},
     [](int p, int, int m) { return zero_bubble_v(p, m); }},
};

const Row* row_of(Schedule schedule) {
  const auto is = [&](const Row& row) { return row.schedule == schedule; };
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows), is);
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

std::optional<Definition> definition_of(Schedule schedule) {
  const Row* row = row_of(schedule);
  return row != nullptr ? std::optional(row->is) : std::nullopt;
}

Schedule defined_schedule(const models::Strategy& s) {
  if (s.pipeline_parallel == 1) return Schedule::one_f_one_b;
  if (s.schedule != Schedule::one_f_one_b && s.schedule != Schedule::interleaved) return s.schedule;
  return s.virtual_pipeline > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
}

Stages passes_of(Schedule schedule, int stages, int chunks, int micro_batches) {
  const Row* row = row_of(schedule);
  return row != nullptr ? row->passes(stages, chunks, micro_batches) : Stages{};
}

Alive alive_in(const std::vector<Pass>& passes, const std::vector<int>& layers) {
  const int last = static_cast<int>(layers.size()) - 1;
  const bool splits =
      std::any_of(passes.begin(), passes.end(), [](const Pass& p) { return p.kind == PassKind::weights; });
  Alive most;
  int held = 0, held_layers = 0, left = 0;
  for (const Pass& pass : passes) {
    const int own = layers[at(pass.chunk)];
    if (pass.kind == PassKind::forward) {
      ++held;
      held_layers += own;
      most.passes = std::max(most.passes, held);
      if (pass.chunk == last && (held_layers > most.layers_at_loss ||
                                 (held_layers == most.layers_at_loss && held > most.passes_at_loss))) {
        most.layers_at_loss = held_layers;
        most.deferred_at_loss = left;
        most.passes_at_loss = held;
      }
    } else if (splits && pass.kind == PassKind::backward) {
      left += own;
      if (left > most.late_deferred) {
        most.late_deferred = left;
        most.late_layers = held_layers;
        most.late_passes = held;
      }
    }
    if (pass.kind == (splits ? PassKind::backward : PassKind::forward) && held_layers > most.layers) {
      most.layers = held_layers;
      most.deferred = left;
    }
    if (pass.kind == (splits ? PassKind::weights : PassKind::backward)) {
      --held;
      held_layers -= own;
      if (splits) left -= own;
    }
  }
  return most;
}

}  // namespace trnplan::second_opinion
