#include "starling/launch/shell_words.h"

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::launch {

std::string quote_word(std::string_view text) {
  std::string word = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      word += "'\\''";
    } else {
      word += letter;
    }
  }
  return word + "'";
}

std::vector<std::string> split_words(std::string_view text, std::string_view what) {
  std::vector<std::string> words;
  bool within_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quote == 0 && (letter == ' ' || letter == '\t' || letter == '\n')) {
      within_word = false;
      continue;
    }
    if (!within_word) words.emplace_back();
    within_word = true;
    if (letter == quote) {
      quote = 0;
    } else if (quote == 0 && (letter == '\'' || letter == '"')) {
      quote = letter;
    } else if (letter == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += letter;
    }
  }
  if (quote != 0)
    throw InvalidArgument(concat(what, ": '", text, "' has a quote (", quote, ") that is not closed"));
  if (words.empty())
    throw InvalidArgument(concat(what, " is empty; allowed: a command such as 'ssh -p 2222'"));
  return words;
}

}  // namespace starling::launch
