// A span of a rank after the analysis: how much of a wait was waiting, and for which rank.
#pragma once

#include <cstdint>

#include "starling/record/span.h"

namespace starling::record {

enum class Doing : std::uint8_t { kCompute, kUpdate, kWait, kTransfer, kServe, kCode };

struct ResolvedSpan {
  Doing doing = Doing::kCompute;
  bool background = false;
  Rank whom = kNobody;  // kWait: the rank to blame; kServe: the rank that was served
  Time begin{};
  Time end{};
  Detail detail{};  // of the span that it is a part of
};

}  // namespace starling::record
