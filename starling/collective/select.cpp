#include "starling/collective/select.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <set>
#include <utility>

#include "starling/collective/direct.h"
#include "starling/collective/hierarchical.h"
#include "starling/core/error.h"

namespace starling::collective {

namespace {

using SelectionRule = Selection::SelectionRule;

constexpr std::array<std::pair<Algorithm, std::string_view>, 5> kNames = {
    {{Algorithm::kDirect, "direct"},
     {Algorithm::kRing, "ring"},
     {Algorithm::kDoubling, "doubling"},
     {Algorithm::kHalving, "halving"},
     {Algorithm::kHierarchical, "hierarchical"}}};
constexpr std::string_view kVariable = "STARLING_ALLREDUCE";
constexpr long long kMostMembers = 1'000'000'000;

constexpr std::string_view kNetwork =
    "0-128k: doubling, 128k- @pow2: halving, 128k- @other 2-8: ring, "
    "128k-512k @other 9-16: halving, 512k- @other 9-16: ring, "
    "128k-2m @other 17-: halving, 2m- @other 17-: ring";

// For few bytes the start-ups count, and two levels have twice as many.
constexpr std::string_view kHosts = "0-64k: doubling, 64k-: hierarchical";

std::pair<std::string_view, std::string_view> cut(std::string_view text, std::size_t at) {
  return {trim(text.substr(0, at)), trim(text.substr(at + 1))};
}

[[noreturn]] void refuse(std::string_view what, std::string_view row, std::string_view why) {
  throw InvalidArgument(concat(what, ": '", row, "': ", why));
}

void read_bytes(SelectionRule& row, std::string_view text, std::string_view what) {
  const std::size_t dash = text.find('-');
  if (dash == text.npos) refuse(what, text, "expected a range of bytes such as 0-16k or 16k-");
  const auto [from, to] = cut(text, dash);
  row.from = parse_size(from, what);
  if (!to.empty()) row.to = parse_size(to, what);
  if (row.to <= row.from) refuse(what, text, "the range of bytes is empty or reversed");
}

std::size_t read_members(std::string_view text, std::string_view what) {
  return static_cast<std::size_t>(parse_integer(text, concat(what, ": group size"), 2, kMostMembers));
}

void read_groups(SelectionRule& row, std::string_view text, std::string_view what) {
  if (text.empty()) refuse(what, "@", "expected a group size after it, such as 8, 2-8, 9- or pow2");
  std::string_view range = text;
  for (const auto& [word, kind] :
       {std::pair<std::string_view, SelectionRule::Kind>{"pow2", SelectionRule::Kind::kPowersOfTwo},
        std::pair<std::string_view, SelectionRule::Kind>{"other", SelectionRule::Kind::kOthers}}) {
    if (!text.starts_with(word)) continue;
    row.kind = kind;
    range = trim(text.substr(word.size()));
    if (range.empty()) return;
  }
  const std::size_t dash = range.find('-');
  if (dash == range.npos) {
    row.smallest = row.largest = read_members(range, what);
    return;
  }
  const auto [smallest, largest] = cut(range, dash);
  row.smallest = read_members(smallest, what);
  if (!largest.empty()) row.largest = read_members(largest, what);
  if (row.largest < row.smallest) refuse(what, text, "the range of group sizes is reversed");
}

SelectionRule read_row(std::string_view text, std::string_view what) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) refuse(what, text, "expected 'bytes: algorithm', as in '0-16k: doubling'");
  const auto [where, algorithm] = cut(text, colon);
  SelectionRule row;
  row.algorithm = parse_algorithm(algorithm, what);
  const std::size_t at = where.find('@');
  if (at == where.npos) {
    read_bytes(row, where, what);
  } else {
    const auto [bytes, groups] = cut(where, at);
    read_bytes(row, bytes, what);
    read_groups(row, groups, what);
  }
  return row;
}

void check_case(const std::vector<SelectionRule>& rows, std::size_t bytes, std::size_t members,
                std::string_view what) {
  const SelectionRule* found = nullptr;
  for (const SelectionRule& row : rows) {
    if (!row.matches(bytes, members)) continue;
    if (found != nullptr) {
      throw InvalidArgument(concat(what, ": '", found->text(), "' and '", row.text(), "' both match ",
                                   format_size(bytes), " bytes in a group of ", members));
    }
    found = &row;
  }
  if (found != nullptr) return;
  throw InvalidArgument(concat(what, ": no row for ", format_size(bytes), " bytes in a group of ", members));
}

// Exactly one row must match every case. The match changes only where a range begins or has just ended, and
// between powers of two and others, so it is enough to check there.
void check_cover(const std::vector<SelectionRule>& rows, std::string_view what) {
  std::set<std::size_t> sizes = {0};
  std::set<std::size_t> groups = {2, 3};
  for (const SelectionRule& row : rows) {
    sizes.insert({row.from, row.to});
    for (const std::size_t edge : {row.smallest, row.largest == kUnlimited ? 2 : row.largest + 1}) {
      const std::size_t other = std::has_single_bit(edge) ? edge + 1 : edge;
      groups.insert({std::bit_ceil(edge), other});
    }
  }
  for (const std::size_t bytes : sizes) {
    for (const std::size_t members : groups) check_case(rows, bytes, members, what);
  }
}

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  for (const auto& [known, name] : kNames) {
    if (known == algorithm) return name;
  }
  throw InvalidArgument(concat("algorithm ", static_cast<int>(algorithm), " does not exist"));
}

Algorithm parse_algorithm(std::string_view text, std::string_view what) {
  std::vector<std::string_view> names;
  for (const auto& [known, name] : kNames) {
    if (name == text) return known;
    names.push_back(name);
  }
  throw InvalidArgument(concat(what, ": unknown algorithm '", text, "'; allowed: ", join_texts(names)));
}

bool SelectionRule::matches(std::size_t bytes, std::size_t members) const {
  if (bytes < from || (bytes >= to && to != kUnlimited)) return false;
  if (members < smallest || members > largest) return false;
  return kind == Kind::kAny || (kind == Kind::kPowersOfTwo) == std::has_single_bit(members);
}

std::string SelectionRule::text() const {
  std::string groups;
  if (kind != Kind::kAny) groups = kind == Kind::kPowersOfTwo ? "pow2" : "other";
  if (smallest != 2 || largest != kUnlimited) {
    if (!groups.empty()) groups += ' ';
    groups += concat(smallest);
    if (largest != smallest) groups += largest == kUnlimited ? "-" : concat("-", largest);
  }
  return concat(format_size(from), "-", to == kUnlimited ? "" : format_size(to), groups.empty() ? "" : " @",
                groups, ": ", name_of(algorithm));
}

Selection Selection::parse(std::string_view text, std::string_view what) {
  if (trim(text).empty()) throw InvalidArgument(concat(what, ": the table is empty"));
  std::vector<SelectionRule> rows;
  for (const std::string& row : split(text, ',')) rows.push_back(read_row(row, what));
  check_cover(rows, what);
  return Selection(std::move(rows));
}

std::optional<Selection> Selection::from_environment() {
  const char* const text = std::getenv(kVariable.data());
  if (text == nullptr) return std::nullopt;
  return parse(text, kVariable);
}

const Selection& Selection::shared_memory() {
  static const Selection table = parse("0-: direct", "shared memory");
  return table;
}

const Selection& Selection::network() {
  static const Selection table = parse(kNetwork, "network");
  return table;
}

const Selection& Selection::hosts() {
  static const Selection table = parse(kHosts, "hosts");
  return table;
}

Algorithm Selection::choose(std::size_t bytes, std::size_t members) const {
  for (const SelectionRule& row : rows_) {
    if (row.matches(bytes, members)) return row.algorithm;
  }
  throw InvalidArgument(concat("no algorithm for a group of ", members));  // parse() has checked all others
}

std::string Selection::text() const {
  std::vector<std::string> texts;
  for (const SelectionRule& row : rows_) texts.push_back(row.text());
  return join_texts(texts);
}

Algorithm choose(Transport& net, const SharedGroup& group, std::size_t bytes, Choice choice) {
  static const std::optional<Selection> override_table = Selection::from_environment();
  const std::size_t members = group.size();
  if (!choice && override_table) choice = override_table->choose(bytes, members);
  if (choice == Algorithm::kHierarchical && !spans_hosts(net, group)) choice.reset();
  if (choice && choice != Algorithm::kDirect) return *choice;
  const bool direct = direct_possible(net, group);
  if (choice && !direct) {
    throw InvalidArgument(concat("direct needs memory that all members share; group ",
                                 join_texts(group.ranks()), " on transport ", net.name(), " has none"));
  }
  const Selection& table = direct                           ? Selection::shared_memory()
                           : hierarchical_suits(net, group) ? Selection::hosts()
                                                            : Selection::network();
  return table.choose(bytes, members);
}

}  // namespace starling::collective
