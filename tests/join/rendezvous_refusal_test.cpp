// The errors that strangers, mistaken ranks and wrong servers cause, and that they do not delay the job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/join/rendezvous_visitors.h"
#include "tests/support/refusal.h"

namespace starling::join {
namespace {

using testing::error_text;
using testing::expect_meeting;
using ::testing::HasSubstr;
using testing::hello_of;
using testing::kPatience;
using testing::kToken;
using testing::options_for;
using testing::point_at;
using testing::refusal;
using testing::Visitor;

// The whole answer of a server to a connection that begins like this.
std::string answer_to(const RendezvousServer& server, const std::string& bytes) {
  Visitor visitor(server.port());
  visitor.say(bytes);
  visitor.finish_saying();
  return visitor.hear_all();
}

std::string damaged() { return refusal_message({false, "its message is damaged"}); }

TEST(RendezvousRefusals, AWrongTokenIsRefusedAndTheJobStarts) {
  const RendezvousServer server(options_for(2));
  for (const std::string& token : {std::string("x"), kToken + "0", kToken.substr(1), std::string(32, '0')}) {
    EXPECT_EQ(refusal([&] { meet(point_at(server.port(), token), 0, 2, "", kPatience); }),
              concat("rendezvous 127.0.0.1:", server.port(), " refuses rank 0: the token is wrong"));
  }
  expect_meeting(point_at(server.port()), 2);
}

TEST(RendezvousRefusals, WithoutTheTokenNothingIsLearntAboutTheJob) {
  RendezvousServer::Options options = options_for(4);
  options.meetings = 2;
  const RendezvousServer server(options);
  Visitor seated(server.port());
  seated.say(hello_message(hello_of(3, 4)));
  ASSERT_TRUE(seated.hears_welcome());
  const std::string expected = refusal_message({true, "the token is wrong"});
  for (Hello hello : {hello_of(0, 4), hello_of(3, 4), hello_of(0, 5), hello_of(-1, 4)}) {
    hello.token = "guess";
    EXPECT_EQ(answer_to(server, hello_message(hello)), expected);
  }
}

TEST(RendezvousRefusals, ADifferentNumberOfRanksNamesBoth) {
  const RendezvousServer server(options_for(2));
  EXPECT_THAT(refusal([&] { meet(point_at(server.port()), 0, 3, "", kPatience); }),
              HasSubstr(" refuses rank 0: it counts 3 ranks, the meeting is of 2"));
  expect_meeting(point_at(server.port()), 2);
}

TEST(RendezvousRefusals, ARankOutOfRange) {
  EXPECT_EQ(refusal([] { meet(point_at(4000), 2, 2, "", kPatience); }),
            "rendezvous 127.0.0.1:4000: rank 2 is not within 0 to 1");
  const RendezvousServer server(options_for(2));
  EXPECT_EQ(answer_to(server, hello_message(hello_of(2, 2))),
            refusal_message({true, "rank 2 is not within 0 to 1"}));
  EXPECT_EQ(answer_to(server, hello_message(hello_of(-1, 2))),
            refusal_message({true, "rank 4294967295 is not within 0 to 1"}));
}

TEST(RendezvousRefusals, TheSecondOfTwoWithTheSameRank) {
  const RendezvousServer server(options_for(2));
  {
    Visitor first(server.port());
    first.say(hello_message(hello_of(1, 2)));
    ASSERT_TRUE(first.hears_welcome());
    EXPECT_THAT(refusal([&] { meet(point_at(server.port()), 1, 2, "", kPatience); }),
                HasSubstr(" refuses rank 1: another process with rank 1 is there already"));
  }
  expect_meeting(point_at(server.port()), 2);
}

TEST(RendezvousRefusals, DamagedMessages) {
  const RendezvousServer server(options_for(2));
  const std::string good = hello_message(hello_of(0, 2));
  const auto with_length = [&](std::uint32_t length) {
    std::string bytes = good;
    for (std::size_t i = 0; i < 4; ++i) bytes[8 + i] = static_cast<char>(length >> (8 * i));
    return bytes;
  };
  EXPECT_EQ(answer_to(server, with_length(UINT32_MAX)), damaged());
  EXPECT_EQ(answer_to(server, with_length(static_cast<std::uint32_t>(most_bytes(Word::kHello, 0)) + 1)),
            damaged());
  EXPECT_EQ(answer_to(server, with_length(20)), damaged());  // the token reaches beyond
  EXPECT_EQ(answer_to(server, with_length(0)), damaged());
  EXPECT_EQ(answer_to(server, welcome_message()), damaged());
  EXPECT_EQ(answer_to(server, good.substr(0, good.size() - 1)), "");
  EXPECT_EQ(answer_to(server, "GET / HTTP/1.1\r\n\r\n"), "");
  EXPECT_EQ(answer_to(server, ""), "");
  expect_meeting(point_at(server.port()), 2);
}

TEST(RendezvousRefusals, WhoHasASeatAndGoesOnTalkingLosesIt) {
  const RendezvousServer server(options_for(2));
  EXPECT_EQ(answer_to(server, hello_message(hello_of(0, 2)) + "more"), welcome_message());
  expect_meeting(point_at(server.port()), 2);
}

TEST(RendezvousRefusals, AnotherVersionIsToldBoth) {
  const RendezvousServer server(options_for(2));
  std::string newer = hello_message(hello_of(0, 2));
  newer[4] = 7;
  EXPECT_EQ(answer_to(server, newer),
            refusal_message({false, "the server speaks version 1 of the protocol, this process 7"}));
}

// The error of meet() for a server that answers like this.
std::string meet_where_answer_is(const std::string& bytes) {
  const Listener listener = listen_at("127.0.0.1", 0);
  auto text = std::async(std::launch::async, [&] {
    return error_text([&] { meet(point_at(listener.port), 0, 2, "", kPatience); });
  });
  Visitor client = testing::next_visitor(listener);
  client.say(bytes);
  const std::string prefix = concat("rendezvous 127.0.0.1:", listener.port);
  const std::string whole = text.get();
  return whole.starts_with(prefix) ? whole.substr(prefix.size()) : whole;
}

TEST(RendezvousRefusals, WrongServersAreRecognised) {
  EXPECT_EQ(meet_where_answer_is("HTTP/1.1 400 Bad Request\r\n\r\n"),
            ": what answers there is not a server of Starling's rendezvous");
  std::string newer = welcome_message();
  newer[4] = 7;
  EXPECT_EQ(meet_where_answer_is(newer), ": the server speaks version 7 of the protocol, this process 1");
  std::string reason = refusal_message({false, "too old\n\x1b[31m"});
  reason[4] = 7;
  EXPECT_EQ(meet_where_answer_is(reason), " refuses rank 0: too old??[31m");
  std::string huge = cards_message({"a", "b"});
  huge[11] = 1;
  EXPECT_EQ(meet_where_answer_is(huge), ": the answer has 16777226 bytes; at most 131080 are expected");
  EXPECT_EQ(meet_where_answer_is(cards_message({"a"})), ": the answer is damaged");
  EXPECT_EQ(meet_where_answer_is(welcome_message() + missing_message({2})), ": the answer is damaged");
  EXPECT_EQ(meet_where_answer_is(hello_message(hello_of(0, 2))), ": the answer is damaged");
}

TEST(RendezvousStrangers, DoNotHoldTheJobUpHoweverMany) {
  RendezvousServer::Options options = options_for(4);
  options.strangers = 8;
  options.first_word = kPatience;  // their number alone has to do it
  const RendezvousServer server(options);
  const std::string hello = hello_message(hello_of(0, 4));
  std::vector<Visitor> strangers;
  for (std::size_t i = 0; i < 200; ++i) {
    strangers.emplace_back(server.port());
    strangers.back().say(hello.substr(0, i % hello.size()));
  }
  expect_meeting(point_at(server.port()), 4);
  EXPECT_EQ(strangers.front().hear_all(), "");  // the oldest had to go
}

TEST(RendezvousStrangers, HaveToSpeakSoon) {
  RendezvousServer::Options options = options_for(2);
  options.first_word = std::chrono::milliseconds(1);
  const RendezvousServer server(options);
  Visitor silent(server.port());
  EXPECT_EQ(silent.hear_all(), "");
  Visitor slow(server.port());
  slow.say(hello_message(hello_of(0, 2)).substr(0, 7));
  EXPECT_EQ(slow.hear_all(), "");
}

}  // namespace
}  // namespace starling::join
