// The kinds of compression by name, as people write them: "fp16", "topk:0.01", "topk:0.01+int8". The command
// line, the documentation and the tests read this list.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/compression/compressor.h"

namespace starling::compression {

// What stands behind the colons.
struct Parameters {
  std::vector<std::string> texts;
  std::string what;  // for errors: whose value it is, and the value
};

// What is sent of a vector: every element in fewer bits; some elements, whose values may have a code of their
// own; the factors of a product.
enum class Sends { kAllElements, kSomeElements, kFactors };

struct Kind {
  std::string_view name;
  std::string_view form;  // "topk[:SHARE][+KIND]"
  std::string_view help;
  Sends sends = Sends::kAllElements;
  // How many times longer encoding and decoding take than copying the vector (bench/compression_bench).
  double copies = 1;  // measured on vectors that do not fit into the cache
  // Whether error feedback is on where nothing else is said: kinds that leave much out need it.
  bool feedback = true;
  // Throws InvalidArgument.
  std::unique_ptr<Compressor> (*make)(const Parameters& parameters, const Layout& layout, std::uint64_t seed,
                                      std::unique_ptr<Compressor> values) = nullptr;
  // How many values it sends, if these are of some elements.
  std::size_t (*chosen)(const Parameters& parameters, const Layout& layout) = nullptr;
};

const std::vector<Kind>& kinds();

// A kind with its parameters.
struct Rule {
  const Kind* kind = nullptr;
  Parameters parameters;
  std::shared_ptr<const Rule> values;  // of the elements that a kind sends; null: as they are
};

// None for "none". InvalidArgument, naming `what` and what is allowed.
std::optional<Rule> parse_rule(std::string_view text, std::string_view what);

// Both sides must have the same seed.
std::unique_ptr<Compressor> make_compressor(const Rule& rule, const Layout& layout, std::uint64_t seed);

}  // namespace starling::compression
