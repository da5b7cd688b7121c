#include "starling/session/batch_state.h"

#include "starling/core/error.h"

namespace starling::session {

void BatchState::ready(std::size_t section, const std::vector<strategy::Section>& sections) {
  if (section >= sections.size()) {
    throw InvalidArgument(
        concat("there is no section ", section, "; the model has ", sections.size(), ", counted from 0"));
  }
  ready_.resize(sections.size());
  if (ready_[section]) {
    throw Error(concat("the gradient of section ", section, " (", sections[section].name,
                       ") was complete twice in one step: gradients were accumulated over several backward "
                       "passes, but the strategy sends them during the first"));
  }
  ready_[section] = true;
}

void BatchState::check(const Batch& batch, bool equal_batches) const {
  if (expected_ && *expected_ != batch.samples) {
    throw InvalidArgument(
        concat("a batch of ", batch.samples, " samples, of which ", *expected_, " were expected"));
  }
  if (batch.samples == 0 && equal_batches) {
    throw InvalidArgument("a batch of 0 samples; allowed: 1 or more, since all batches are equal");
  }
  if (rate_ && *rate_ != batch.learning_rate) {
    throw Error(concat("the learning rate became ", batch.learning_rate,
                       " during the backward pass, whose first gradients the strategy has used with ", *rate_,
                       "; set it before"));
  }
}

}  // namespace starling::session
