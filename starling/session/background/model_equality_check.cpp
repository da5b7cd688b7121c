#include "starling/session/background/model_equality_check.h"

#include <optional>
#include <utility>

#include "starling/collective/collective.h"
#include "starling/core/error.h"
#include "starling/core/hash.h"

namespace starling::session {

using runtime::Task;

namespace {

constexpr Tag kHashes = (Tag{0xff} << 56) | 24;
constexpr Tag kAllKnow = (Tag{0xff} << 56) | 25;

// The first rank and its first section that is not rank 0's; `hashes` are by rank, then by section.
std::optional<std::pair<std::size_t, std::size_t>> first_difference(std::span<const std::int64_t> hashes,
                                                                    std::size_t sections) {
  for (std::size_t i = sections; i < hashes.size(); ++i) {
    if (hashes[i] != hashes[i % sections]) return std::pair(i / sections, i % sections);
  }
  return {};
}

}  // namespace

void ModelEqualityCheck::note_own(std::span<std::int64_t> hashes) const {
  const strategy::Data model = worker_.parameters();
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const strategy::Section& section = worker_.sections()[i];
    const auto part = model.part(section.offset, section.offset + section.count).span();
    hashes[i] = static_cast<std::int64_t>(hash_of(part));
  }
}

Task<bool> ModelEqualityCheck::before_step(std::uint64_t step) {
  const std::uint64_t done = step - 1;
  const std::size_t sections = worker_.sections().size();
  if (done == 0 || done % every_ != 0 || sections == 0) co_return true;
  co_await worker_.settle();
  const collective::SharedGroup everyone = worker_.everyone();
  std::vector<std::int64_t> hashes(sections * everyone.size());
  note_own(std::span(hashes).subspan(static_cast<std::size_t>(worker_.rank()) * sections, sections));
  const strategy::Data all{std::span<std::int64_t>(hashes)};
  co_await collective::all_gather(worker_.net(), everyone, all, kHashes);
  const auto difference = first_difference(hashes, sections);
  if (!difference) co_return true;
  // A worker that leaves now is lost to the others, so none leaves before all know why.
  try {
    co_await collective::barrier(worker_.net(), everyone, kAllKnow);
  } catch (const PeerLost&) {
  }
  const auto [rank, section] = *difference;
  throw Error(concat("after step ", done, " the models differ: section ", section, " (",
                     worker_.sections()[section].name, ") of rank ", rank, " is not that of rank 0"));
}

}  // namespace starling::session
