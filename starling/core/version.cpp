#include "starling/core/version.h"

namespace starling {

// The build passes the number, so that it is written down once.
const char* version() { return STARLING_VERSION; }

}  // namespace starling
