#include "starling/core/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "starling/core/abstract_socket.h"
#include "starling/core/error.h"

namespace starling {
namespace {

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }
bool is_inherited(const Descriptor& descriptor) {
  return (fcntl(descriptor.get(), F_GETFD) & FD_CLOEXEC) == 0;
}

TEST(Descriptor, ClosesWhatItOwnsOnce) {
  int number = -1;
  {
    Descriptor first = make_memory_file("test");
    number = first.get();
    const Descriptor second = std::move(first);
    EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(second.get(), number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, AssigningClosesTheOldOneAtOnce) {
  Descriptor one = make_memory_file("one"), two = make_memory_file("two");
  const int old = one.get(), taken = two.get();
  one = std::move(two);
  EXPECT_FALSE(is_open(old));
  EXPECT_EQ(one.get(), taken);
}

TEST(Descriptor, CloseTellsWhatFailed) {
  Descriptor file = make_memory_file("test");
  EXPECT_EQ(file.close(), 0);
  EXPECT_FALSE(file.valid());
  EXPECT_EQ(file.close(), 0) << "there is none any more";
  EXPECT_EQ(Descriptor(1 << 20).close(), EBADF);
}

TEST(Descriptor, NothingIsInherited) {
  const DescriptorPair pipe = make_pipe(), pair = make_socket_pair();
  for (const Descriptor* end : {&pipe.first, &pipe.second, &pair.first, &pair.second}) {
    EXPECT_FALSE(is_inherited(*end));
  }
  EXPECT_FALSE(is_inherited(make_memory_file("test")));
  EXPECT_FALSE(is_inherited(open_process(getpid())));
}

TEST(Descriptor, APipeCarriesBytesAndNeedNotBlock) {
  const DescriptorPair pipe = make_pipe();
  set_nonblocking(pipe.first);
  char letter = 0;
  EXPECT_EQ(read(pipe.first.get(), &letter, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  ASSERT_EQ(write(pipe.second.get(), "x", 1), 1);
  EXPECT_EQ(read(pipe.first.get(), &letter, 1), 1);
  EXPECT_EQ(letter, 'x');
}

TEST(AbstractSocket, ConnectsProcessesOfOneUser) {
  const std::string name = concat("starling-test-", getpid());
  const Descriptor listener = listen_at_name(name, SOCK_STREAM, 1);
  EXPECT_THROW(listen_at_name(name, SOCK_STREAM, 1), Error) << "the name is taken";
  const Descriptor client = connect_to_name(name, SOCK_STREAM);
  ASSERT_TRUE(client.valid());
  const Descriptor server(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(server.valid());
  EXPECT_TRUE(is_same_user(client));
  EXPECT_TRUE(is_same_user(server));
}

TEST(AbstractSocket, WhereNobodyListensThereIsNoConnection) {
  EXPECT_FALSE(connect_to_name(concat("starling-nobody-", getpid()), SOCK_STREAM).valid());
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST(AbstractSocket, NamesHaveALength) {
  EXPECT_THROW(connect_to_name("", SOCK_STREAM), InvalidArgument);
  EXPECT_NO_THROW(connect_to_name(std::string(107, 'x'), SOCK_STREAM));
  EXPECT_THROW(connect_to_name(std::string(108, 'x'), SOCK_STREAM), InvalidArgument);
}

}  // namespace
}  // namespace starling
