#include "starling/strategy/centre/shared_model.h"

#include <algorithm>
#include <new>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/strategy/registry.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {
namespace {

// Between so many the loop serves messages: a large model takes a while.
constexpr std::size_t kBlocksAtATime = 64;

// The array that begins at `memory`, which is advanced behind it; made there if it is fresh.
template <class Element>
std::span<Element> array_at(std::byte*& memory, std::size_t count, bool fresh) {
  auto* const first = reinterpret_cast<Element*>(memory);
  for (std::size_t i = 0; fresh && i < count; ++i) new (first + i) Element();
  memory += count * sizeof(Element);
  return {first, count};
}

}  // namespace

bool have_common_memory(Member& self) {
  const transport::CommonMemory* const memory = self.net().common_memory();
  if (memory == nullptr) return false;
  for (Rank worker = 0; worker < self.workers(); ++worker) {
    if (!memory->has(worker)) return false;
  }
  return true;
}

void require_common_memory(Member& self, std::string_view what) {
  if (!have_common_memory(self)) throw InvalidArgument(one_host_needed(what));
}

SharedModel::SharedModel(Worker& self, const Rules& rules, const std::optional<Time>& computed)
    : self_(self),
      memory_(*self.net().common_memory()),
      rules_(rules),
      computed_(computed),
      model_(nullptr, self.parameters().count, DType::kFloat32),
      last_visits_((model_.count + kBlockElements - 1) / kBlockElements) {}

// The lowest worker that lives makes the model: one that has died has made it before, or never will.
Task<> SharedModel::open(std::string_view name) {
  co_await memory_.wait_until([this] { return memory_.find() != nullptr || is_lowest(); });
  if (memory_.find() == nullptr) {
    make();
  } else {
    use(memory_.find(), false);
  }
  if (!model_.ghost()) self_.keep(name, model_.span());
  states_[static_cast<std::size_t>(self_.rank())].state = State::kPresent;
  memory_.tell_others();
  co_await memory_.wait_until([this] { return all_have_found_it(); });
}

bool SharedModel::is_lowest() const {
  for (Rank worker = 0; worker < self_.rank(); ++worker) {
    if (!memory_.gone(worker)) return false;
  }
  return true;
}

std::size_t SharedModel::bytes_before_model() const {
  const auto workers = static_cast<std::size_t>(self_.workers());
  return sizeof(Board) + workers * sizeof(WorkerState) + last_visits_.size() * sizeof(BlockLock);
}

void SharedModel::make() {
  const Buffer initial = self_.initial_model();
  const std::size_t model_bytes = initial.data.ghost() ? 0 : initial.data.size();
  const transport::Memory memory = self_.net().allocate(bytes_before_model() + model_bytes);
  use(memory.bytes.data(), true);
  copy(initial.data, model_);
  memory_.put(memory);
}

void SharedModel::use(std::byte* memory, bool fresh) {
  board_ = array_at<Board>(memory, 1, fresh).data();
  states_ = array_at<WorkerState>(memory, static_cast<std::size_t>(self_.workers()), fresh);
  words_ = array_at<BlockLock>(memory, last_visits_.size(), fresh);
  if (!self_.parameters().ghost()) model_.bytes = memory;
  if (rules_.locked) locks_.emplace(self_, memory_, words_);
}

bool SharedModel::all_have_found_it() const {
  for (Rank worker = 0; worker < self_.workers(); ++worker) {
    if (states_[static_cast<std::size_t>(worker)].state == State::kAbsent && !memory_.gone(worker))
      return false;
  }
  return true;
}

bool SharedModel::takes_part(Rank worker) const {
  return states_[static_cast<std::size_t>(worker)].state == State::kPresent && !memory_.gone(worker);
}

// The worker that the board names, or the next one behind it that takes part. This one does.
Rank SharedModel::whose_turn() const {
  Rank worker = board_->turn;
  while (worker != self_.rank() && !takes_part(worker)) worker = (worker + 1) % self_.workers();
  return worker;
}

Task<> SharedModel::await_turn() {
  for (;;) {
    const Rank other = whose_turn();
    if (other == self_.rank()) co_return;
    Stopwatch watch(self_, record::Activity::kWait, other);
    watch.in_background_until(computed_);
    co_await memory_.wait_until([&] { return whose_turn() != other; });
  }
}

Slice SharedModel::block(std::size_t index) const {
  return {index * kBlockElements, std::min(model_.count, (index + 1) * kBlockElements)};
}

Task<> SharedModel::visit(const Update& update) {
  const bool in_turn = rules_.order == CentreOrder::kRoundRobin;
  if (in_turn) co_await await_turn();
  const std::size_t blocks = last_visits_.size();
  const std::size_t first = slice_of(blocks, self_.workers(), self_.rank()).begin;
  std::optional<Stopwatch> updating;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t index = (first + i) % blocks;
    if (locks_ && !locks_->try_lock(index)) {
      updating.reset();
      co_await locks_->lock(index, computed_);
    }
    if (!updating) updating.emplace(self_, record::Activity::kUpdate).in_background_until(computed_);
    if (i == 0) note_staleness(index);
    last_visits_[index] = words_[index].visits.fetch_add(1) + 1;
    const Slice place = block(index);
    update(model_.part(place.begin, place.end), place);
    co_await self_.pass_memory(2 * place.size() * sizeof(float));
    if (locks_) locks_->unlock(index);
    if (i % kBlocksAtATime == kBlocksAtATime - 1) co_await runtime::yield();
  }
  if (!in_turn) co_return;
  board_->turn = (self_.rank() + 1) % self_.workers();
  memory_.tell_others();
}

// The visits of others since this worker's last one.
void SharedModel::note_staleness(std::size_t index) {
  if (last_visits_[index] == 0) return;
  self_.journal().staleness.note(words_[index].visits - last_visits_[index]);
}

void SharedModel::leave() {
  states_[static_cast<std::size_t>(self_.rank())].state = State::kLeft;
  memory_.tell_others();
}

}  // namespace starling::strategy
