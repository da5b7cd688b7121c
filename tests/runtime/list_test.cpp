#include "starling/runtime/list.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace starling::runtime {
namespace {

struct RedTag;
struct BlueTag;

struct Item : Hook<RedTag>, Hook<BlueTag> {
  explicit Item(int v) : value(v) {}
  int value;
};
using Red = List<Item, RedTag>;
using Blue = List<Item, BlueTag>;

template <class AnyList>
std::vector<int> values(const AnyList& list) {
  std::vector<int> found;
  list.for_each([&](const Item& item) { found.push_back(item.value); });
  return found;
}

using Values = std::vector<int>;

TEST(List, KeepsTheOrderOfBothEnds) {
  Item a(1), b(2), c(3);
  Red list;
  EXPECT_TRUE(list.empty());
  list.push_back(b);
  list.push_back(c);
  list.push_front(a);
  EXPECT_EQ(values(list), (Values{1, 2, 3}));
  EXPECT_EQ(list.front().value, 1);
  EXPECT_EQ(list.pop_front().value, 1);
  EXPECT_EQ(values(list), (Values{2, 3}));
}

TEST(List, AnElementLeavesFromTheMiddle) {
  Item a(1), b(2), c(3);
  Red list;
  for (Item* item : {&a, &b, &c}) list.push_back(*item);
  b.Hook<RedTag>::unlink();
  EXPECT_FALSE(b.Hook<RedTag>::linked());
  EXPECT_EQ(values(list), (Values{1, 3}));
  b.Hook<RedTag>::unlink();  // not in a list: nothing happens
  EXPECT_EQ(values(list), (Values{1, 3}));
}

TEST(List, ADyingElementLeaves) {
  Item a(1), c(3);
  auto b = std::make_unique<Item>(2);
  Red list;
  for (Item* item : {&a, b.get(), &c}) list.push_back(*item);
  b.reset();
  EXPECT_EQ(values(list), (Values{1, 3}));
}

TEST(List, ADyingListLetsItsElementsGo) {
  Item a(1), b(2);
  {
    Red list;
    list.push_back(a);
    list.push_back(b);
    EXPECT_TRUE(a.Hook<RedTag>::linked());
  }
  EXPECT_FALSE(a.Hook<RedTag>::linked());
  EXPECT_FALSE(b.Hook<RedTag>::linked());
  Red other;
  other.push_back(b);
  EXPECT_EQ(values(other), (Values{2}));
}

TEST(List, TwoHooksAreIndependent) {
  Item a(1), b(2);
  Red red;
  Blue blue;
  red.push_back(a);
  red.push_back(b);
  blue.push_back(b);
  blue.push_back(a);
  a.Hook<RedTag>::unlink();
  EXPECT_EQ(values(red), (Values{2}));
  EXPECT_EQ(values(blue), (Values{2, 1}));
}

TEST(List, FindsTheFirstThatIsWanted) {
  Item a(1), b(2), c(4);
  Red list;
  for (Item* item : {&a, &b, &c}) list.push_back(*item);
  EXPECT_EQ(list.find([](const Item& item) { return item.value % 2 == 0; }), &b);
  EXPECT_EQ(list.find([](const Item& item) { return item.value > 9; }), nullptr);
}

}  // namespace
}  // namespace starling::runtime
