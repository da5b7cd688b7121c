#include "cli/common/child_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "starling/core/error.h"

namespace starling::cli {
namespace {

using std::chrono::steady_clock;

void execute(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  throw Error(concat(arguments[0], ": ", std::strerror(errno)));
}

// In the child: nothing to read, and all that is written goes to the file `output`.
void redirect(int output) {
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  close(nothing);
}

void set_environment(const ChildProcess::Options& options) {
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
}

// The last line with letters in it: programs like to frame their errors.
std::string last_line(const std::string& text) {
  std::string last;
  for (const std::string& line : split(text, '\n')) {
    if (line.find_first_not_of("-=*") != std::string::npos) last = line;
  }
  return last;
}

}  // namespace

ChildProcess::ChildProcess(const std::function<void()>& body, const Options& options) {
  start(body, options);
}

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const Options& options) {
  start([&] { execute(arguments); }, options);
}

void ChildProcess::start(const std::function<void()>& body, const Options& options) {
  end_signal_ = options.end_signal;
  output_ = memfd_create("output", MFD_CLOEXEC);
  if (output_ < 0) throw Error(concat("memfd_create: ", std::strerror(errno)));
  fcntl(output_, F_SETFL, O_APPEND);  // several processes write to it
  std::fflush(nullptr);               // or the copy would write what is buffered once more
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw Error(concat("fork: ", std::strerror(errno)));
  if (pid_ > 0) {
    setpgid(pid_, pid_);  // in both processes: whichever comes first
    return;
  }
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, end_signal_);
  if (getppid() != parent) _exit(1);  // the parent died before prctl
  redirect(output_);
  set_environment(options);
  int code = 0;
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 1;
  }
  std::fflush(nullptr);
  _exit(code);
}

bool ChildProcess::reap(bool block) {
  if (pid_ < 0) return true;
  siginfo_t ended{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT | (block ? 0 : WNOHANG)) != 0 &&
         errno == EINTR) {
  }
  if (ended.si_pid == 0 && !block) return false;
  // Whoever it left behind. Before its end is collected: afterwards the number may be another group's.
  kill(-pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  pid_ = -1;
  return true;
}

bool ChildProcess::any_ended() { return reap(false); }

bool ChildProcess::wait(Duration patience) {
  const auto deadline = steady_clock::now() + patience;
  while (!reap(false)) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void ChildProcess::end() {
  if (!reap(false)) {
    kill(-pid_, end_signal_);
    if (end_signal_ != SIGKILL && !wait(std::chrono::seconds(1))) kill(-pid_, SIGKILL);
    reap(true);
  }
  if (output_ >= 0) close(output_);
  output_ = -1;
}

std::string ChildProcess::output() const {
  std::string text;
  char chunk[4096];
  for (ssize_t got = 0; (got = pread(output_, chunk, sizeof chunk, static_cast<off_t>(text.size()))) > 0;) {
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return text;
}

std::string ChildProcess::last_words() {
  // Those who are about to die of the same error may say so; then the rest is ended.
  const bool by_itself = wait(std::chrono::seconds(1));
  std::string words = output_ >= 0 ? last_line(output()) : "";
  end();
  if (words.empty() && by_itself) words = concat("it ended with exit code ", exit_code_);
  return words;
}

}  // namespace starling::cli
