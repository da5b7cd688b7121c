#include "starling/data/dataset.h"

#include <optional>

#include "starling/core/error.h"
#include "starling/data/cifar10.h"
#include "starling/data/glyphs.h"
#include "starling/data/idx.h"
#include "starling/data/noise.h"
#include "starling/data/text_file.h"

namespace starling::data {
namespace {

struct Form {
  std::string_view name;
  std::string_view argument;  // what follows the colon; empty if nothing does
  DataSet (*load)(const std::string& argument);

  std::string text() const { return argument.empty() ? std::string(name) : concat(name, ":", argument); }
};

constexpr long long kMostNoise = 1'000'000;  // pictures: 3 GB

DataSet load_noise(const std::string& count) {
  return make_noise(static_cast<std::size_t>(parse_integer(count, "noise", 1, kMostNoise)));
}

constexpr Form kForms[] = {
    {"glyphs", "", [](const std::string&) -> DataSet { return make_glyphs(); }},
    {"mnist", "DIR", [](const std::string& folder) -> DataSet { return read_mnist(folder); }},
    {"cifar10", "DIR", [](const std::string& folder) -> DataSet { return read_cifar10(folder); }},
    {"text", "FILE", [](const std::string& file) -> DataSet { return read_text(file); }},
    {"noise", "COUNT", load_noise},
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

DataSet load_named(std::string_view name) {
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
  return form.load(argument.value_or(""));
}

}  // namespace

DataSet load(std::string_view name, std::string_view what) {
  try {
    return load_named(name);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(concat(what, ": ", error.what()));
  }
}

std::string data_forms() {
  std::vector<std::string> texts;
  for (const Form& form : kForms) texts.push_back(form.text());
  return join_texts(texts);
}

}  // namespace starling::data
