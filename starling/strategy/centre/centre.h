// The centre of elastic averaging: a model that no worker owns. It and the workers' models pull each other;
// alpha says how strongly. An exchange of worker i, with the centre c as it is then:
//
//   d = alpha (x_i - c);   c <- c + d;   x_i <- x_i - d
//
// The centre's share happens at once. The worker's own may come later (`pull`), when its step is computed, or
// at once, too (`pull_both`). Either way the sum of centre and models is the same before and after.
#pragma once

#include "starling/strategy/worker.h"

namespace starling::strategy {

// When an exchange may begin, besides when its worker wants it.
enum class CentreOrder {
  kAnyTime,     // first come, first served
  kRoundRobin,  // after that of the rank before; workers that have left or are lost are passed over
};

class Centre {
 public:
  virtual ~Centre() = default;

  // `difference` gets d; the model is only read. May run while the worker computes; one at a time.
  virtual Task<> pull(Data model, float alpha, Data difference) = 0;
  // The model is moved, too. `difference` is room that may be used for d.
  virtual Task<> pull_both(Data model, float alpha, Data difference);
  // The worker makes no more exchanges: nobody has to wait for its turn.
  virtual Task<> leave() = 0;
};

// x_i <- x_i - d; nothing for ghosts.
void take_away(Data difference, Data model);

}  // namespace starling::strategy
