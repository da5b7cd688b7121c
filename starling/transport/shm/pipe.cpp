#include "starling/transport/shm/pipe.h"

#include <cstring>

namespace starling::transport::shm {

namespace {

constexpr std::size_t kStep = 16;
constexpr std::size_t kHead = sizeof(Record);
static_assert(kHead % kStep == 0 && kPipeBytes % kStep == 0);
static_assert(kHead + kInlineLimit <= kPipeBytes / 4, "a pipe holds several of the largest records");

std::size_t length_of(std::uint64_t payload) { return kHead + (payload + kStep - 1) / kStep * kStep; }

// A record is never cut at the pipe's end: what is left there is skipped.
std::size_t skipped_before(std::uint64_t tail, std::size_t length) {
  const std::size_t to_end = kPipeBytes - tail % kPipeBytes;
  return length > to_end ? to_end : 0;
}

}  // namespace

bool has_room(const Pipe& pipe, std::size_t payload) {
  const std::uint64_t tail = pipe.tail.load(std::memory_order_relaxed);
  const std::size_t length = length_of(payload);
  return tail + skipped_before(tail, length) + length - pipe.head.load(std::memory_order_acquire) <=
         kPipeBytes;
}

bool write_record(Pipe& pipe, const Record& record, std::span<const std::byte> payload) {
  if (!has_room(pipe, payload.size())) return false;
  std::uint64_t tail = pipe.tail.load(std::memory_order_relaxed);
  const std::size_t length = length_of(payload.size());
  if (const std::size_t skipped = skipped_before(tail, length); skipped > 0) {
    // Where not even a record's head fits, the reader skips by itself.
    if (skipped >= kHead) {
      const Record skip{Record::kSkip, 0, 0, 0, 0, 0, 0};
      std::memcpy(pipe.data + tail % kPipeBytes, &skip, kHead);
    }
    tail += skipped;
  }
  std::byte* place = pipe.data + tail % kPipeBytes;
  std::memcpy(place, &record, kHead);
  if (!payload.empty()) std::memcpy(place + kHead, payload.data(), payload.size());
  pipe.tail.store(tail + length, std::memory_order_release);
  return true;
}

std::optional<Front> front_record(Pipe& pipe) {
  const std::uint64_t tail = pipe.tail.load(std::memory_order_acquire);
  std::uint64_t head = pipe.head.load(std::memory_order_relaxed);
  while (head != tail) {
    const std::size_t to_end = kPipeBytes - head % kPipeBytes;
    const std::byte* place = pipe.data + head % kPipeBytes;
    Front front{};
    if (to_end >= kHead) {
      std::memcpy(&front.record, place, kHead);
      if (front.record.kind != Record::kSkip) {
        if (front.record.kind == Record::kInline) front.payload = {place + kHead, front.record.bytes};
        return front;
      }
    }
    head += to_end;
    pipe.head.store(head, std::memory_order_release);
  }
  return std::nullopt;
}

void pop_record(Pipe& pipe, const Front& front) {
  const std::uint64_t head = pipe.head.load(std::memory_order_relaxed);
  pipe.head.store(head + length_of(front.payload.size()), std::memory_order_release);
}

}  // namespace starling::transport::shm
