#include "tests/cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "starling/core/child_process.h"
#include "starling/core/text.h"

namespace starling::cli {
namespace {

std::string written_to(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), 0);
  EXPECT_EQ(got, static_cast<ssize_t>(text.size()));
  close(file);
  return text;
}

// Runs in a child; does not return.
void become_program(const Words& arguments, const Words& environment) {
  Words words{program_path()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Words variables = environment;  // the first of a name counts
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  const std::vector<char*> argv = argv_of(words), envp = argv_of(variables);
  execve(argv[0], argv.data(), envp.data());
  _exit(127);
}

}  // namespace

std::string program_path() {
  if (const char* const path = std::getenv("STARLING_PROGRAM")) return path;
#if defined(STARLING_PROGRAM)
  return STARLING_PROGRAM;
#else
  ADD_FAILURE() << "STARLING_PROGRAM does not say where the program is";
  return "/nonexistent/starling";
#endif
}

RunningProgram::RunningProgram(const Words& arguments, const Words& environment, const std::string& out)
    : out_(memfd_create("out", MFD_CLOEXEC)), err_(memfd_create("err", MFD_CLOEXEC)), pid_(fork()) {
  if (pid_ != 0) return;
  dup2(out.empty() ? out_ : open(out.c_str(), O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
  dup2(err_, STDERR_FILENO);
  become_program(arguments, environment);
}

RunningProgram::~RunningProgram() {
  if (collected_) return;
  kill(pid_, SIGKILL);
  wait();
}

bool RunningProgram::ended() {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

Ran RunningProgram::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  collected_ = true;
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), written_to(out_),
          written_to(err_)};
}

Ran run_program(const Words& arguments, const Words& environment, const std::string& out) {
  Ran ran = RunningProgram(arguments, environment, out).wait();
  EXPECT_NE(ran.exit_code, 127) << "cannot run " << program_path();
  return ran;
}

pid_t start_program(const Words& arguments) {
  const pid_t pid = fork();
  if (pid == 0) become_program(arguments, {});
  return pid;
}

Words sorted_lines(const std::string& text) {
  Words lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  std::sort(lines.begin(), lines.end());
  return lines;
}

void expect_refused(const Words& arguments, const std::string& value, const std::string& allowed) {
  const Ran ran = run_program(arguments);
  SCOPED_TRACE(concat("starling ", join_texts(arguments, " "), "\n", ran.err));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1);
  EXPECT_TRUE(ran.err.starts_with("starling: "));
  EXPECT_NE(ran.err.find(value), std::string::npos) << value;
  EXPECT_NE(ran.err.find(allowed), std::string::npos) << allowed;
}

}  // namespace starling::cli
