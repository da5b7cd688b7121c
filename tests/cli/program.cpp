#include "tests/cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace starling::cli {
namespace {

// The build says where the program is; the environment may name another one, such as an installed one.
std::string path_of_program() {
  if (const char* const path = std::getenv("STARLING_PROGRAM")) return path;
#if defined(STARLING_PROGRAM)
  return STARLING_PROGRAM;
#else
  ADD_FAILURE() << "STARLING_PROGRAM does not say where the program is";
  return "/nonexistent/starling";
#endif
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string content_of(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), 0);
  EXPECT_EQ(got, static_cast<ssize_t>(text.size()));
  close(file);
  return text;
}

}  // namespace

Ran run_program(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  std::vector<std::string> words{path_of_program()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;  // the first of a name counts
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(variables);

  const int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  Ran ran{WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), content_of(out),
          content_of(err)};
  EXPECT_NE(ran.exit_code, 127) << "cannot run " << words[0];
  return ran;
}

}  // namespace starling::cli
