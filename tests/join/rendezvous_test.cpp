#include "starling/join/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "tests/join/rendezvous_visitors.h"
#include "tests/support/refusal.h"

namespace starling::join {
namespace {

using testing::Crowd;
using testing::error_text;
using testing::expect_meeting;
using ::testing::HasSubstr;
using testing::hello_of;
using testing::kPatience;
using testing::kToken;
using testing::options_for;
using testing::own_host;
using testing::point_at;
using testing::refusal;
using testing::Visitor;
using testing::wait_for_missing;

TEST(Rendezvous, EveryoneGetsEveryonesCard) {
  for (const int ranks : {1, 2, 3, 16, 64}) {
    const RendezvousServer server(options_for(ranks));
    expect_meeting(point_at(server.port()), ranks);
    EXPECT_TRUE(server.served(kPatience));
    EXPECT_TRUE(server.missing().empty());
  }
}

TEST(Rendezvous, CardsMayBeEmptyOrBig) {
  const RendezvousServer server(options_for(16));
  expect_meeting(point_at(server.port()), 16, [](Rank rank) {
    return rank % 2 == 0 ? std::string() : std::string(kMostCardBytes, static_cast<char>(rank));
  });
}

TEST(Rendezvous, ACardAboveTheLimitIsRefused) {
  EXPECT_EQ(refusal([] { meet(point_at(4000), 1, 2, std::string(kMostCardBytes + 1, 'x'), kPatience); }),
            "rendezvous 127.0.0.1:4000: the card of rank 1 has 65537 bytes; allowed: up to 65536");
}

// Each has been refused once before the server starts, so each has to try again.
TEST(Rendezvous, TheServerMayStartLater) {
  Listener early = listen_at(own_host(), 0);
  const RendezvousAddress point{.host = own_host(), .port = early.port, .token = kToken};
  Crowd crowd(point, 3, [](Rank rank) { return std::to_string(rank); });
  for (int i = 0; i < 3; ++i) testing::next_visitor(early);
  early = {};
  RendezvousServer::Options options = options_for(3);
  options.bind = point.host;
  options.port = point.port;
  const RendezvousServer server(options);
  for (const auto& cards : crowd.all()) EXPECT_EQ(cards, (std::vector<std::string>{"0", "1", "2"}));
}

TEST(Rendezvous, WithoutAServerItEndsWithATimeout) {
  const RendezvousAddress point{.host = own_host(), .port = listen_at(own_host(), 0).port, .token = kToken};
  const auto attempt = [&] { meet(point, 0, 2, "", std::chrono::milliseconds(20)); };
  EXPECT_THROW(attempt(), Timeout);
  EXPECT_THAT(error_text(attempt), HasSubstr(concat("rendezvous ", address_of(point), ": no answer for ")));
}

TEST(Rendezvous, ATimeoutNamesWhoIsMissing) {
  RendezvousServer::Options options = options_for(4);
  options.patience = std::chrono::milliseconds(1);  // the server's limit counts, ours is far
  const RendezvousServer server(options);
  const auto attempt = [&] { meet(point_at(server.port()), 1, 4, "", kPatience); };
  EXPECT_THROW(attempt(), Timeout);
  EXPECT_THAT(error_text(attempt), HasSubstr(" rank 1 still waited for 3 of 4 ranks: 0, 2, 3"));
}

TEST(Rendezvous, OurOwnPatienceNamesWhoIsMissingToo) {
  const RendezvousServer server(options_for(40));
  std::string text;
  // On a busy machine the patience may be over before the server has been reached.
  for (Duration patience = std::chrono::milliseconds(50); text.find("still waited") == std::string::npos;
       patience *= 2) {
    text = error_text([&] { meet(point_at(server.port()), 0, 40, "", patience); });
  }
  EXPECT_THAT(text,
              HasSubstr("39 of 40 ranks: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 and 23 more"));
}

TEST(Rendezvous, WhoWentAwayMayComeAgain) {
  const RendezvousServer server(options_for(2));
  for (int i = 0; i < 3; ++i) {
    Visitor former(server.port());
    former.say(hello_message(hello_of(1, 2, "former")));
    ASSERT_TRUE(former.hears_welcome());
  }
  expect_meeting(point_at(server.port()), 2);
}

TEST(Rendezvous, WhoseConnectionWasResetMayComeAgain) {
  const RendezvousServer server(options_for(2));
  Visitor former(server.port());
  former.say(hello_message(hello_of(1, 2, "former")));
  ASSERT_TRUE(former.hears_welcome());
  former.break_off();
  expect_meeting(point_at(server.port()), 2);
}

TEST(Rendezvous, MeetsAsOftenAsAgreed) {
  RendezvousServer::Options options = options_for(3);
  options.meetings = 3;
  const RendezvousServer server(options);
  for (int i = 0; i < 3; ++i) {
    expect_meeting(point_at(server.port()), 3, [i](Rank rank) { return concat(i, " ", rank); });
  }
  EXPECT_TRUE(server.served(kPatience));
  EXPECT_EQ(error_text([&] { meet(point_at(server.port()), 0, 3, "", kPatience); }),
            concat("rendezvous 127.0.0.1:", server.port(), " refuses rank 0: all 3 ranks have met already"));
}

TEST(Rendezvous, TheEndOfTheServerEndsWhoWaits) {
  std::optional<RendezvousServer> server(options_for(4));
  const RendezvousAddress point = point_at(server->port());
  std::vector<std::future<std::string>> waiting;
  for (Rank rank = 0; rank < 3; ++rank) {
    waiting.push_back(std::async(
        std::launch::async, [&, rank] { return error_text([&] { meet(point, rank, 4, "", kPatience); }); }));
  }
  wait_for_missing(*server, {3});
  EXPECT_FALSE(server->served(Duration(0)));
  server.reset();
  for (Rank rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(
        waiting[static_cast<std::size_t>(rank)].get(),
        HasSubstr(concat("rendezvous ", address_of(point), ": the server has gone while rank ", rank)));
  }
}

TEST(Rendezvous, OverIPv6AndByName) {
  RendezvousServer::Options options = options_for(2);
  options.bind = "::1";
  std::optional<RendezvousServer> server;
  try {
    server.emplace(options);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  expect_meeting({.host = "::1", .port = server->port(), .token = kToken}, 2);

  options.bind = "::";
  const RendezvousServer everywhere(options);
  expect_meeting({.host = "localhost", .port = everywhere.port(), .token = kToken}, 2);
}

TEST(RendezvousServer, BadOptionsAreRefused) {
  const auto refusal_with = [](auto change) {
    RendezvousServer::Options options = options_for(2);
    change(options);
    return refusal([&] { RendezvousServer{options}; });
  };
  EXPECT_EQ(refusal_with([](auto& options) { options.token = ""; }),
            "rendezvous: the token has 0 characters; allowed: 1 to 256");
  EXPECT_EQ(refusal_with([](auto& options) { options.ranks = 0; }),
            "rendezvous: 0 ranks; allowed: 1 to 4096");
  EXPECT_EQ(refusal_with([](auto& options) { options.meetings = 0; }),
            "rendezvous: 0 meetings; allowed: 1 and more");
  EXPECT_THAT(refusal_with([](auto& options) { options.bind = "no address"; }),
              HasSubstr("cannot listen at 'no address', which is not an address of this host"));
  EXPECT_THAT(refusal_with([](auto& options) { options.bind = "192.0.2.1"; }),
              HasSubstr("cannot listen at 192.0.2.1:0: "));
}

TEST(RendezvousServer, APortInUseIsNamed) {
  const RendezvousServer first(options_for(2));
  RendezvousServer::Options options = options_for(2);
  options.port = first.port();
  EXPECT_EQ(error_text([&] { RendezvousServer{options}; }),
            concat("cannot listen at 127.0.0.1:", first.port(), ": Address already in use"));
}

}  // namespace
}  // namespace starling::join
