#pragma once

namespace starling {

// The version of the linked library, such as "0.1.0".
const char* version();

}  // namespace starling
