#include "cli/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>

#include "starling/core/error.h"
#include "starling/data/dataset.h"
#include "starling/data/idx.h"
#include "starling/record/run_folder.h"

namespace starling::cli {
namespace {

using data::DataSet;
using data::Images;
using data::ImageSet;
using data::TextSet;

constexpr record::Contents kIdx{"data set", data::kIdxFiles};

struct Request {
  std::string name;
  std::optional<std::string> out;
  bool force = false;
};

// A character is two pixels high, as characters are taller than wide.
void append_row(std::string& text, const Images& images, std::size_t picture, int row) {
  constexpr std::string_view kInk = " .:-=+*#%@";
  const auto width = static_cast<std::size_t>(images.width);
  const std::uint8_t* const upper =
      images.pixels.data() + picture * images.picture_bytes() + static_cast<std::size_t>(row) * width;
  const std::uint8_t* const lower = row + 1 < images.height ? upper + width : upper;
  for (std::size_t x = 0; x < width; ++x) {
    const std::size_t sum = std::size_t{upper[x]} + lower[x];
    text += kInk[sum * kInk.size() / 511];
  }
}

// The first few, side by side.
void print_pictures(const Images& images) {
  constexpr std::size_t kColumns = 100;
  const std::size_t wide = static_cast<std::size_t>(images.width) + 2;
  const std::size_t count = std::min(images.size(), std::max<std::size_t>(1, kColumns / wide));
  std::string labels;
  for (std::size_t i = 0; i < count; ++i) labels += fmt::format("{:<{}}", int{images.labels[i]}, wide);
  fmt::print("\n{}\n", std::string_view(labels).substr(0, labels.find_last_not_of(' ') + 1));
  for (int row = 0; row < images.height; row += 2) {
    std::string line;
    for (std::size_t i = 0; i < count; ++i) {
      line.resize(i * wide, ' ');
      append_row(line, images, i, row);
    }
    fmt::print("{}\n", std::string_view(line).substr(0, line.find_last_not_of(' ') + 1));
  }
}

void print_part(std::string_view part, const Images& images) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(images.classes));
  for (const std::uint8_t label : images.labels) ++counts[label];
  const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
  fmt::print("  {:<8}{} pictures, {} to {} of a class\n", part, images.size(), *fewest, *most);
}

void describe(const std::string& name, const ImageSet& set) {
  const Images& train = set.train;
  fmt::print("{}: {} pictures of {} x {} in {} classes\n", name, train.channels == 1 ? "grey" : "colour",
             train.height, train.width, train.classes);
  print_part("train", train);
  print_part("test", set.test);
  if (train.channels == 1) print_pictures(train);
}

void describe(const std::string& name, const TextSet& set) {
  fmt::print("{}: a text with an alphabet of {} bytes\n", name, set.alphabet.size());
  fmt::print("  {:<8}{} bytes\n  {:<8}{} bytes\n", "train", set.train.size(), "test", set.test.size());
}

void write(const Request& request, const DataSet& set) {
  const auto* const images = std::get_if<ImageSet>(&set);
  if (images == nullptr || images->train.channels != 1) {
    throw InvalidArgument(
        concat("--out: '", request.name, "' cannot be written as IDX files; allowed: sets of grey pictures"));
  }
  const std::size_t bytes = images->train.pixels.size() + images->test.pixels.size();
  const record::RunFolder folder(*request.out, request.force, bytes, kIdx);
  data::write_idx(folder.path(), *images);
  for (const std::string_view file : data::kIdxFiles) fmt::print("{}\n", (folder.path() / file).string());
}

}  // namespace

void add_data(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("data", "Show a data set, or write it for other programs");
  const auto request = std::make_shared<Request>();
  command->add_option("name", request->name, data::data_forms())->required();
  command->add_option("--out", request->out, "writes it to this folder as the four IDX files of MNIST");
  command->add_flag("--force", request->force, "replaces the data set in --out");
  command->callback([request] {
    if (request->force && !request->out)
      throw InvalidArgument("--force needs --out, whose files it replaces");
    const DataSet set = data::load(request->name, "data");
    if (request->out) {
      write(*request, set);
    } else {
      std::visit([&](const auto& one) { describe(request->name, one); }, set);
    }
  });
}

}  // namespace starling::cli
