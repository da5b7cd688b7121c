#include "starling/collective/direct_work.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "starling/collective/staging.h"
#include "starling/core/error.h"
#include "starling/runtime/deadline.h"

namespace starling::collective {

namespace {

// Small enough that every member gets some, large enough that the cost of taking one is negligible.
constexpr std::size_t kDirectPieceBytes = 32 << 10;
constexpr std::size_t kLine = 64;

bool reduces(DirectTask task) { return task == DirectTask::kAllReduce || task == DirectTask::kReduceScatter; }
bool by_slice(DirectTask task) {
  return task == DirectTask::kReduceScatter || task == DirectTask::kAllGather;
}

// Elements cut on cache lines, so that two workers do not write to one line.
Slice cut_on_lines(Slice whole, std::size_t element, std::size_t parts, std::size_t part) {
  const std::size_t per_line = kLine / element;
  const Slice lines = slice_of((whole.size() + per_line - 1) / per_line, parts, part);
  return {whole.begin + std::min(lines.begin * per_line, whole.size()),
          whole.begin + std::min(lines.end * per_line, whole.size())};
}

}  // namespace

std::size_t count_pieces(DirectTask task, const Data& data, std::size_t members) {
  if (data.count == 0 || task == DirectTask::kBarrier) return 0;
  const std::size_t slices = by_slice(task) ? members : 1;
  const std::size_t per_slice = (data.size() / slices + kDirectPieceBytes - 1) / kDirectPieceBytes;
  return slices * std::clamp<std::size_t>(per_slice, 1, kMaxPieces / slices);
}

class Work::Progress final : public transport::Watch {
 public:
  explicit Progress(Work& work) : Watch(work.memory_, work.meeting_.deadline()), work_(work) {}
  bool ready() override { return work_.finished() || work_.claimable_left(); }
  std::string describe() const override {
    const std::size_t open = std::min(work_.open_, kMaxPieces - 1);
    const std::uint64_t word = work_.meeting_.ledger().pieces[open].load();
    return concat(work_.meeting_.describe(), ": rank ", Piece::worker(word), ", which works on piece ", open,
                  " of ", work_.brings_.pieces);
  }

 private:
  Work& work_;
};

Work::Work(Meeting& meeting, const Contribution& brings)
    : meeting_(meeting),
      brings_(brings),
      memory_(meeting.memory()),
      rank_(meeting.members()[meeting.self()].rank),
      element_(size_of(brings.data.type)),
      sources_(meeting.members().size()) {
  if (reduces(brings.task)) prepare_reduction();
}

void Work::prepare_reduction() {
  combine_.op = operation_of(brings_.how);
  if (brings_.how.kind == Reduction::Kind::kMean) combine_.divisor = static_cast<double>(sources_.size());
  if (brings_.how.kind != Reduction::Kind::kWeightedMean) return;
  for (const auto& member : meeting_.members()) weights_.push_back(member.posting->weight);
  combine_.weights = weights_;
  combine_.divisor = divisor_of(weights_, brings_.data.type);
}

Task<> Work::run() {
  for (;;) {
    co_await take_pieces();
    if (finished()) co_return;
    Progress progress(*this);
    if (!co_await progress) {
      throw Timeout(concat("rank ", rank_, ": ", progress.describe(), ": no progress"));
    }
  }
}

// Every piece that is free or whose worker is gone. Lets other tasks run between two pieces.
Task<> Work::take_pieces() {
  const std::size_t pieces = brings_.pieces;
  const std::size_t start = meeting_.self() * pieces / meeting_.members().size();
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::size_t piece = (start + i) % pieces;
    if (!claim(piece)) continue;
    process(piece);
    if (i % 16 == 15) co_await runtime::yield();
  }
  if (finished()) wake_all();
}

bool Work::claimable(std::uint64_t word) const {
  return Piece::free(word) || ((word & Piece::kDone) == 0 && memory_.gone(Piece::worker(word)));
}

bool Work::claimable_left() const {
  for (std::size_t piece = open_; piece < brings_.pieces; ++piece) {
    if (claimable(meeting_.ledger().pieces[piece].load())) return true;
  }
  return false;
}

// A piece taken over from the dead comes with its log, copied before it is claimed: should we die too, the
// next one finds it with us.
bool Work::claim(std::size_t piece) {
  auto& word = meeting_.ledger().pieces[piece];
  std::uint64_t seen = word.load();
  if (!claimable(seen)) return false;
  if (Piece::progress(seen) % 2 == 1) {
    const Board& dead = board_of(memory_, Piece::worker(seen));
    std::memcpy(board_of(memory_, rank_).log, dead.log, kBlockBytes);
  }
  return word.compare_exchange_strong(seen, Piece::claimed(rank_, Piece::progress(seen)));
}

bool Work::finished() {
  while (open_ < brings_.pieces && (meeting_.ledger().pieces[open_].load() & Piece::kDone) != 0) ++open_;
  return open_ == brings_.pieces;
}

// The stores that follow must not be moved before this one: they destroy what the old number stands for.
void Work::publish(std::size_t piece, std::uint64_t word) {
  meeting_.ledger().pieces[piece].store(word);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void Work::process(std::size_t piece) {
  if (reduces(brings_.task)) {
    redo_logged_block(piece);
    const std::uint64_t progress = Piece::progress(meeting_.ledger().pieces[piece].load());
    for (std::size_t block = progress / 2; block < blocks(piece); ++block) reduce_block(piece, block);
  } else {
    copy(piece, range(piece));
  }
  publish(piece, Piece::kDone | Piece::claimed(rank_, 0));
}

void Work::redo_logged_block(std::size_t piece) {
  const std::uint64_t progress = Piece::progress(meeting_.ledger().pieces[piece].load());
  if (progress % 2 == 0) return;
  hand_out(piece, block_range(piece, progress / 2));
  publish(piece, Piece::claimed(rank_, progress + 1));
}

void Work::reduce_block(std::size_t piece, std::size_t block) {
  const Slice elements = block_range(piece, block);
  for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i] = place(i, elements.begin);
  fault("sum");
  combine(brings_.data.type, combine_, board_of(memory_, rank_).log, sources_, elements.size());
  fault("number");
  publish(piece, Piece::claimed(rank_, 2 * block + 1));
  hand_out(piece, elements);
  publish(piece, Piece::claimed(rank_, 2 * block + 2));
}

void Work::hand_out(std::size_t piece, Slice elements) {
  const std::byte* log = board_of(memory_, rank_).log;
  for (std::size_t member = 0; member < sources_.size(); ++member) {
    if (!goes_to(piece, member)) continue;
    fault("copy");
    std::memcpy(place(member, elements.begin), log, elements.size() * element_);
  }
}

// Nothing that is read is written, so a dead member's copy is simply made again.
void Work::copy(std::size_t piece, Slice elements) {
  const std::byte* source = place(owner(piece), elements.begin);
  for (std::size_t member = 0; member < sources_.size(); ++member) {
    if (member == owner(piece)) continue;
    fault("copy");
    std::memcpy(place(member, elements.begin), source, elements.size() * element_);
  }
}

std::size_t Work::owner(std::size_t piece) const {
  if (brings_.task == DirectTask::kBroadcast) {
    const auto& members = meeting_.members();
    const auto root =
        std::find_if(members.begin(), members.end(), [&](auto& m) { return m.rank == brings_.root; });
    return static_cast<std::size_t>(root - members.begin());
  }
  return piece * sources_.size() / brings_.pieces;
}

Slice Work::range(std::size_t piece) const {
  if (!by_slice(brings_.task)) return cut_on_lines({0, brings_.data.count}, element_, brings_.pieces, piece);
  const std::size_t per_slice = brings_.pieces / sources_.size();
  const Slice slice = slice_of(brings_.data.count, sources_.size(), piece / per_slice);
  return cut_on_lines(slice, element_, per_slice, piece % per_slice);
}

std::size_t Work::blocks(std::size_t piece) const {
  const std::size_t per_block = kBlockBytes / element_;
  return (range(piece).size() + per_block - 1) / per_block;
}

Slice Work::block_range(std::size_t piece, std::size_t block) const {
  const Slice whole = range(piece);
  const std::size_t per_block = kBlockBytes / element_;
  const std::size_t begin = whole.begin + block * per_block;
  return {begin, std::min(begin + per_block, whole.end)};
}

bool Work::goes_to(std::size_t piece, std::size_t member) const {
  return brings_.task != DirectTask::kReduceScatter || member == owner(piece);
}

std::byte* Work::place(std::size_t member, std::size_t element) const {
  return meeting_.members()[member].data + element * element_;
}

void Work::fault(const char* where) const {
  if (memory_.fault_point) memory_.fault_point(where);
}

void Work::wake_all() {
  for (const auto& member : meeting_.members()) {
    if (member.rank != rank_) memory_.ring(member.rank);
  }
}

}  // namespace starling::collective
