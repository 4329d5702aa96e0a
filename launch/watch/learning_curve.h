// Check of a run's loss or gradient norm, step by step.
//
// The rules are those of AWS's article on training a model of 7 B parameters on 128 trn1 nodes (its scripts:
// awslabs/HLAT@110d8ad): a gradient norm above three times its lowest value, and spikes of gradient norm or
// loss that have not returned within a few iterations. The definitions of a spike and of "a few" are our own:
// kFewSteps, kLevelSteps, kLevelLeast, kNoise and the shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace trnplan::launch {

/// Alarm if a gradient norm is above this many times its lowest value (the article).
inline constexpr double kNormRise = 3;
/// A spike of this many steps has not returned within a few iterations.
inline constexpr std::int64_t kFewSteps = 5;
/// A spike is above the median of this many values before it, of which at least kLevelLeast must exist,
inline constexpr std::size_t kLevelSteps = 20, kLevelLeast = 5;
/// by more than this many of their standard deviations, estimated from their median absolute deviation,
inline constexpr double kNoise = 5;
/// and by more than this share of the level: 10 % of a loss, 100 % of a gradient norm.
inline constexpr double kLossShare = 0.1, kNormShare = 1;

/// Consecutive values above the level before them.
struct Spike {
  std::int64_t first = 0;                ///< step
  int line = 0;                          ///< of that step
  double level = 0;                      ///< the median before it
  double highest = 0;                    ///< value
  std::int64_t last = 0;                 ///< last step seen, or the step that returned
  std::optional<std::int64_t> returned;  ///< step; nullopt = not yet
  bool left = false;                     ///< a restart from an earlier step ended it
};

/// Most values of a curve that are kept for drawing; longer curves keep every second, fourth and so on.
inline constexpr std::size_t kCurvePoints = 2000;

struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
};

/// State of a curve at its last step.
struct CurveReading {
  std::optional<double> last;  ///< finite value
  std::int64_t last_step = 0;  ///< of that value
  int last_line = 0;
  bool lost = false;             ///< the last stated value is NaN
  std::int64_t lost_since = 0;   ///< step of the first NaN behind `last`, if it is
  int lost_line = 0;             ///< of that step
  std::optional<double> lowest;  ///< above 0
  std::int64_t lowest_step = 0;
  std::optional<std::int64_t> above;  ///< since this step it has been above kNormRise times the lowest
  std::optional<Spike> spike;         ///< of kFewSteps or more: the ongoing one, else the latest
  int spikes = 0;                     ///< of that length
  std::vector<CurvePoint> points;     ///< finite values, in the order of the log
  std::size_t seen = 0, every = 1;    ///< values seen; one of every `every` is among `points`
};

/// Holds the last values, one spike and at most kCurvePoints values, whatever the length of the run. A step
/// may be stated again, which replaces the last value, or go back, which ends a spike: the run was restarted
/// from an earlier step. The lowest value is kept.
class LearningCurve {
 public:
  explicit LearningCurve(double share) : share_(share) {}
  /// NaN: the log states no number. Cost: sorts kLevelSteps values.
  void add(std::int64_t step, double value, int line);
  [[nodiscard]] CurveReading now() const;

 private:
  struct Value {
    std::int64_t step = 0;
    double value = 0;
    int line = 0;
  };
  void settle();
  void keep(const Value& now);
  void rise(const Value& now, double level);

  double share_;
  std::optional<Value> pending_;  ///< may be stated again
  std::vector<double> level_;     ///< the last values outside long spikes, oldest first
  std::vector<double> high_;      ///< values of a spike that is still short: noise, if it returns
  std::optional<Spike> spike_;    ///< ongoing
  CurveReading told_;
};

}  // namespace trnplan::launch
