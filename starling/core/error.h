// The four families of errors. A caller can act on the type alone: mend the call, shrink the group, wait
// longer, or give up.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "starling/core/text.h"
#include "starling/core/types.h"

namespace starling {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The caller's mistake: the text names the value and what is allowed.
struct InvalidArgument : Error {
  using Error::Error;
};

// A peer went away. Recoverable: the caller may shrink the group and redo the step.
struct PeerLost : Error {
  PeerLost(Rank lost, std::string_view why) : Error(concat("rank ", lost, " lost: ", why)), rank(lost) {}
  Rank rank;
};

// A wait lasted longer than allowed; the text says what was waited for and how long.
struct Timeout : Error {
  using Error::Error;
};

// Nothing can run any more while tasks still wait; the text lists which task waits for what, and since when.
struct Deadlock : Error {
  using Error::Error;
};

}  // namespace starling
