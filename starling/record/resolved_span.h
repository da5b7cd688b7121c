// What a rank really did: spans after it was found out how much of a wait was waiting, and for whom.
#pragma once

#include <cstdint>

#include "starling/record/span.h"

namespace starling::record {

enum class Doing : std::uint8_t { kCompute, kUpdate, kWait, kTransfer, kServe };

struct ResolvedSpan {
  Doing doing = Doing::kCompute;
  bool background = false;
  Rank whom = kNobody;  // kWait: who is to blame, kServe: for whom
  Time begin{};
  Time end{};
  Detail detail{};  // of the span that it is a piece of
};

}  // namespace starling::record
