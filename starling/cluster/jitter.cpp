#include "starling/cluster/jitter.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "starling/core/elementary.h"
#include "starling/core/error.h"

namespace starling::cluster {
namespace {

struct Range {
  double lowest;
  double highest;
};

struct JitterForm {
  Jitter::Kind kind;
  std::string_view name;
  std::size_t parameters;
  Range a;
  Range b;
};

// A mean of 1 needs a shape above 1.
constexpr double kAboveOne = 1 + std::numeric_limits<double>::epsilon();

constexpr JitterForm kJitterForms[] = {
    {Jitter::Kind::kNone, "none", 0, {}, {}},
    {Jitter::Kind::kNormal, "normal", 1, {0, 10}, {}},
    {Jitter::Kind::kLognormal, "lognormal", 1, {0, 10}, {}},
    {Jitter::Kind::kExponential, "exponential", 0, {}, {}},
    {Jitter::Kind::kPareto, "pareto", 1, {kAboveOne, 1000}, {}},
    {Jitter::Kind::kBernoulli, "bernoulli", 2, {0, 1}, {1e-6, 1e6}},
};

constexpr std::string_view kAllowed =
    "none, normal:SIGMA and lognormal:SIGMA (0 to 10), exponential, pareto:SHAPE (above 1, to 1000), "
    "bernoulli:PROBABILITY:FACTOR (0 to 1; 1e-6 to 1e6)";

std::optional<double> read_within(std::string_view text, const Range& range) {
  const std::optional<Quantity> read = read_quantity(text);
  if (!read || !read->unit.empty() || read->number < range.lowest || read->number > range.highest) return {};
  return read->number;
}

std::optional<Jitter> read_jitter(std::span<const std::string> parts) {
  for (const JitterForm& form : kJitterForms) {
    if (parts.empty() || parts[0] != form.name || parts.size() != form.parameters + 1) continue;
    Jitter jitter{form.kind, 0, 0};
    for (std::size_t i = 0; i < form.parameters; ++i) {
      const std::optional<double> value = read_within(parts[i + 1], i == 0 ? form.a : form.b);
      if (!value) return {};
      (i == 0 ? jitter.a : jitter.b) = *value;
    }
    return jitter;
  }
  return {};
}

// The shortest text that reads back as the same number.
std::string exact(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

}  // namespace

Jitter parse_jitter(std::string_view text, std::string_view what) {
  const std::optional<Jitter> jitter = read_jitter(split(text, ':'));
  if (!jitter) throw InvalidArgument(concat(what, ": '", text, "' is not a jitter; allowed: ", kAllowed));
  return *jitter;
}

std::string text_of(const Jitter& jitter) {
  const auto* const form = std::find_if(std::begin(kJitterForms), std::end(kJitterForms),
                                        [&](const JitterForm& f) { return f.kind == jitter.kind; });
  std::string text(form->name);
  if (form->parameters > 0) text += ":" + exact(jitter.a);
  if (form->parameters > 1) text += ":" + exact(jitter.b);
  return text;
}

double draw(const Jitter& jitter, Random& random) {
  switch (jitter.kind) {
    case Jitter::Kind::kNone:
      return 1;
    case Jitter::Kind::kNormal:
      return std::max(0.05, 1 + jitter.a * random.normal());
    case Jitter::Kind::kLognormal:
      return natural_exp(jitter.a * random.normal() - jitter.a * jitter.a / 2);
    case Jitter::Kind::kExponential:
      return std::max(0x1p-53, random.exponential(1));  // an exact 0 can be drawn
    case Jitter::Kind::kPareto:
      // The logarithm of a Pareto number over its minimum is exponential.
      return (jitter.a - 1) / jitter.a * natural_exp(random.exponential(1) / jitter.a);
    case Jitter::Kind::kBernoulli:
      return random.chance(jitter.a) ? jitter.b : 1;
  }
  return 1;
}

}  // namespace starling::cluster
