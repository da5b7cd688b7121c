// The text with which a call is refused.
#pragma once

#include <string>

#include "starling/core/error.h"

namespace starling::testing {

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace starling::testing
