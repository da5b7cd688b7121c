// The script runs here, in the shells of this machine; through an agent: tests/cli/launch_hosts_test.cpp.
#include "starling/launch/remote_command.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "starling/core/text.h"
#include "starling/launch/shell_words.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace starling::launch {
namespace {

using testing::refusal;
using Words = std::vector<std::string>;

const std::string kWild = "a 'b' \"c\" $HOME `d` \\ \\n * ! #;&|\n.\n\n  \t-e";

struct Said {
  std::string text;
  int code = 0;
};

// The output of the command line in this machine's sh.
Said say(const std::string& line) {
  FILE* const pipe = popen(concat("{ ", line, "\n} 2>&1").c_str(), "r");
  std::array<char, 4096> part{};
  Said said;
  while (const std::size_t got = fread(part.data(), 1, part.size(), pipe)) said.text.append(part.data(), got);
  said.code = WEXITSTATUS(pclose(pipe));
  return said;
}

Words shells() {
  Words found;
  for (const std::string shell : {"/bin/sh", "/bin/dash", "/bin/bash", "/bin/zsh", "/bin/ksh"})
    if (std::filesystem::exists(shell)) found.push_back(shell);
  return found;
}

// The input goes on until the program has made a file `done` in `folder`, for half a minute at most.
Said run(const std::string& script, const testing::TemporaryFolder& folder,
         const std::string& shell = "/bin/sh") {
  return say(concat("cd ", folder.path(), "; { cat ", folder.write("script", script),
                    "; for i in $(seq 3000); do [ -e done ] && break; sleep 0.01; done; } | ", shell, " -c ",
                    quote_word(remote_shell())));
}

// Its input ends with the script.
Said run_briefly(const std::string& script) {
  const testing::TemporaryFolder folder;
  return say(concat("sh -c ", quote_word(remote_shell()), " < ", folder.write("script", script)));
}

TEST(ShellWords, AreQuotedForEveryShell) {
  for (const std::string& shell : shells())
    EXPECT_EQ(say(concat(shell, " -c ", quote_word(concat("printf %s ", quote_word(kWild))))).text, kWild)
        << shell;
  EXPECT_EQ(quote_word(""), "''");
}

TEST(ShellWords, AreSplitLikeAShellDoes) {
  EXPECT_EQ(split_words("  ssh -p\t22 ", "--agent"), (Words{"ssh", "-p", "22"}));
  EXPECT_EQ(split_words(R"(a 'b "c' "d 'e \" f" g\ h '' x"y"'z')", "--agent"),
            (Words{"a", "b \"c", "d 'e \" f", "g h", "", "xyz"}));
  EXPECT_EQ(refusal([] { split_words("a 'b", "--agent"); }),
            "--agent: 'a 'b' has a quote (') that is not closed");
  EXPECT_EQ(refusal([] { split_words("  ", "--agent"); }),
            "--agent is empty; allowed: a command such as 'ssh -p 2222'");
}

TEST(RemoteCommand, SaysNothingOfTheJob) {
  EXPECT_EQ(remote_shell().find('\n'), std::string::npos);
  EXPECT_EQ(remote_shell().find('!'), std::string::npos);  // csh's history
}

TEST(RemoteCommand, PassesValuesWhateverTheyHold) {
  for (const std::string& shell : shells()) {
    const testing::TemporaryFolder folder;
    const Said said = run(remote_script({.host = "a",
                                         .folder = folder.path(),
                                         .command = {"sh", "-c",
                                                     "printf '%s|%s|%s|%s' \"$1\" \"$STARLING_X\" \"$PWD\" "
                                                     "\"$LD_LIBRARY_PATH\" > out; : > done",
                                                     "sh", kWild},
                                         .variables = {{"STARLING_X", kWild}},
                                         .paths = {{"LD_LIBRARY_PATH", "/in front"}}}),
                          folder, concat("LD_LIBRARY_PATH=/behind ", shell));
    EXPECT_EQ(said.text, concat(kStartedLine, "\n")) << shell;
    EXPECT_EQ(say(concat("cat ", folder.path(), "/out")).text,
              concat(kWild, "|", kWild, "|", folder.path(), "|/in front:/behind"))
        << shell;
  }
}

TEST(RemoteCommand, SaysWhatTheHostLacks) {
  RemoteProgram program{
      .host = "b", .folder = "/no/such 'folder", .command = {"true"}, .variables = {}, .paths = {}};
  Said said = run_briefly(remote_script(program));
  EXPECT_EQ(said.text, "starling: host b has no folder '/no/such 'folder', in which the run was launched\n");
  EXPECT_EQ(said.code, 1);
  program.folder = "/";
  for (const std::string name : {"./no-such-program", "no-such-program"}) {
    program.command = {name};
    said = run_briefly(remote_script(program));
    EXPECT_EQ(said.text, concat("starling: host b has no program '", name, "' (in /)\n"));
    EXPECT_EQ(said.code, 127);
  }
}

TEST(RemoteCommand, RunsNothingOfAScriptThatIsCutShort) {
  const std::string whole =
      remote_script({.host = "a", .folder = "/", .command = {"true"}, .variables = {}, .paths = {}});
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 1}) {
    const Said said = run_briefly(whole.substr(0, size));
    EXPECT_EQ(said.text.find(kStartedLine), std::string::npos) << said.text;
    EXPECT_NE(said.code, 0);
  }
}

TEST(RemoteCommand, HasALimit) {
  const RemoteProgram large{.host = "a",
                            .folder = "/",
                            .command = {"true"},
                            .variables = {{"X", std::string(kMostScriptBytes, 'x')}},
                            .paths = {}};
  EXPECT_NE(refusal([&] { remote_script(large); }).find("allowed: up to 100000"), std::string::npos);
}

}  // namespace
}  // namespace starling::launch
