#include "starling/core/child_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

#include "starling/core/descriptor.h"

namespace starling {
namespace {

// Up to the end: until nobody has the other side any more.
std::string read_all(const Descriptor& from) {
  std::string text;
  std::array<char, 256> part;
  for (;;) {
    const ssize_t got = read(from.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

struct Said {
  ProcessEnd end;
  std::string text;
};

// The output of the command.
Said run(const std::vector<std::string>& command, ChildOptions options = {}) {
  DescriptorPair pipe = make_pipe();
  options.output = options.errors = pipe.second.get();
  ChildProcess child(command, options);
  pipe.second.close();
  std::string text = read_all(pipe.first);
  return {child.wait(), std::move(text)};
}

TEST(ChildProcess, TellsItsExitCode) {
  const Said said = run({"sh", "-c", "echo hello; exit 3"});
  EXPECT_EQ(said.text, "hello\n");
  EXPECT_EQ(said.end.exit_code, 3);
  EXPECT_EQ(said.end.shell_code(), 3);
  EXPECT_EQ(said.end.text(), "exit code 3");
}

TEST(ChildProcess, TellsTheSignalThatKilledIt) {
  const ProcessEnd end = run({"sh", "-c", "kill -9 $$"}).end;
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(end.shell_code(), 128 + SIGKILL);
  EXPECT_EQ(end.text(), "signal 9 (Killed)");
}

TEST(ChildProcess, AProgramThatIsNotThereIsNamed) {
  const Said said = run({"/nonexistent/program"});
  EXPECT_EQ(said.end.exit_code, 127);
  EXPECT_EQ(said.text, "starling: cannot start '/nonexistent/program': No such file or directory\n");
}

TEST(ChildProcess, GetsEnvironmentAndNoInput) {
  const Said said =
      run({"sh", "-c", "cat; echo $COLOUR"}, {.environment = {{"COLOUR", "green"}}, .no_input = true});
  EXPECT_EQ(said.text, "green\n");
  EXPECT_EQ(std::getenv("COLOUR"), nullptr);
}

TEST(ChildProcess, RunsABodyInACopy) {
  int value = 1;
  ChildProcess child([&] {
    value = 2;
    return 40 + value;
  });
  EXPECT_EQ(child.wait().exit_code, 42);
  EXPECT_EQ(child.wait().exit_code, 42) << "the same end again";
  EXPECT_EQ(value, 1);
}

TEST(ChildProcess, AnExceptionOfTheBodyIsTold) {
  DescriptorPair pipe = make_pipe();
  ChildProcess child([]() -> int { throw std::runtime_error("no luck"); }, {.errors = pipe.second.get()});
  pipe.second.close();
  EXPECT_EQ(read_all(pipe.first), "no luck\n");
  EXPECT_EQ(child.wait().exit_code, 1);
}

TEST(ChildProcess, IsAskedWithoutWaiting) {
  ChildProcess child({"sleep", "1000"});
  EXPECT_FALSE(child.end_if_any());
  EXPECT_TRUE(child.running());
  child.signal(SIGTERM);
  EXPECT_EQ(child.wait().signal, SIGTERM);
  EXPECT_FALSE(child.running());
  ASSERT_TRUE(child.end_if_any());
  EXPECT_EQ(child.end_if_any()->signal, SIGTERM);
}

// The pipe ends when the last process that holds it has.
TEST(ChildProcess, ItsGroupEndsWithIt) {
  DescriptorPair pipe = make_pipe();
  ChildProcess child({"sh", "-c", "sleep 1000 & exit 0"}, {.own_group = true, .output = pipe.second.get()});
  pipe.second.close();
  EXPECT_EQ(child.wait().exit_code, 0);
  EXPECT_EQ(read_all(pipe.first), "");
}

TEST(ChildProcess, IsKilledWithItsOwner) {
  DescriptorPair pipe = make_pipe();
  pid_t pid = 0;
  {
    const ChildProcess child({"sleep", "1000"}, {.output = pipe.second.get()});
    pid = child.pid();
  }
  pipe.second.close();
  EXPECT_EQ(read_all(pipe.first), "");
  EXPECT_EQ(kill(pid, 0), -1);
}

// A child of the child dies when the child is killed.
TEST(ChildProcess, DiesWithItsParent) {
  DescriptorPair pipe = make_pipe();
  ChildProcess parent([&] {
    const ChildProcess grandchild({"sh", "-c", "echo here; exec sleep 1000"}, {.output = pipe.second.get()});
    pause();
    return 0;
  });
  pipe.second.close();
  char letter = 0;
  ASSERT_EQ(read(pipe.first.get(), &letter, 1), 1);
  parent.signal(SIGKILL);
  EXPECT_EQ(parent.wait().signal, SIGKILL);
  EXPECT_EQ(read_all(pipe.first), "ere\n");
}

}  // namespace
}  // namespace starling
