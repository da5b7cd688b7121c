// Intrusive lists: an element knows its neighbours, so it leaves a list in constant time without knowing
// which list it is in. That is what lets the destructor of a wait take the wait back.
#pragma once

namespace starling::runtime {

// One position in one list. A type that can be in two lists at once derives from two hooks with distinct
// tags.
template <class Tag>
class Hook {
 public:
  Hook() = default;
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;
  ~Hook() { unlink(); }

  bool linked() const { return next_ != this; }

  void unlink() noexcept {
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = this;
  }

 private:
  template <class, class>
  friend class List;

  void insert_before(Hook& position) noexcept {
    prev_ = position.prev_;
    next_ = &position;
    prev_->next_ = this;
    position.prev_ = this;
  }

  Hook* prev_ = this;
  Hook* next_ = this;
};

// Does not own its elements; those still in it when it dies become unlinked.
template <class T, class Tag>
class List {
 public:
  List() = default;
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List() {
    while (!empty()) end_.next_->unlink();
  }

  bool empty() const { return !end_.linked(); }
  T& front() { return element(*end_.next_); }
  void push_back(T& item) noexcept { hook(item).insert_before(end_); }
  void push_front(T& item) noexcept { hook(item).insert_before(*end_.next_); }

  T& pop_front() noexcept {
    T& item = front();
    hook(item).unlink();
    return item;
  }

  // The first element for which `wanted` holds, or null.
  template <class Predicate>
  T* find(Predicate wanted) {
    for (Hook<Tag>* at = end_.next_; at != &end_; at = at->next_) {
      if (wanted(element(*at))) return &element(*at);
    }
    return nullptr;
  }

  template <class Visitor>
  void for_each(Visitor visit) const {
    for (Hook<Tag>* at = end_.next_; at != &end_; at = at->next_) visit(element(*at));
  }

 private:
  static Hook<Tag>& hook(T& item) { return item; }
  static T& element(Hook<Tag>& item) { return static_cast<T&>(item); }

  Hook<Tag> end_;
};

}  // namespace starling::runtime
