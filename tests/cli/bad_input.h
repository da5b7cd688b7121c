// Flags that a command refuses, for parametrised tests.
#pragma once

#include <ostream>

namespace starling::cli {

struct Bad {
  const char* flags;
  const char* value;    // named in the line
  const char* allowed;  // and this, too
};

inline std::ostream& operator<<(std::ostream& out, const Bad& bad) { return out << bad.flags; }

}  // namespace starling::cli
