#include "starling/core/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "starling/core/descriptor.h"
#include "starling/core/error.h"

namespace starling {

namespace {

constexpr int kFailed = 1;
constexpr int kCannotStart = 127;  // as a shell has it

// In the child.
int execute(const std::vector<std::string>& command) {
  const std::vector<char*> words = argv_of(command);
  execvp(words[0], words.data());
  std::fprintf(stderr, "starling: cannot start '%s': %s\n", words[0], std::strerror(errno));
  return kCannotStart;
}

void redirect(const ChildOptions& options) {
  Descriptor nothing;
  int input = options.input;
  if (options.no_input && input < 0) {
    nothing = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    input = nothing.get();
  }
  if (input >= 0) dup2(input, STDIN_FILENO);
  if (options.output >= 0) dup2(options.output, STDOUT_FILENO);
  if (options.errors >= 0) dup2(options.errors, STDERR_FILENO);
}

void set_up(const ChildOptions& options, pid_t parent) {
  if (options.own_group) setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, options.death_signal);
  if (getppid() != parent) _exit(kFailed);  // the parent died before prctl
  redirect(options);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (options.mask) sigprocmask(SIG_SETMASK, &*options.mask, nullptr);
}

[[noreturn]] void live(const std::function<int()>& body) {
  int code = kFailed;
  try {
    code = body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

std::string ProcessEnd::text() const {
  if (signal != 0) return concat("signal ", signal, " (", strsignal(signal), ")");
  return concat("exit code ", exit_code);
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, const ChildOptions& options) {
  start([&] { return execute(command); }, options);
}

ChildProcess::ChildProcess(const std::function<int()>& body, const ChildOptions& options) {
  start(body, options);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(other.pid_),
      running_(std::exchange(other.running_, false)),
      own_group_(other.own_group_),
      end_(other.end_) {}

ChildProcess::~ChildProcess() {
  if (!running()) return;
  signal(SIGKILL);
  wait();
}

void ChildProcess::start(const std::function<int()>& body, const ChildOptions& options) {
  own_group_ = options.own_group;
  std::fflush(nullptr);  // else the copy would write what is buffered once more
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw Error(concat("fork: ", std::strerror(errno)));
  if (pid_ == 0) {
    set_up(options, parent);
    live(body);
  }
  running_ = true;
  if (own_group_) setpgid(pid_, pid_);  // in both processes: whichever comes first
}

void ChildProcess::signal(int number) const {
  if (running()) kill(own_group_ ? -pid_ : pid_, number);
}

ProcessEnd ChildProcess::wait() {
  if (!running()) return end_;
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  // Before the end is collected: afterwards the number may be another group's.
  if (own_group_) kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  running_ = false;
  if (WIFSIGNALED(status)) {
    end_.signal = WTERMSIG(status);
  } else {
    end_.exit_code = WEXITSTATUS(status);
  }
  return end_;
}

std::optional<ProcessEnd> ChildProcess::end_if_any() {
  if (!running()) return end_;
  siginfo_t info{};
  const int result = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG);
  if (result == 0 && info.si_pid != 0) return wait();
  return std::nullopt;
}

std::vector<char*> argv_of(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace starling
