// Gaussian process regression in one dimension (Rasmussen and Williams, "Gaussian Processes for Machine
// Learning", 2006, chapter 2): from a few noisy values of a function it gives the mean and the uncertainty
// elsewhere. The prior mean is 0, so values should be centred; the covariance of two points at distance d is
// Matern 5/2, for functions that have two derivatives and no more:
//
//   k(d) = signal (1 + s + s^2 / 3) e^-s    with s = sqrt(5) d / length
//
// Fitting n values takes n^3 / 6 multiplications, a prediction n^2.
#pragma once

#include <span>
#include <vector>

namespace starling::tuning {

struct Kernel {
  double length = 1;  // the distance over which values resemble each other
  double signal = 1;  // variance of the function
  double noise = 0;   // variance of the error of a value
};

class GaussianProcess {
 public:
  struct Prediction {
    double mean = 0;
    double deviation = 0;  // standard, of the function: without the noise of a further observation
  };

  // At least one value, as many as points, all finite. Without noise no two points may be equal.
  GaussianProcess(std::span<const double> places, std::span<const double> values, const Kernel& kernel);

  // Uses the kernel from a fixed grid under which the values are the likeliest. The grid is made for values
  // whose mean is 0 and whose variance is 1, over a few units of length.
  static GaussianProcess fitted(std::span<const double> places, std::span<const double> values);

  Prediction predict(double place) const;
  double log_likelihood() const { return log_likelihood_; }  // of the values, under the kernel
  const Kernel& kernel() const { return kernel_; }

 private:
  Kernel kernel_;
  std::vector<double> places_;
  std::vector<double> factor_;   // L of L L' = covariance of the values, by columns
  std::vector<double> weights_;  // inverse covariance times values
  double log_likelihood_ = 0;
};

// By how much a normal value is below `best` - `margin` on average, counting 0 when it is above: the expected
// gain of trying it where the lowest value is sought.
double expected_improvement(double best, double mean, double deviation, double margin = 0);

}  // namespace starling::tuning
