#include "starling/data/dataset.h"

#include <initializer_list>
#include <optional>
#include <span>

#include "starling/core/error.h"
#include "starling/core/hash.h"
#include "starling/data/cifar10.h"
#include "starling/data/glyphs.h"
#include "starling/data/idx.h"
#include "starling/data/noise.h"
#include "starling/data/text_file.h"

namespace starling::data {
namespace {

struct Form {
  std::string_view name;
  std::string_view argument;  // the text after the colon; empty if there is none
  DataSet (*load)(const std::string& argument);
  Description (*describe)(const std::string& argument);

  std::string text() const { return argument.empty() ? std::string(name) : concat(name, ":", argument); }
};

constexpr long long kMostNoise = 1'000'000;  // pictures: 3 GB

std::size_t noise_pictures(const std::string& count) {
  return static_cast<std::size_t>(parse_integer(count, "noise", 1, kMostNoise));
}

using Text = const std::string&;

constexpr Form kForms[] = {
    {"glyphs", "", [](Text) -> DataSet { return make_glyphs(); },
     [](Text) -> Description {
       return {false, GlyphSetting{}.train};
     }},
    {"mnist", "DIR", [](Text folder) -> DataSet { return read_mnist(folder); },
     [](Text folder) -> Description {
       return {false, count_mnist(folder)};
     }},
    {"cifar10", "DIR", [](Text folder) -> DataSet { return read_cifar10(folder); },
     [](Text folder) -> Description {
       return {false, count_cifar10(folder)};
     }},
    {"text", "FILE", [](Text file) -> DataSet { return read_text(file); },
     [](Text file) -> Description {
       return {true, count_text(file)};
     }},
    {"noise", "COUNT", [](Text count) -> DataSet { return make_noise(noise_pictures(count)); },
     [](Text count) -> Description {
       return {false, noise_pictures(count)};
     }},
};

const Form& find_form(std::string_view name, std::string_view kind) {
  std::vector<std::string_view> kinds;
  for (const Form& form : kForms) {
    if (form.name == kind) return form;
    kinds.push_back(form.name);
  }
  std::string hint;
  const std::string_view meant = nearest(kind, kinds);
  for (const Form& form : kForms) {
    if (form.name == meant) hint = concat(", did you mean '", form.text(), "'?");
  }
  throw InvalidArgument(concat("unknown data '", name, "'", hint, "; there are ", data_forms()));
}

struct NamedForm {
  const Form& form;
  std::string argument;
};

NamedForm form_of(std::string_view name) {
  const std::size_t colon = name.find(':');
  const Form& form = find_form(name, name.substr(0, colon));
  std::optional<std::string> argument;
  if (colon != std::string_view::npos) argument = name.substr(colon + 1);
  if (form.argument.empty() && argument) {
    throw InvalidArgument(concat("bad data '", name, "'; ", form.name, " takes nothing behind its name"));
  }
  if (!form.argument.empty() && argument.value_or("").empty()) {
    throw InvalidArgument(concat("bad data '", name, "'; expected ", form.text()));
  }
  return {form, argument.value_or("")};
}

// Puts `what` in front of what `use` complains of.
template <class Use>
auto with_form(std::string_view name, std::string_view what, Use use) {
  try {
    const NamedForm named = form_of(name);
    return use(named.form, named.argument);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(concat(what, ": ", error.what()));
  }
}

std::uint64_t fingerprint_of(std::initializer_list<std::span<const std::uint8_t>> parts) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(parts.size());
  for (const auto part : parts) hashes.push_back(hash_of(std::as_bytes(part)));
  return hash_of(std::as_bytes(std::span(hashes)));
}

}  // namespace

std::string fingerprint(const DataSet& set) {
  if (const auto* const text = std::get_if<TextSet>(&set)) {
    return concat("#", fingerprint_of({text->train, text->test}), " (", text->train.size(),
                  " bytes of text)");
  }
  const auto& images = std::get<ImageSet>(set);
  const Images& train = images.train;
  return concat("#", fingerprint_of({train.pixels, train.labels, images.test.pixels, images.test.labels}),
                " (", train.size(), " pictures of ", train.channels, "x", train.height, "x", train.width,
                ")");
}

DataSet load(std::string_view name, std::string_view what) {
  return with_form(name, what, [](const Form& form, Text argument) { return form.load(argument); });
}

Description describe(std::string_view name, std::string_view what) {
  return with_form(name, what, [](const Form& form, Text argument) { return form.describe(argument); });
}

std::string data_forms() {
  std::vector<std::string> texts;
  for (const Form& form : kForms) texts.push_back(form.text());
  return join_texts(texts);
}

}  // namespace starling::data
