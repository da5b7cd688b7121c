#include "starling/session/gallery.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "starling/core/error.h"
#include "starling/strategy/worker.h"

namespace starling::session {

using runtime::Task;
using Kind = Letters::Kind;

namespace {

constexpr int kMostNeeded = 4;

std::size_t extra_count(const Program& program) {
  std::size_t count = 0;
  for (const std::span<float> extra : program.extras) count += extra.size();
  return count;
}

// The parameters, then the extras, behind room for the exhibit.
void copy_model(std::span<const float> parameters, const Program& program, Bytes& into) {
  std::byte* place = into.data() + sizeof(Exhibit);
  const auto append = [&](std::span<const float> part) {
    const auto bytes = std::as_bytes(part);
    place = std::copy(bytes.begin(), bytes.end(), place);
  };
  append(parameters);
  for (const std::span<float> extra : program.extras) append(extra);
}

}  // namespace

Gallery::Gallery(RealWorker& worker, Letters& letters, const Program& program,
                 std::optional<Duration> interval)
    : worker_(worker), letters_(letters), program_(program), interval_(interval), losses_(worker.step()) {
  if (!interval) return;
  if (*interval <= Duration(0)) {
    throw InvalidArgument(
        concat("snapshots every ", format_duration(*interval), ": the interval must be above 0"));
  }
  letters_.on(Kind::kModelTaken, [this](Rank, const Bytes&) { --needed_; });
  if (worker.rank() != 0) return;
  exhibition_.emplace(worker.workers(), *interval, program.snapshot,
                      [this](Rank rank) { letters_.send(rank, Kind::kModelTaken, {}); });
  letters_.on(Kind::kModel, [this](Rank from, Bytes bytes) {
    const auto exhibit = ByteReader(bytes, concat("the model of rank ", from)).get<Exhibit>();
    exhibition_->add(from, exhibit, std::move(bytes), sizeof(Exhibit));
    news_.pulse();
  });
  letters_.on_loss([this] {
    for (Rank rank = 0; rank < worker_.workers(); ++rank) {
      if (worker_.lost(rank)) exhibition_->lose(rank);
    }
    news_.pulse();
  });
}

Task<bool> Gallery::before_step(std::uint64_t) {
  if (!interval_) co_return true;
  losses_.count(worker_);
  const auto now = static_cast<std::uint64_t>((worker_.now() - origin_) / *interval_);
  if (first_snapshot(next_) > now || needed_ >= kMostNeeded || worker_.lost(0)) co_return true;
  co_await take(false);
  co_return true;
}

Task<> Gallery::finished() {
  if (!interval_ || worker_.lost(0)) co_return;
  losses_.count(worker_);
  co_await take(true);
}

Task<> Gallery::take(bool final) {
  co_await worker_.settle();
  Exhibit exhibit;
  exhibit.first = next_;
  exhibit.time = worker_.now() - origin_;
  exhibit.last = static_cast<std::uint64_t>(exhibit.time / *interval_);
  if (next_ == 0 && !final) exhibit.last = 0;  // the initial model has a snapshot of its own
  exhibit.steps = worker_.step();
  exhibit.losses = losses_.take();
  exhibit.final = final;
  next_ = exhibit.last + 1;
  const std::span<const float> parameters = strategy::floats(worker_.parameters());
  const auto bytes =
      std::make_shared<Bytes>(sizeof(Exhibit) + (parameters.size() + extra_count(program_)) * sizeof(float));
  Task<> copied = worker_.on_user_thread(
      [parameters, bytes, &program = program_] { copy_model(parameters, program, *bytes); },
      "copy its model");
  co_await copied;
  std::memcpy(bytes->data(), &exhibit, sizeof exhibit);
  ++needed_;
  letters_.send(0, Kind::kModel, std::move(*bytes));
}

// Without a deadline: a worker may train for hours yet.
Task<> Gallery::concluded() {
  if (!exhibition_) co_return;
  while (const std::optional<Rank> missing = exhibition_->missing()) {
    news_.rename(concat("the last model of rank ", *missing));
    co_await news_;
  }
  exhibition_->conclude();
}

}  // namespace starling::session
