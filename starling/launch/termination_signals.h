// While this lives, the signals that end a run arrive through a descriptor.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "starling/core/descriptor.h"
#include "starling/core/error.h"

namespace starling::launch {

class TerminationSignals {
 public:
  TerminationSignals() {
    sigemptyset(&wanted_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted_, number);
    sigprocmask(SIG_BLOCK, &wanted_, &before_);
    descriptor_ = Descriptor(signalfd(-1, &wanted_, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!descriptor_.valid()) throw Error(concat("signalfd: ", std::strerror(errno)));
  }
  ~TerminationSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  TerminationSignals(const TerminationSignals&) = delete;
  TerminationSignals& operator=(const TerminationSignals&) = delete;

  int descriptor() const { return descriptor_.get(); }
  // The previous mask.
  const sigset_t& before() const { return before_; }
  // The number of a signal that has arrived, or 0.
  int read() const {
    signalfd_siginfo info{};
    return ::read(descriptor_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                        : 0;
  }

 private:
  sigset_t wanted_{};
  sigset_t before_{};
  Descriptor descriptor_;
};

}  // namespace starling::launch
