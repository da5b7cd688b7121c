// When each section of a step is done on an emulated accelerator. A third of the step is the forward pass and
// the rest the backward pass, both spread over the sections by their elements. While the program waits for
// others the clock stands still.
#pragma once

#include <cstddef>
#include <vector>

#include "starling/cluster/speed_profile.h"
#include "starling/strategy/section.h"

namespace starling::torch {

class EmulatedStep {
 public:
  EmulatedStep(cluster::SpeedProfile pace, const std::vector<strategy::Section>& sections);

  // A step that takes `work_seconds` on a worker of speed 1.
  void begin(Time now, double work_seconds);
  void stand_still(Duration time);

  // The accelerator's next section, and when it is done. Each section counts once in a step; a second time
  // takes no time. Sections of the forward pass that were not reported when the backward pass begins are done
  // before it.
  Time forward(std::size_t section);
  Time backward(std::size_t section);
  // When the rest of the step is done, too.
  Time end();

 private:
  Time go_on(double share);
  Time take(std::vector<bool>& done, double& left, std::size_t section);

  cluster::SpeedProfile pace_;
  std::vector<double> shares_;  // by section; their sum is 1
  double work_seconds_ = 0;
  Time time_{};
  std::vector<bool> forward_done_, backward_done_;  // by section
  double forward_left_ = 0, backward_left_ = 0;     // shares
};

}  // namespace starling::torch
