// An unbounded queue between tasks of one scheduler. Takers are served in the order they came.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "starling/runtime/wait.h"

namespace starling::runtime {

template <class T>
class Mailbox {
  struct Item {
    std::uint64_t number;  // in the order of put()
    T value;
  };

 public:
  explicit Mailbox(std::string what = "a mailbox") : what_(std::move(what)) {}

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }

  void put(T item) {
    items_.push_back({next_number_++, std::move(item)});
    serve();
  }

  // An item is handed to a taker before the taker runs. If the taker is destroyed in between, the item goes
  // back to where it was in the queue: cancelling loses nothing and reorders nothing.
  class Taker final : public Wait {
   public:
    explicit Taker(Mailbox& mailbox) : mailbox_(mailbox) {}
    ~Taker() override {
      if (item_ && Hook<QueueTag>::linked()) mailbox_.put_back(std::move(*item_));
    }
    std::string describe() const override { return mailbox_.what_; }
    bool await_ready() {
      if (mailbox_.items_.empty()) return false;
      take();
      return true;
    }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> self) {
      begin(self);
      mailbox_.takers_.push_back(*this);
    }
    T await_resume() {
      unqueue();
      T item = std::move(item_->value);
      item_.reset();
      return item;
    }

   private:
    friend class Mailbox;
    void take() {
      item_.emplace(std::move(mailbox_.items_.front()));
      mailbox_.items_.pop_front();
    }

    Mailbox& mailbox_;
    std::optional<Item> item_;
  };

  [[nodiscard]] Taker take() { return Taker(*this); }

 private:
  void serve() {
    while (!items_.empty() && !takers_.empty()) {
      Taker& taker = static_cast<Taker&>(takers_.front());
      taker.take();
      taker.wake();
      served_.push_back(taker);  // still ours until it runs: unlinked when either side dies
    }
  }

  void put_back(Item item) {
    auto place = items_.begin();
    while (place != items_.end() && place->number < item.number) ++place;
    items_.insert(place, std::move(item));
    serve();
  }

  std::string what_;
  std::deque<Item> items_;
  std::uint64_t next_number_ = 0;
  Wait::Queue takers_;
  Wait::Queue served_;
};

}  // namespace starling::runtime
