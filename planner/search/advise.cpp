#include "planner/search/advise.h"

#include <array>
#include <cmath>
#include <functional>
#include <queue>
#include <stdexcept>
#include <tuple>

#include "units/index.h"
#include "units/quantity.h"

namespace trnplan::planner {

namespace {

/// Most plans visited in search of one that the neutral choice is not surely better than.
constexpr int kMostLookedAt = 32;

/// Mean of exp(N(0, sd^2)).
double mean_factor(const Advisor::Risk& r) {
  return std::exp(r.log_sd * r.log_sd / 2);
}

constexpr std::array<std::pair<RiskAttitude, std::string_view>, 3> kAttitudes = {
    {{RiskAttitude::neutral, "neutral"},
     {RiskAttitude::averse, "averse"},
     {RiskAttitude::fastest, "fastest"}}};

}  // namespace

std::string_view to_string(RiskAttitude a) {
  for (const auto& [attitude, name] : kAttitudes) {
    if (attitude == a) return name;
  }
  return "?";
}

std::optional<RiskAttitude> risk_attitude_from(std::string_view text) {
  for (const auto& [attitude, name] : kAttitudes) {
    if (name == text) return attitude;
  }
  return std::nullopt;
}

/// Plans in the order of a cost that grows with time and risk, the least first.
class Advice::Walk {
 public:
  using Cost = std::function<double(Place, double cost, const Advisor::Risk&)>;
  struct Found {
    const Plan* plan;
    Choice choice;
    Advisor::Risk risk;
    double predicted, cost;
  };

  /// `over_states`: times are means over the states of the network.
  Walk(Advice& all, const std::vector<Place>& open, bool over_states, Cost cost)
      : all_(all), over_states_(over_states), cost_(std::move(cost)) {
    for (const Place& p : open) add(Stage::bounded, {p, false}, {}, all_.known_.score(p).second);
  }

  /// The next plan; nullopt if none is left or the time is over.
  std::optional<Found> next() {
    while (!queue_.empty() && !all_.clock_.stop_now()) {
      const Entry e = queue_.top();
      queue_.pop();
      const Place place = e.choice.place;
      switch (e.stage) {
        case Stage::bounded:
          add(Stage::likely, e.choice, all_.least_risk(place), e.predicted);
          break;
        case Stage::likely:
          for (const Open& open : all_.choices_of(place)) add(Stage::cut, open.choice, open.risk, open.least);
          break;
        case Stage::cut:
          if (const Plan* plan = all_.simulated(e.choice))
            add(Stage::simulated, e.choice, e.risk, all_.known_.score(place, *plan).second);
          break;
        case Stage::simulated:
          if (over_states_) {
            if (const double mean = all_.mean_cost(e.choice); mean > e.predicted) {
              add(Stage::in_all_states, e.choice, e.risk, mean);
              break;
            }
          }
          [[fallthrough]];
        case Stage::in_all_states:
          return Found{all_.simulated(e.choice), e.choice, e.risk, e.predicted, e.cost};
      }
    }
    return std::nullopt;
  }

 private:
  enum class Stage { bounded, likely, cut, simulated, in_all_states };
  struct Entry {
    double cost;
    Choice choice;
    Stage stage;
    Advisor::Risk risk;
    double predicted;
    bool operator>(const Entry& o) const {
      return std::tie(cost, choice, stage) > std::tie(o.cost, o.choice, o.stage);
    }
  };
  void add(Stage stage, const Choice& choice, const Advisor::Risk& risk, double predicted) {
    queue_.push({cost_(choice.place, predicted, risk), choice, stage, risk, predicted});
  }

  Advice& all_;
  bool over_states_;
  Cost cost_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

double Advice::second_of(Place p) const {
  const models::Job& job = known_.clusters[at(p.first)].job();
  if (job.objective != models::Objective::cost) return 1;
  return job.cluster.instance.usd_per_hour() * job.cluster.nodes / kHour;
}

const Advisor::Risk& Advice::least_risk(Place p) {
  const auto [found, fresh] = least_.try_emplace(p);
  if (fresh) {
    const Candidate& c = known_.candidate(p);
    found->second = options_.advisor->least_risk(known_.clusters[at(p.first)].job_of(c.strategy), c.strategy);
  }
  return found->second;
}

const std::vector<Advice::Open>& Advice::choices_of(Place p) {
  const auto [found, fresh] = choices_.try_emplace(p);
  std::vector<Open>& choices = found->second;
  if (!fresh) return choices;
  Candidates& cluster = known_.clusters[at(p.first)];
  Candidate& c = known_.candidate(p);
  cluster.refine(c);
  const models::Job job = cluster.job_of(c.strategy);
  const auto look = [&](const models::Strategy& s, bool automatic, Seconds bound) {
    const models::Memory memory = models::memory_of(job, s, profile_);
    if (automatic && memory.fit_probability < options_.fit_probability) return;
    choices.push_back(
        {{p, automatic}, options_.advisor->risk(job, s, memory), known_.score(p, bound).second});
  };
  look(c.strategy, false, c.bound);
  if (const auto automatic = cluster.automatic(c)) look(automatic->strategy, true, automatic->bound);
  return choices;
}

const Plan* Advice::simulated(const Choice& c) {
  const Place p = c.place;
  if (within_limits_ && known_.misses_limits(p)) return nullptr;
  const std::optional<Plan>* plan = nullptr;
  if (!c.automatic) {
    known_.simulate_all({{known_.score(p), p}});
    plan = &known_.needed(p);
  } else {
    const auto [found, fresh] = automatic_.try_emplace(p);
    if (fresh) found->second = known_.with_automatic_cuts(p);
    plan = &found->second;
  }
  return *plan && (!within_limits_ || known_.keeps_limits(**plan)) ? &**plan : nullptr;
}

const Plan& Advice::with_interval(const Choice& choice, const Plan& plan) {
  const auto [known, fresh] = shown_.try_emplace(choice, plan);
  if (fresh) known_.add_slow_network(known->second);
  return known->second;
}

double Advice::mean_cost(const Choice& choice) {
  return known_.mean_score(choice.place, with_interval(choice, *simulated(choice))).second;
}

std::optional<Plan> Advice::recommended(const std::vector<Place>& open) {
  const Advisor& advisor = *options_.advisor;
  Walk safest(*this, open, false,
              [&](Place, double cost, const Advisor::Risk& r) { return advisor.safe_cost(cost, r); });
  std::optional<Walk::Found> safe = safest.next();
  if (!safe) return std::nullopt;
  if (advisor.attitude() == RiskAttitude::averse) return *safe->plan;

  const double fallback = mean_cost(safe->choice) * mean_factor(safe->risk);
  Walk best(*this, open, true, [&](Place p, double cost, const Advisor::Risk& r) {
    return advisor.expected_cost(cost, r, fallback, second_of(p));
  });
  const std::optional<Walk::Found> first = best.next();
  if (!first) return std::nullopt;
  const double most = first->cost * (1 + advisor.most_given_up());
  struct Safe {
    Walk::Found found;
    double expected;
  };
  std::optional<Safe> chosen;
  double alike = 0;  // safe cost up to which plans are compared with the safest that may be chosen
  for (int i = 0; safe && i < kMostLookedAt; ++i, safe = safest.next()) {
    if (chosen && safe->cost > alike) break;
    if (!chosen && safe->choice == first->choice) return *first->plan;
    const Place p = safe->choice.place;
    const auto expected_at = [&](double cost) {
      return advisor.expected_cost(cost, safe->risk, fallback, second_of(p));
    };
    if (expected_at(safe->predicted) > most) continue;
    const double expected = expected_at(mean_cost(safe->choice));
    if (expected > most || advisor.is_surely_better(with_interval(first->choice, *first->plan),
                                                    with_interval(safe->choice, *safe->plan)))
      continue;
    const bool beats = chosen && safe->predicted <= chosen->found.predicted &&
                       safe->risk.works >= chosen->found.risk.works && expected <= chosen->expected;
    if (!chosen) alike = safe->cost * (1 + advisor.alike());
    if (!chosen || beats) chosen = Safe{*safe, expected};
  }
  if (clock_.stop_now()) return std::nullopt;
  return chosen ? *chosen->found.plan : *first->plan;
}

}  // namespace trnplan::planner
