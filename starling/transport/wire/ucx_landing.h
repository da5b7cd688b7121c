// How bulk data arrives where UCX uses TCP: in the engine's own memory, from where it is copied to its
// destination. For ucx.cpp.
//
// UCX goes on writing to the memory of a receive that has begun, whatever happens to the endpoint: closing it
// closes only the outgoing side of a connection (uct_tcp_ep_destroy). The data in a dead peer's socket still
// arrives, and a peer that was given up because it stood still may go on one day. By then the memory has long
// been reused.
#pragma once

#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "starling/transport/wire/engine.h"
#include "starling/transport/wire/ucx_pieces.h"

namespace starling::transport::wire {

// Memory for one piece each. Must outlive the worker that writes to it.
class Trays {
 public:
  using Tray = std::unique_ptr<std::byte[]>;

  Tray take() {
    if (free_.empty()) return std::make_unique<std::byte[]>(kPiece);
    Tray tray = std::move(free_.back());
    free_.pop_back();
    return tray;
  }
  void give_back(Tray tray) { free_.push_back(std::move(tray)); }
  // UCX may still write to it.
  void leave(Tray tray) { left_.push_back(std::move(tray)); }

 private:
  std::vector<Tray> free_;
  std::vector<Tray> left_;
};

// A message in pieces that arrives in `data` by way of trays.
class Landing final : public Transfer {
 public:
  Landing(ucp_worker_h worker, Trays& trays, ucp_tag_t tag, std::span<std::byte> data)
      : worker_(worker), trays_(trays), tag_(tag), data_(data) {
    advance();
  }
  ~Landing() override {
    for (Piece& piece : under_way_) {
      if (withdraw(piece)) {
        trays_.give_back(std::move(piece.tray));
      } else {
        trays_.leave(std::move(piece.tray));
      }
    }
  }

  State state() const override {
    advance();
    if (failed_) return State::kFailed;
    return under_way_.empty() ? State::kDone : State::kUnderWay;
  }
  // If the first piece has not begun, no other has.
  bool cancel() override {
    return !any_ended_ &&
           std::all_of(under_way_.begin(), under_way_.end(), [&](Piece& piece) { return withdraw(piece); });
  }
  bool move_to(std::span<std::byte> other) override {
    std::copy_n(data_.begin(), under_way_.empty() ? next_ : under_way_.front().at, other.begin());
    data_ = other;
    return true;
  }

 private:
  struct Piece {
    Trays::Tray tray;
    std::size_t at;
    std::size_t size;
    Request request;
  };
  // As many as may come between two polls; a piece that comes before its receive is posted is copied once
  // more.
  static constexpr std::size_t kAhead = 16;

  bool withdraw(Piece& piece) const {
    if (piece.request.under_way()) ucp_request_cancel(worker_, piece.request.get());
    return piece.request.status() != UCS_INPROGRESS && piece.request.status() != UCS_OK;
  }

  void advance() const {
    while (!under_way_.empty() && !under_way_.front().request.under_way()) take_front();
    while (!failed_ && next_ < data_.size() && under_way_.size() < kAhead) post_next();
  }

  void take_front() const {
    Piece piece = std::move(under_way_.front());
    under_way_.pop_front();
    any_ended_ = true;
    if (piece.request.status() == UCS_OK) {
      std::memcpy(data_.data() + piece.at, piece.tray.get(), piece.size);
    } else {
      failed_ = true;
    }
    trays_.give_back(std::move(piece.tray));
  }

  void post_next() const {
    Piece piece{trays_.take(), next_, std::min(kPiece, data_.size() - next_), {}};
    ucp_request_param_t param{};
    piece.request = ucp_tag_recv_nbx(worker_, piece.tray.get(), piece.size, tag_, ~ucp_tag_t{0}, &param);
    next_ += piece.size;
    under_way_.push_back(std::move(piece));
  }

  ucp_worker_h worker_;
  Trays& trays_;
  ucp_tag_t tag_;
  std::span<std::byte> data_;
  // Looking at it moves it on.
  mutable std::deque<Piece> under_way_;
  mutable std::size_t next_ = 0;
  mutable bool any_ended_ = false;
  mutable bool failed_ = false;
};

}  // namespace starling::transport::wire
