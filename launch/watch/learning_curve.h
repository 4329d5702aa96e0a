// Loss or gradient norm of a run, step by step: is it where it should be?
//
// The rules are those of AWS's article on training a model of 7 B parameters on 128 trn1 nodes (its scripts:
// awslabs/HLAT@110d8ad): a gradient norm above three times its lowest value, and spikes of gradient norm or loss
// that have not returned within a few iterations. What a spike is and how many a few are is ours: kFewSteps,
// kLevelSteps, kLevelLeast, kNoise and the shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace trnplan::launch {

/// A gradient norm above so many times its lowest value is an alarm (the article).
inline constexpr double kNormRise = 3;
/// A spike that lasts so many steps has not returned within a few iterations.
inline constexpr std::int64_t kFewSteps = 5;
/// A spike stands above the median of so many values before it, of which kLevelLeast must be there.
inline constexpr std::size_t kLevelSteps = 20, kLevelLeast = 5;
/// By more than so many standard deviations of these, found from their median absolute deviation ...
inline constexpr double kNoise = 5;
/// ... and by more than this share of the level: 10 % of a loss, the level again of a gradient norm.
inline constexpr double kLossShare = 0.1, kNormShare = 1;

/// Values in a row that stand above the level before them.
struct Spike {
  std::int64_t first = 0;                ///< step
  int line = 0;                          ///< of it
  double level = 0;                      ///< the median before it
  double highest = 0;                    ///< value
  std::int64_t last = 0;                 ///< the step that is seen last, or the one that is back
  std::optional<std::int64_t> returned;  ///< step; nullopt: not yet
  bool left = false;                     ///< it had not when the run was started again from before
};

/// Of a curve's values at most so many are kept to be drawn: of longer ones every second, fourth and so on.
inline constexpr std::size_t kCurvePoints = 2000;

struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
};

/// What a curve shows up to its last step.
struct CurveReading {
  std::optional<double> last;  ///< finite value
  std::int64_t last_step = 0;  ///< of it
  int last_line = 0;
  bool lost = false;             ///< what was stated last is no number
  std::optional<double> lowest;  ///< above 0
  std::int64_t lowest_step = 0;
  std::optional<std::int64_t> above;  ///< since this step it is above kNormRise times the lowest
  std::optional<Spike> spike;         ///< of kFewSteps or more: the one that lasts, else the latest
  int spikes = 0;                     ///< of that length
  std::vector<CurvePoint> points;     ///< finite values, in the order of the log
  std::size_t seen = 0, every = 1;    ///< values, of which every so many is among `points`
};

/// Holds the last values, one spike and kCurvePoints values at most, whatever the length of the run. Steps may be stated again, which replaces
/// the last one, and go back, which ends a spike: the run was started again from before. The lowest value stays.
class LearningCurve {
 public:
  explicit LearningCurve(double share) : share_(share) {}
  /// NaN: no number is stated. Cost: sorts kLevelSteps values.
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
  std::vector<double> high_;      ///< the values of a spike that is not long yet: noise, if it returns
  std::optional<Spike> spike_;    ///< goes on
  CurveReading told_;
};

}  // namespace trnplan::launch
