#include "starling/runtime/loop_scheduler.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "starling/core/error.h"

namespace starling::runtime {

namespace {

using namespace std::chrono_literals;

// A busy loop still looks at its descriptors this often: the death of a peer arrives there.
constexpr Duration kLookInterval = 1ms;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

int checked(int result, const char* call) {
  if (result < 0) throw Error(concat(call, ": ", std::strerror(errno)));
  return result;
}

}  // namespace

LoopScheduler::LoopScheduler(Options options) : options_(options), start_(std::chrono::steady_clock::now()) {
  epoll_ = Descriptor(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1"));
  doorbell_ = Descriptor(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"));
  watch(doorbell_.get(), [this] {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = read(doorbell_.get(), &count, sizeof count);
  });
}

Time LoopScheduler::now() const {
  return Time(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start_));
}

void LoopScheduler::drive(bool (*finished)(void*), void* argument) {
  while (!finished(argument)) {
    bool busy = run_batch(finished, argument);
    if (finished(argument)) return;
    busy |= poll_sources();
    busy |= run_posted();
    if (busy) {
      const Time at = now();
      if (at - last_look_ >= kLookInterval) look_at_descriptors(Duration(0));
    } else if (!any_ready() && !linger(finished, argument)) {
      park();
    }
  }
}

// Runs what is ready or due now, but not what these tasks add, so that sources get their turn.
bool LoopScheduler::run_batch(bool (*finished)(void*), void* argument) {
  bool any = false;
  if (!timers().empty()) {
    const Time at = now();
    while (!timers().empty() && timers().next_time() <= at && !finished(argument)) {
      run_timer();
      any = true;
    }
  }
  const std::uint64_t limit = sequence();
  while (ready_before(limit) && !finished(argument)) {
    run_ready();
    any = true;
  }
  return any;
}

bool LoopScheduler::poll_sources() {
  bool any = false;
  for (Source* source : sources_) any |= source->poll();
  return any;
}

bool LoopScheduler::run_posted() {
  if (!has_posted_.load()) return false;
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(posted_mutex_);
    work.swap(posted_);
    has_posted_ = false;
  }
  for (auto& item : work) item();
  return !work.empty();
}

void LoopScheduler::post(std::function<void()> work) {
  {
    const std::lock_guard lock(posted_mutex_);
    posted_.push_back(std::move(work));
    has_posted_ = true;
  }
  if (parked_.load()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto rung = write(doorbell_.get(), &one, sizeof one);
  }
}

bool LoopScheduler::may_spin() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const Source* s) { return s->may_spin(); });
}

// Looks for news for a while. On a full machine each look hands the core to any other thread that can run,
// which is much cheaper than parking and being rung when the sender is only waiting for its turn.
bool LoopScheduler::linger(bool (*finished)(void*), void* argument) {
  const Time start = now();
  for (;;) {
    if (poll_sources() || has_posted_.load() || any_ready() || finished(argument)) return true;
    const Time at = now();
    if (!timers().empty() && timers().next_time() <= at) return true;
    const bool alone = may_spin();
    if (at - start >= (alone ? options_.spin : options_.yield)) return false;
    if (alone) {
      relax();
    } else {
      sched_yield();
    }
  }
}

void LoopScheduler::set_parked(bool parked) {
  parked_ = parked;
  for (Source* source : sources_) source->set_parked(parked);
}

void LoopScheduler::park() {
  set_parked(true);
  const bool news = poll_sources() || has_posted_.load() || any_ready();
  if (!news) {
    const Duration left = timers().empty() ? kForever : timers().next_time() - now();
    const Duration limit = any_waiting() ? options_.stall : kForever;
    look_at_descriptors(std::clamp(left, Duration(0), limit));
  }
  set_parked(false);
  if (now() >= next_warning_) warn_of_stalls();
}

// A run that hangs says so long before its deadlines do: which task waits for what, and since when.
void LoopScheduler::warn_of_stalls() {
  const Time at = now();
  const std::string stalled = stalled_since(at - options_.stall);
  warning_interval_ = stalled.empty() ? options_.stall : 2 * warning_interval_;
  next_warning_ = at + warning_interval_;
  if (!stalled.empty()) log(LogLevel::kWarning, concat("no progress: ", stalled));
}

// Waits for at most `patience`; timers are kept to the nanosecond, as emulated links need.
void LoopScheduler::look_at_descriptors(Duration patience) {
  std::array<epoll_event, 32> events;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timespec limit{seconds.count(), (patience - seconds).count()};
  const int count =
      epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()), &limit, nullptr);
  if (count < 0 && errno != EINTR) throw Error(concat("epoll_pwait2: ", std::strerror(errno)));
  last_look_ = now();
  for (int i = 0; i < count; ++i) {
    const auto found = watched_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (found == watched_.end()) continue;
    const std::function<void()> ready = found->second;  // a copy: it may unwatch itself
    ready();
  }
}

void LoopScheduler::remove(Source& source) { std::erase(sources_, &source); }

void LoopScheduler::watch(int descriptor, std::function<void()> ready) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  checked(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
  watched_[descriptor] = std::move(ready);
}

void LoopScheduler::unwatch(int descriptor) {
  if (watched_.erase(descriptor) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

}  // namespace starling::runtime
