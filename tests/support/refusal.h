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

// The text of the error of any kind that a call ends with.
template <class Call>
std::string error_text(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace starling::testing
