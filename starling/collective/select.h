// The choice of the algorithm by the amount of data and the size of the group, as a table that can be read,
// printed and replaced.
//
//   0-128k: doubling, 128k- @pow2: halving, 128k- @other: ring
//
//   table     = row { "," row }
//   row       = bytes [ "@" groups ] ":" algorithm
//   bytes     = from "-" [ to ]                                whole numbers with k, m or g; `to` is excluded
//   groups    = [ "pow2" | "other" ] [ size | from "-" [ to ] ]   `to` is included
//   algorithm = "direct" | "ring" | "doubling" | "halving" | "hierarchical"
//
// "pow2" are the groups of 2, 4, 8, ... members, "other" the rest. Exactly one row must match each number of
// bytes and each group of two or more; the order of the rows does not matter.
//
// The table is made for all_reduce and asked for every collective, with the size of the caller's data. Where
// an algorithm has no such collective of its own, the nearest one is taken; docs/collectives.md lists them.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/collective/collective.h"

namespace starling::collective {

inline constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// "ring"
std::string_view name_of(Algorithm algorithm);

// The inverse of name_of. Throws InvalidArgument naming `what` and the names.
Algorithm parse_algorithm(std::string_view text, std::string_view what);

class Selection {
 public:
  struct SelectionRule {
    enum class Kind { kAny, kPowersOfTwo, kOthers };

    std::size_t from = 0;  // bytes
    std::size_t to = kUnlimited;
    Kind kind = Kind::kAny;
    std::size_t smallest = 2;  // members
    std::size_t largest = kUnlimited;
    Algorithm algorithm = Algorithm::kRing;

    bool matches(std::size_t bytes, std::size_t members) const;
    std::string text() const;
  };

  // Throws InvalidArgument, naming `what`, for text that is not a table and for one with gaps or overlaps.
  static Selection parse(std::string_view text, std::string_view what);

  // The table in STARLING_ALLREDUCE; empty if it is not set.
  static std::optional<Selection> from_environment();

  // For groups that share memory: always direct.
  static const Selection& shared_memory();

  // For groups that do not. Follows the formulas of cost.h on 10 Gbit/s Ethernet (alpha = 50 us, 1.25 GB/s),
  // with few rows: nowhere up to 64 members slower than 1.5 times the best.
  static const Selection& network();

  // For groups on several hosts, if they are small or some of them share a host.
  static const Selection& hosts();

  // For two members or more.
  Algorithm choose(std::size_t bytes, std::size_t members) const;
  const std::vector<SelectionRule>& rows() const { return rows_; }

  // The form that parse() reads.
  std::string text() const;

 private:
  explicit Selection(std::vector<SelectionRule> rows) : rows_(std::move(rows)) {}

  std::vector<SelectionRule> rows_;
};

// The algorithm of a call by two members or more: the caller's choice, else the environment's table (read
// once in a process), else the table for the kind of group. InvalidArgument if the first two say direct and
// the group shares no memory; hierarchical counts as no choice in a group on one host.
Algorithm choose(Transport& net, const SharedGroup& group, std::size_t bytes, Choice choice);

}  // namespace starling::collective
