#include "starling/join/environment.h"

#include <unistd.h>

#include <string_view>

namespace starling::join {

EnvironmentVariables process_environment() {
  EnvironmentVariables variables;
  for (char** word = environ; word != nullptr && *word != nullptr; ++word) {
    const std::string_view text = *word;
    const std::size_t cut = text.find('=');
    // If a name occurs twice, the first value counts, as for getenv.
    if (cut != std::string_view::npos) variables.emplace(text.substr(0, cut), text.substr(cut + 1));
  }
  return variables;
}

}  // namespace starling::join
