// Words for a shell, and as a shell reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace starling::launch {

// One word of sh that means exactly this text.
std::string quote_word(std::string_view text);

// Cuts at blanks; '...', "..." and \ keep them, and nothing else is special: `tools/hosts agent --name "my
// bed"`. Throws InvalidArgument naming `what` if there is no word or a quote is not closed.
std::vector<std::string> split_words(std::string_view text, std::string_view what);

}  // namespace starling::launch
