// Recursive doubling and halving pair members whose numbers differ in one bit, so they need 2^k of them. In
// other groups neighbours at the front are folded together first: of each pair (0,1), (2,3), ... the odd
// member hands its vector to the even one, sits out, and gets the result back at the end.
//
// The members that take part are numbered by seats, in group order, and every seat stands for a contiguous
// run of members: "lower seat op higher seat" keeps the group's order.
#pragma once

#include <bit>
#include <cstddef>

#include "starling/collective/collective.h"

namespace starling::collective {

class Fold {
 public:
  explicit Fold(std::size_t members) : seats_(std::bit_floor(members)), extras_(members - seats_) {}

  std::size_t seats() const { return seats_; }  // a power of two
  std::size_t extras() const { return extras_; }
  bool has_partner(std::size_t member) const { return member < 2 * extras_; }
  bool sits_out(std::size_t member) const { return has_partner(member) && member % 2 == 1; }

  std::size_t seat_of(std::size_t member) const {
    return has_partner(member) ? member / 2 : member - extras_;
  }
  std::size_t member_at(std::size_t seat) const { return seat < extras_ ? 2 * seat : seat + extras_; }

 private:
  std::size_t seats_;
  std::size_t extras_;
};

// Brings `data` of the pair together at its even member. `incoming` has room for all of it.
Task<> fold_in(Transport& net, const Group& group, Data data, ReduceOp op, std::span<std::byte> incoming,
               Tag tag);

// Hands the even member's result to the odd one.
Task<> fold_out(Transport& net, const Group& group, Data data, Tag tag);

// mine = mine op theirs, or theirs op mine if they come first in the group's order. Both partners of an
// exchange thus compute the same bits. With a ghost there is nothing to compute.
void combine_in_order(ReduceOp op, Data mine, const std::byte* theirs, bool mine_first);

}  // namespace starling::collective
