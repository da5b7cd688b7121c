#pragma once

namespace starling {

// Of the library that is linked, such as "0.1.0".
const char* version();

}  // namespace starling
