// Fits parameters to measurements: maximum a posteriori under log-normal priors, by Levenberg-Marquardt.
//
// Minimised over the free parameters x:
//   cost = 1/2 sum_i rho(r_i^2) + 1/2 sum_j z_j^2
//   r_i = log(predicted_i / measured_i) / log_sd_i       an observation
//   z_j = log(x_j / median_j) / log_sd_j                 a prior; log_sd 0 fixes the parameter
// rho is the loss: s (Gaussian), 2 (sqrt(1 + s) - 1) (soft L1), 5 log(1 + s / 4) (Student t, 4 degrees of
// freedom); robust losses enter as weights w_i = rho'(r_i^2) that are renewed in every iteration (IRLS).
// Covariance (Laplace): (J' W J / c + I)^-1 in z at the optimum, J = dr/dz by central differences. c = 1, or,
// with scale_noise, c = max(1, X), X the robust reduced chi-square
//   X = sum_i w_i r_i^2 / max(1, n - f),   f = free parameters - trace((J' W J + I)^-1),
// where n counts the observations and f the parameters that they determine. Residuals larger than the stated
// noise mean that the noise is larger, and no parameter becomes surer than its prior by them. The optimum is
// that of the stated noise.
//
// With profile_widths, for costs with kinks and more than one optimum (a time follows the narrowest of
// several rates):
// - From the optimum with each `alternative` made faster, another optimum is sought. If there are several,
// the lowest is the result. The covariance is that of their mixture around it, each with the weight
// exp(-cost) sqrt(det S) of its Laplace approximation (D. MacKay, Information Theory, Inference, and Learning
// Algorithms, 2003, ch. 27 and 28).
// - The width of each parameter that `bends` is the second moment of exp(-profile) around the optimum, if
// that is wider than by the curvature. The profile is the rise of the cost with all others at their best. The
// parameter's row and column of the covariance grow alike, which keeps it positive semi-definite. (Tierney
// and Kadane, Accurate Approximations for Posterior Moments and Marginal Densities, 1986, without the ratio
// of determinants.)
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan::calibrate {

/// Direction in which a parameter is one of several rates, the narrowest of which sets a time.
enum class Alternative { no, faster_above, faster_below };

/// A parameter and its prior: log-normal, by median and standard deviation of the logarithm.
struct FitParameter {
  std::string name;
  double median = 0;
  double log_sd = 0;  ///< 0: fixed
  /// Student's t with 4 degrees of freedom replaces the normal prior: 5/2 log(1 + z^2 / 4) for 1/2 z^2. For
  /// effects of which few are large.
  bool heavy_tails = false;
  bool bends = false;  ///< predictions may bend within its spread; see profile_widths
  Alternative alternative = Alternative::no;
};

/// A measurement and the distance of a right prediction from it: the scale of the loss in logarithms, which
/// is the standard deviation of a Gaussian one and a factor sqrt 2 below that of Student's t.
struct Observation {
  double measured = 0;
  double log_sd = 0;
  bool at_most = false;  ///< only a bound: a prediction below it is right and says no more
};

/// One positive prediction per observation, given the value of every parameter. Must be deterministic.
using Predict = std::function<std::vector<double>(const std::vector<double>& values)>;

/// The same with derivatives, d log predicted / d log value: a row per observation, a column per parameter.
struct Linearised {
  std::vector<double> predicted;
  std::vector<std::vector<double>> gradient;
};
using Linearise = std::function<Linearised(const std::vector<double>& values)>;

enum class Loss { gaussian, soft_l1, student_t };

struct FitOptions {
  int max_iterations = 100;
  double tolerance = 1e-9;  ///< converged if no parameter moves by more, in prior standard deviations
  /// Also converged if the model predicts to lower the cost, or (above 1e-15) a step lowers it, by less than
  /// this share of it.
  double least_gain = 1e-15;
  Loss loss = Loss::soft_l1;
  double step = 1e-4;        ///< of the differences, in the logarithm of the parameter
  bool scale_noise = false;  ///< c above may exceed 1
  /// Covariance with the second derivative of the loss, 2 rho'(s) + 4 s rho''(s) over 2 but at least 0 and at
  /// most its expectation, instead of the weights. Outliers then do not make the optimum surer, and ordinary
  /// residuals count for less than a Gaussian's.
  bool exact_curvature = false;
  bool profile_widths = false;  ///< as above; costs some ten predictions for each parameter that bends
};

struct FitResult {
  std::vector<double> median;                   ///< posterior, in the order of the parameters
  std::vector<double> log_sd;                   ///< posterior; 0 where fixed
  std::vector<std::vector<double>> covariance;  ///< of the logarithms; zero rows where fixed
  std::vector<double> residuals;                ///< log(predicted / measured), not divided by log_sd
  double cost = 0;
  double noise_scale = 1;  ///< c above
  int iterations = 0;
  bool converged = false;
  std::vector<double> prior_share;  ///< posterior log_sd over prior log_sd; 1 where fixed
};

/// Fits the parameters. Cost: (1 + 2 x free parameters) predictions and O(observations x free^2 + free^3) per
/// iteration. The same input gives the same bits. Without observations `predict` is not called. Throws
/// std::invalid_argument: a median, measurement or spread that is not finite and positive (a prior's spread
/// may be 0), options out of range, a wrong number of predictions. Throws std::domain_error naming the
/// observation if a prediction is not finite and positive; a trial step that merely overflows (0 or infinity)
/// is shortened instead. Exceptions of `predict` pass through.
FitResult fit(const std::vector<FitParameter>& parameters, const std::vector<Observation>& observations,
              const Predict& predict, const FitOptions& options = {});

/// The same with the derivatives of `linearise` instead of differences: one call an iteration. Throws
/// std::invalid_argument also if the gradient has another shape.
FitResult fit_linearised(const std::vector<FitParameter>& parameters,
                         const std::vector<Observation>& observations, const Linearise& linearise,
                         const FitOptions& options = {});

/// Verdict of the data on a parameter: "identified" (prior_share below 0.5), "weakly" (below 0.9), "moved"
/// (no surer than before, but the median moved by a tenth of its prior's spread or more) or "at prior".
/// `moved` in prior standard deviations.
std::string_view verdict(double prior_share, double moved = 0);

}  // namespace trnplan::calibrate
