// Requests to UCX to send or to receive: single ones, and messages in pieces. For ucx.cpp.
#pragma once

#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "starling/core/error.h"
#include "starling/transport/wire/engine.h"

namespace starling::transport::wire {

// UCX sends in order, so a message would wait for all of a longer one before it. It is therefore given a few
// pieces of each at a time. All hosts must cut alike.
inline constexpr std::size_t kPiece = std::size_t{256} << 10;
inline constexpr std::size_t kDepth = 4;

inline void check(ucs_status_t status, const char* call) {
  if (status != UCS_OK) throw Error(concat("UCX: ", call, ": ", ucs_status_string(status)));
}

// The result of a UCX operation, which may have finished at once.
class Request {
 public:
  Request(ucs_status_ptr_t returned = nullptr) : returned_(returned) {}  // NOLINT: it is one
  Request(Request&& other) noexcept : returned_(std::exchange(other.returned_, nullptr)) {}
  Request& operator=(Request&& other) noexcept {
    std::swap(returned_, other.returned_);
    return *this;
  }
  ~Request() {
    if (UCS_PTR_IS_PTR(returned_)) ucp_request_free(returned_);
  }

  ucs_status_t status() const {
    return UCS_PTR_IS_PTR(returned_) ? ucp_request_check_status(returned_) : UCS_PTR_STATUS(returned_);
  }
  bool under_way() const { return status() == UCS_INPROGRESS; }
  ucs_status_ptr_t get() const { return returned_; }

 private:
  ucs_status_ptr_t returned_;
};

// A message in pieces, which UCX keeps in order.
class Pieces final : public Transfer {
 public:
  // Begins to send or to receive bytes [at, at + size).
  using Start = std::function<ucs_status_ptr_t(std::size_t at, std::size_t size)>;

  // At most `depth` of them are in progress in UCX at a time.
  Pieces(ucp_worker_h worker, std::size_t bytes, std::size_t depth, Start start)
      : worker_(worker), bytes_(bytes), depth_(depth), start_(std::move(start)) {
    advance();
  }

  State state() const override {
    advance();
    if (failed_) return State::kFailed;
    return under_way_.empty() ? State::kDone : State::kUnderWay;
  }
  // If the first piece has not begun, no other has.
  bool cancel() override {
    if (any_ended_) return false;
    for (const Request& piece : under_way_) {
      if (piece.under_way()) ucp_request_cancel(worker_, piece.get());
      if (piece.status() != UCS_ERR_CANCELED) return false;
    }
    return true;
  }

 private:
  void advance() const {
    for (;;) {
      while (!under_way_.empty() && !under_way_.front().under_way()) {
        any_ended_ = true;
        failed_ |= under_way_.front().status() != UCS_OK;
        under_way_.pop_front();
      }
      if (failed_ || next_ >= bytes_ || under_way_.size() >= depth_) return;
      under_way_.emplace_back(start_(next_, std::min(kPiece, bytes_ - next_)));
      next_ += kPiece;
    }
  }

  ucp_worker_h worker_;
  std::size_t bytes_;
  std::size_t depth_;
  Start start_;
  // Looking at it moves it on.
  mutable std::deque<Request> under_way_;
  mutable std::size_t next_ = 0;
  mutable bool any_ended_ = false;
  mutable bool failed_ = false;
};

}  // namespace starling::transport::wire
