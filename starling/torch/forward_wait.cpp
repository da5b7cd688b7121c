#include "starling/torch/forward_wait.h"

namespace starling::torch {

void wait_for_sections(session::Session& session, Replica& replica, std::span<const std::size_t> sections) {
  for (std::size_t begin = 0, end = 0; begin < sections.size(); begin = end) {
    for (end = begin + 1; end < sections.size() && sections[end] == sections[end - 1] + 1;) ++end;
    session.use({sections[begin], sections[end - 1] + 1});
  }
  for (const std::size_t section : sections) replica.take_over(section);
}

void wait_for_model(session::Session& session, Replica& replica) {
  session.flush();
  for (std::size_t section = 0; section < replica.sections().size(); ++section) replica.take_over(section);
}

}  // namespace starling::torch
