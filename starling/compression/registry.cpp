#include "starling/compression/registry.h"

#include <utility>

#include "starling/compression/half_floats.h"
#include "starling/compression/powersgd.h"
#include "starling/compression/randk.h"
#include "starling/compression/scaled_integers.h"
#include "starling/compression/topk.h"
#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::compression {

namespace {

using Made = std::unique_ptr<Compressor>;

void expect_at_most(const Parameters& parameters, std::size_t count, std::string_view allowed) {
  if (parameters.texts.size() <= count) return;
  throw InvalidArgument(concat(parameters.what, ": too many parameters; allowed: ", allowed));
}

template <DType kType>
Made make_half(const Parameters& parameters, const Layout& layout, std::uint64_t /*seed*/, Made /*values*/) {
  expect_at_most(parameters, 0, "none");
  return std::make_unique<HalfFloats>(kType, elements_of(layout));
}

template <int kBits>
Made make_integers(const Parameters& parameters, const Layout& layout, std::uint64_t seed, Made /*values*/) {
  expect_at_most(parameters, 2, "BLOCK and stochastic");
  IntegerRule rule{.bits = kBits, .block = kBits == 8 ? 256U : 64U};
  for (const std::string& text : parameters.texts) {
    if (text == "stochastic") {
      rule.stochastic = true;
      continue;
    }
    const long long block = parse_integer(text, concat(parameters.what, ", block"), 2, 65536);
    if (block % 2 != 0)
      throw InvalidArgument(concat(parameters.what, ", block: ", block, "; allowed: even numbers"));
    rule.block = static_cast<std::size_t>(block);
  }
  return std::make_unique<ScaledIntegers>(rule, elements_of(layout), seed);
}

double share(const Parameters& parameters) {
  expect_at_most(parameters, 1, "a share");
  if (parameters.texts.empty()) return 0.01;
  return parse_number(parameters.texts.front(), concat(parameters.what, ", share"), 1e-6, 1);
}

std::size_t chosen_by_topk(const Parameters& parameters, const Layout& layout) {
  return TopK::sent(layout, share(parameters));
}

Made make_topk(const Parameters& parameters, const Layout& layout, std::uint64_t /*seed*/, Made values) {
  return std::make_unique<TopK>(layout, share(parameters), std::move(values));
}

std::size_t chosen_by_randk(const Parameters& parameters, const Layout& layout) {
  return share_of(elements_of(layout), share(parameters));
}

Made make_randk(const Parameters& parameters, const Layout& layout, std::uint64_t seed, Made values) {
  return std::make_unique<RandK>(elements_of(layout), share(parameters), seed, std::move(values));
}

Made make_powersgd(const Parameters& parameters, const Layout& layout, std::uint64_t seed, Made /*values*/) {
  return std::make_unique<PowerSgd>(layout, rank_of(parameters), seed);
}

std::string forms() {
  std::vector<std::string_view> all{"none"};
  for (const Kind& kind : kinds()) all.push_back(kind.form);
  return join_texts(all);
}

Rule parse_one(std::string_view text, std::string_view what) {
  std::vector<std::string> parts = split(text, ':');
  const std::string name = parts.empty() ? "" : parts.front();
  for (const Kind& kind : kinds()) {
    if (kind.name != name) continue;
    parts.erase(parts.begin());
    return {&kind, {std::move(parts), concat(what, " '", text, "'")}, nullptr};
  }
  std::vector<std::string_view> names{"none"};
  for (const Kind& kind : kinds()) names.push_back(kind.name);
  const std::string_view meant = nearest(name, names);
  throw InvalidArgument(concat(what, " '", text, "'",
                               meant.empty() ? "" : concat(", did you mean '", meant, "'?"),
                               "; allowed: ", forms()));
}

}  // namespace

std::size_t rank_of(const Parameters& parameters) {
  expect_at_most(parameters, 1, "a rank");
  if (parameters.texts.empty()) return 2;
  return static_cast<std::size_t>(
      parse_integer(parameters.texts.front(), concat(parameters.what, ", rank"), 1, 64));
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {.name = "fp16",
       .form = "fp16",
       .help = "half floats: 16 bits, up to 65,504",
       .copies = 1.3,
       .feedback = false,
       .make = make_half<DType::kFloat16>},
      {.name = "bf16",
       .form = "bf16",
       .help = "bfloats: 16 bits, the range of a float, 8 bits of precision",
       .copies = 1.4,
       .feedback = false,
       .make = make_half<DType::kBFloat16>},
      {.name = "int8",
       .form = "int8[:BLOCK][:stochastic]",
       .help = "8 bits, with a scale for each block of 256",
       .copies = 1.4,
       .make = make_integers<8>},
      {.name = "int4",
       .form = "int4[:BLOCK][:stochastic]",
       .help = "4 bits, with a scale for each block of 64",
       .copies = 1.4,
       .make = make_integers<4>},
      {.name = "topk",
       .form = "topk[:SHARE][+KIND]",
       .help = "the share (0.01) of each tensor with the largest magnitudes; KIND: the code of their values",
       .sends = Sends::kSomeElements,
       .copies = 3.2,
       .make = make_topk,
       .chosen = chosen_by_topk},
      {.name = "randk",
       .form = "randk[:SHARE][+KIND]",
       .help =
           "a random share (0.01) of the elements, the same on all workers; KIND: the code of their values",
       .sends = Sends::kSomeElements,
       .copies = 1.7,
       .make = make_randk,
       .chosen = chosen_by_randk},
      {.name = "powersgd",
       .form = "powersgd[:RANK]",
       .help = "matrices of low rank (2); tensors that are not twice as small by it are sent as they are",
       .sends = Sends::kFactors,
       .copies = 3.4,
       .make = make_powersgd}};
  return all;
}

std::optional<Rule> parse_rule(std::string_view text, std::string_view what) {
  if (text == "none") return {};
  const std::size_t plus = text.find('+');
  Rule rule = parse_one(text.substr(0, plus), what);
  if (plus != std::string_view::npos) {
    const Rule values = parse_one(text.substr(plus + 1), what);
    if (rule.kind->sends != Sends::kSomeElements || values.kind->sends != Sends::kAllElements) {
      throw InvalidArgument(concat(what, " '", text,
                                   "': only topk and randk have values with a code, and that is one of "
                                   "fp16, bf16, int8, int4"));
    }
    rule.values = std::make_shared<Rule>(values);
  }
  make_compressor(rule, plain_layout(1), 0);  // refuses parameters
  return rule;
}

std::unique_ptr<Compressor> make_compressor(const Rule& rule, const Layout& layout, std::uint64_t seed) {
  Made values;
  if (rule.values) {
    const std::size_t count = rule.kind->chosen(rule.parameters, layout);
    values = make_compressor(*rule.values, plain_layout(count), seed + 1);
  }
  return rule.kind->make(rule.parameters, layout, seed, std::move(values));
}

}  // namespace starling::compression
