// A table that is rebuilt from the states of the living when a worker is lost.
#include <gtest/gtest.h>

#include "tests/coordination/group_tables.h"

namespace starling::coordination {
namespace {

// The state that a worker reports.
GroupMessage state(std::uint64_t count, std::uint64_t finished, bool asking, const IssuedGroup& group = {}) {
  GroupMessage note = asks(count, finished);
  note.asks = asking;
  note.group = group;
  return note;
}

const GroupTable::Answer* answer_to(const GroupTable::Answers& answers, Rank rank) {
  for (const GroupTable::Answer& answer : answers) {
    if (answer.to == rank) return &answer;
  }
  return nullptr;
}

TEST(GroupBookRestore, AGroupThatLostAMemberIsGivenOutAgain) {
  GroupTable table = book_of(5, smart(2));
  const IssuedGroup group{7, 2, 7, {0, 1, 2, 3}};
  // 1 is lost, 2 has finished the group, 3 has not arrived yet, 4 trains.
  const auto answers = table.restore(
      {state(4, 6, true, group), std::nullopt, state(4, 7, false), state(3, 5, false), state(4, 6, false)},
      Time());
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].to, 0);
  EXPECT_EQ(answers[0].group.number, 7U);
  EXPECT_EQ(answers[0].group.issue, 3U);
  EXPECT_EQ(answers[0].group.members, (Group{0, 3}));
  EXPECT_EQ(table.ask(3, asks(4, 5), Time()).at(0).group.members, (Group{0, 3}));
}

TEST(GroupBookRestore, OneWhoIsLeftAloneGetsAnotherGroup) {
  GroupTable table = book_of(4, smart(3));
  const IssuedGroup group{7, 0, 7, {0, 1}};
  const auto answers =
      table.restore({state(4, 6, true, group), std::nullopt, state(4, 6, false), state(4, 6, false)}, Time());
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].group.number, 8U);
  EXPECT_EQ(answers[0].group.members, (Group{0, 2, 3}));
}

TEST(GroupBookRestore, HealthyGroupsStayAndNumbersGoOnRising) {
  GroupTable table = book_of(6, smart(2));
  const IssuedGroup group{9, 0, 9, {0, 1}};
  const auto answers = table.restore({state(5, 8, false, group), state(5, 8, true, group), std::nullopt,
                                      state(5, 11, true), state(5, 11, false), state(5, 4, false)},
                                     Time());
  const GroupTable::Answer* same = answer_to(answers, 1);
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->group.number, 9U);
  EXPECT_EQ(same->group.issue, 0U);
  EXPECT_EQ(same->group.members, (Group{0, 1}));
  EXPECT_EQ(answer_to(answers, 0), nullptr);  // runs it
  const GroupTable::Answer* next = answer_to(answers, 3);
  ASSERT_NE(next, nullptr);
  EXPECT_GE(next->group.number, 12U);
  EXPECT_FALSE(has(next->group.members, 0) || has(next->group.members, 1) || has(next->group.members, 2));
}

TEST(GroupBookRestore, OfAGroupGivenOutTwiceTheLastIssueCounts) {
  GroupTable table = book_of(4, smart(4));
  const IssuedGroup before{7, 0, 7, {0, 1, 2, 3}}, later{7, 1, 7, {0, 1, 2}};
  const auto answers = table.restore(
      {state(4, 6, true, before), state(4, 6, true, later), std::nullopt, std::nullopt}, Time());
  ASSERT_EQ(answers.size(), 2U);
  for (const GroupTable::Answer& answer : answers) {
    EXPECT_EQ(answer.group.issue, 2U);
    EXPECT_EQ(answer.group.members, (Group{0, 1}));
  }
}

// A group that no worker had received when the generator died: its members ask for another.
TEST(GroupBookRestore, WhatNobodyWasToldOfIsForgotten) {
  GroupTable table = book_of(3, smart(3));
  const auto answers = table.restore({std::nullopt, state(4, 6, true), state(4, 6, true)}, Time());
  ASSERT_EQ(answers.size(), 2U);
  for (const GroupTable::Answer& answer : answers) {
    EXPECT_EQ(answer.group.number, 7U);
    EXPECT_EQ(answer.group.members, (Group{1, 2}));
  }
}

TEST(GroupBookRestore, WhoLeavesRunsItsGroupsAndGetsNoOther) {
  GroupTable table = book_of(4, smart(4));
  const IssuedGroup group{7, 0, 7, {0, 1}};
  GroupMessage with_group = state(4, 6, true, group), without = state(4, 6, true);
  with_group.leaves = without.leaves = true;
  const auto answers = table.restore({state(4, 6, false, group), with_group, without, std::nullopt}, Time());
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answer_to(answers, 1)->group.number, 7U);
  EXPECT_EQ(answer_to(answers, 2)->group.number, 0U);
}

}  // namespace
}  // namespace starling::coordination
