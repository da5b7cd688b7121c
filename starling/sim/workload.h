// The training task of simulated workers: a source of gradients, or only of sizes and times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/core/random.h"
#include "starling/core/types.h"
#include "starling/strategy/section.h"

namespace starling::sim {

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;  // 0 to 1, where it has a meaning
};

// Seconds of a step on a worker of speed 1, by section in model order.
struct StepTimes {
  std::vector<double> forward;
  std::vector<double> backward;

  double total() const;
};

// Does not change while it is used: many worlds on many threads share one.
class Workload {
 public:
  virtual ~Workload() = default;

  virtual const std::vector<strategy::Section>& sections() const = 0;
  std::size_t parameters() const;  // elements of the model

  // Samples of a worker's step.
  virtual std::size_t batch() const = 0;

  // True: there are sizes and times but no numbers; the functions below are not called.
  virtual bool ghost() const { return false; }

  // Times that were measured or modelled; none: the step time of the run is spread over the sections.
  virtual std::optional<StepTimes> times() const { return {}; }

  // The model that every worker starts from.
  virtual void initialize(std::span<float> x, Random& random) const = 0;

  // The mean gradient over `samples` samples of the worker's data, drawn with `random`, at x. Returns their
  // mean loss.
  virtual double gradient(Rank worker, std::span<const float> x, std::span<float> gradient,
                          std::size_t samples, Random& random) const = 0;

  // The objective over all data.
  virtual Evaluation evaluate(std::span<const float> x) const = 0;

 protected:
  // InvalidArgument unless both vectors have parameters() elements and there is a sample.
  void check_sizes(std::size_t x, std::size_t gradient, std::size_t samples) const;
};

// The facts about the run that a workload needs.
struct WorkloadSetting {
  std::uint64_t seed = 1;  // of the data
  int workers = 1;
  std::size_t parameters = 100;  // of quadratic and logistic
  std::size_t batch = 0;         // 0: the workload's own
  double noise = 1;              // of quadratic: standard deviation of an element of a sample's gradient
};

// All names that make_workload knows, as in "quadratic" and "replay:resnet50".
std::vector<std::string> workload_names();

// InvalidArgument naming `what` and the allowed names, also for a setting out of range.
std::unique_ptr<Workload> make_workload(std::string_view text, const WorkloadSetting& setting,
                                        std::string_view what);

}  // namespace starling::sim
