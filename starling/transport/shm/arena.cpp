#include "starling/transport/shm/arena.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>

#include "starling/core/error.h"
#include "starling/transport/shared_memory.h"

namespace starling::transport::shm {

namespace {

constexpr std::size_t kHuge = std::size_t{2} << 20;

constexpr std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

// The addresses that this process may still take; fewer where they are limited, as by `ulimit -v`.
std::size_t addresses_left() {
  constexpr std::size_t kAll = std::size_t{1} << 47;
  struct rlimit limit {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kAll;
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::size_t taken = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::min(limit.rlim_cur - std::min(limit.rlim_cur, taken), kAll);
}

// A rank can fill no more than the memory and the swap space of the machine. All ranks together have half of
// the addresses that a process may have.
std::size_t heap_bytes_here(std::size_t ranks) {
  constexpr std::size_t kLeast = std::size_t{16} << 30;
  struct sysinfo machine {};
  const bool known = sysinfo(&machine) == 0;
  const std::size_t memory = known ? (machine.totalram + machine.totalswap) * machine.mem_unit : 0;
  return std::min(std::max(memory, kLeast), addresses_left() / 2 / ranks);
}

[[noreturn]] void fail(const char* call) {
  throw Error(concat("shared memory: ", call, ": ", std::strerror(errno)));
}

}  // namespace

// Header, slots, pipes, offers, boards, heaps follow each other, each on a boundary that suits huge pages.
Arena::Places::Places(std::size_t ranks, std::size_t heap_bytes)
    : slots(round_up(sizeof(Header), kHuge)),
      pipes(round_up(slots + ranks * sizeof(RankSlot), kHuge)),
      offers(round_up(pipes + ranks * ranks * sizeof(Pipe), kHuge)),
      boards(round_up(offers + ranks * kOffers * sizeof(Offer), kHuge)),
      heaps(round_up(boards + ranks * SharedMemory::kBoardBytes, kHuge)),
      end(heaps + ranks * heap_bytes) {}

std::shared_ptr<Arena> Arena::create(int ranks, Options options) {
  if (ranks < 1 || ranks > kMaxRanks) {
    throw InvalidArgument(concat("number of ranks ", ranks, ": a host holds 1 to ", kMaxRanks));
  }
  const std::size_t asked =
      options.heap_bytes > 0 ? options.heap_bytes : heap_bytes_here(static_cast<std::size_t>(ranks));
  const std::size_t heap_bytes = round_up(asked, kHuge);
  Descriptor memory = make_memory_file("starling");
  const Places places(static_cast<std::size_t>(ranks), heap_bytes);
  if (ftruncate(memory.get(), static_cast<off_t>(places.end)) != 0) fail("ftruncate");
  std::vector<Descriptor> doorbells;
  for (int i = 0; i < ranks; ++i) {
    doorbells.emplace_back(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!doorbells.back().valid()) fail("eventfd");
  }
  std::shared_ptr<Arena> arena(new Arena(std::move(memory), std::move(doorbells), heap_bytes));
  arena->header().ranks = static_cast<std::uint64_t>(ranks);
  arena->header().heap_bytes = heap_bytes;
  arena->header().magic.store(Header::kMagic);
  return arena;
}

std::shared_ptr<Arena> Arena::open(Descriptor memory, std::vector<Descriptor> doorbells) {
  struct stat status {};
  if (fstat(memory.get(), &status) != 0) fail("fstat");
  std::uint64_t head[3] = {};
  const bool whole = pread(memory.get(), head, sizeof head, 0) == sizeof head;
  if (!whole || head[0] != Header::kMagic || head[1] != doorbells.size() ||
      static_cast<std::size_t>(status.st_size) != Places(head[1], head[2]).end) {
    throw Error("shared memory: the descriptor is not an arena of this version");
  }
  return std::shared_ptr<Arena>(new Arena(std::move(memory), std::move(doorbells), head[2]));
}

Arena::Arena(Descriptor memory, std::vector<Descriptor> doorbells, std::size_t heap_bytes)
    : memory_(std::move(memory)),
      doorbells_(std::move(doorbells)),
      heap_bytes_(heap_bytes),
      places_(doorbells_.size(), heap_bytes) {
  void* mapped =
      mmap(nullptr, places_.end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory_.get(), 0);
  if (mapped == MAP_FAILED) fail("mmap");
  base_ = static_cast<std::byte*>(mapped);
  std::vector<Rank> all(doorbells_.size());
  std::iota(all.begin(), all.end(), 0);
  set_members(std::move(all));
  // Only a hint: it has an effect where the system allows huge pages for shared memory.
  madvise(base_ + places_.heaps, places_.end - places_.heaps, MADV_HUGEPAGE);
}

void Arena::set_members(std::vector<Rank> members) {
  if (members.size() != doorbells_.size()) {
    throw InvalidArgument(concat("the shared memory is for ", doorbells_.size(), " ranks, the host has ",
                                 members.size(), ": ", join_texts(members)));
  }
  members_ = std::move(members);
  slots_.assign(static_cast<std::size_t>(members_.back()) + 1, -1);
  for (std::size_t i = 0; i < members_.size(); ++i)
    slots_[static_cast<std::size_t>(members_[i])] = static_cast<int>(i);
}

Arena::~Arena() { munmap(base_, places_.end); }

RankSlot& Arena::slot(Rank rank) const {
  return reinterpret_cast<RankSlot*>(base_ + places_.slots)[index(rank)];
}

Pipe& Arena::pipe(Rank from, Rank to) const {
  return reinterpret_cast<Pipe*>(base_ + places_.pipes)[index(from) * doorbells_.size() + index(to)];
}

Offer& Arena::offer(Rank owner, std::uint64_t number) const {
  return reinterpret_cast<Offer*>(base_ + places_.offers)[index(owner) * kOffers + number];
}

std::span<std::byte> Arena::board(Rank rank) const {
  return {base_ + places_.boards + index(rank) * SharedMemory::kBoardBytes, SharedMemory::kBoardBytes};
}

std::span<std::byte> Arena::heap(Rank rank) const {
  return {base_ + places_.heaps + index(rank) * heap_bytes_, heap_bytes_};
}

void Arena::introduce(Rank rank, pid_t pid) const {
  slot(rank).launched.store(identity_of(pid));
  enter(rank);
}

bool Arena::claim(Rank rank, ProcessIdentity process) const {
  ProcessIdentity seen;
  return slot(rank).joined.compare_exchange_strong(seen, process) || seen == process;
}

void Arena::enter(Rank rank) const {
  Presence expected = Presence::kUnknown;
  slot(rank).presence.compare_exchange_strong(expected, Presence::kJoined);
  tell_of_change();
}

ProcessIdentity Arena::process(Rank rank) const {
  const ProcessIdentity joined = slot(rank).joined.load();
  return joined.valid() ? joined : slot(rank).launched.load();
}

void Arena::tell_of_change() const {
  header().changes.fetch_add(1);
  for (const Rank other : members_) ring(other);
}

bool Arena::bury(Rank rank, Presence how) const {
  RankSlot& dead = slot(rank);
  Presence seen = dead.presence.load();
  do {
    if (seen == Presence::kDied || seen == Presence::kLeft) return false;
  } while (!dead.presence.compare_exchange_weak(seen, how));
  tell_of_change();
  return true;
}

bool Arena::gone(Rank rank) const {
  const Presence presence = slot(rank).presence.load();
  return presence == Presence::kDied || presence == Presence::kLeft;
}

bool Arena::died(Rank rank) const { return slot(rank).presence.load() == Presence::kDied; }

bool Arena::ring(Rank rank) const {
  if (slot(rank).parked.load() == 0) return false;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto rung = write(doorbell(rank), &one, sizeof one);
  return true;
}

std::optional<std::uint64_t> Arena::offset_of(std::span<const std::byte> bytes) const {
  const auto start = reinterpret_cast<std::uintptr_t>(bytes.data());
  const auto base = reinterpret_cast<std::uintptr_t>(base_);
  if (start < base || start + bytes.size() > base + places_.end) return std::nullopt;
  return start - base;
}

void Arena::reserve(std::span<const std::byte> bytes) const {
  const auto offset = static_cast<off_t>(bytes.data() - base_);
  if (fallocate(memory_.get(), 0, offset, static_cast<off_t>(bytes.size())) != 0) {
    throw Error(concat("shared memory: no room for ", bytes.size(), " bytes: ", std::strerror(errno)));
  }
}

void Arena::give_back(std::span<const std::byte> bytes) const noexcept {
  const auto offset = static_cast<off_t>(bytes.data() - base_);
  fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
            static_cast<off_t>(bytes.size()));
}

}  // namespace starling::transport::shm
