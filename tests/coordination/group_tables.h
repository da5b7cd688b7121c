// Books and requests for tests of them.
#pragma once

#include "starling/coordination/group_table.h"
#include "tests/coordination/worker_rosters.h"

namespace starling::coordination {

inline GroupMessage asks(std::uint64_t count, std::uint64_t finished = 0) {
  GroupMessage note;
  note.count = count;
  note.finished = finished;
  return note;
}

inline GroupTable book_of(int workers, const GroupRules& rules) {
  return {std::vector<int>(static_cast<std::size_t>(workers)), make_policy(rules, Random(1)), rules.calls};
}

inline GroupRules smart(std::size_t size) { return {.kind = GroupRules::Kind::kSmart, .size = size}; }

}  // namespace starling::coordination
