#include "starling/session/launched_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "starling/core/error.h"

namespace starling::session {

using transport::shm::Descriptor;

namespace {

constexpr int kCannotStart = 127;  // as a shell says it

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Pipe new_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(concat("pipe: ", std::strerror(errno)));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

[[noreturn]] void become(const std::vector<std::string>& command, const LaunchedProcess::Variables& variables,
                         const sigset_t& mask, const Pipe& out, const Pipe& err) {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  if (out.write.valid()) dup2(out.write.get(), STDOUT_FILENO);
  if (err.write.valid()) dup2(err.write.get(), STDERR_FILENO);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(words[0], words.data());
  std::fprintf(stderr, "starling: cannot start '%s': %s\n", words[0], std::strerror(errno));
  std::fflush(stderr);
  _exit(kCannotStart);
}

}  // namespace

void PrefixedLines::add(std::string_view text) {
  rest_ += text;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    write_line(std::string_view(rest_).substr(begin, end - begin));
  }
  rest_.erase(0, begin);
}

void PrefixedLines::flush() {
  if (!rest_.empty()) write_line(rest_);
  rest_.clear();
}

void PrefixedLines::write_line(std::string_view line) const {
  const std::string whole = concat(prefix_, line, "\n");
  for (std::size_t done = 0; done < whole.size();) {
    const ssize_t wrote = write(output_, whole.data() + done, whole.size() - done);
    if (wrote < 0 && errno != EINTR) return;  // nobody reads us any more; the workers go on
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
}

LaunchedProcess::LaunchedProcess(runtime::LoopScheduler& loop, const std::optional<std::string>& prefix,
                                 const std::vector<std::string>& command, const Variables& variables,
                                 const sigset_t& mask, std::function<void()> ended)
    : loop_(loop),
      ended_(std::move(ended)),
      out_{{}, {prefix.value_or(""), STDOUT_FILENO}},
      err_{{}, {prefix.value_or(""), STDERR_FILENO}} {
  Pipe out, err;
  if (prefix) out = new_pipe();
  if (prefix) err = new_pipe();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw Error(concat("fork: ", std::strerror(errno)));
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kCannotStart);  // the parent went before prctl
    become(command, variables, mask, out, err);
  }
  setpgid(pid_, pid_);  // in both processes: whichever comes first
  handle_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!handle_.valid()) throw Error(concat("pidfd_open: ", std::strerror(errno)));
  loop_.watch(handle_.get(), [this] { collect(); });
  open(out_, std::move(out.read));
  open(err_, std::move(err.read));
}

void LaunchedProcess::open(Stream& stream, Descriptor pipe) {
  stream.pipe = std::move(pipe);
  stream.open = stream.pipe.valid();
  if (stream.open) loop_.watch(stream.pipe.get(), [this, &stream] { read_from(stream); });
}

LaunchedProcess::~LaunchedProcess() {
  if (running_) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    loop_.unwatch(handle_.get());
  }
  if (out_.open) loop_.unwatch(out_.pipe.get());
  if (err_.open) loop_.unwatch(err_.pipe.get());
}

void LaunchedProcess::signal(int number) const {
  if (running_) kill(-pid_, number);
}

std::string LaunchedProcess::how_ended() const {
  if (signal_ != 0) return concat("signal ", signal_, " (", strsignal(signal_), ")");
  return concat("exit code ", exit_code_);
}

void LaunchedProcess::read_from(Stream& stream) {
  std::array<char, 1 << 16> part;
  const ssize_t got = read(stream.pipe.get(), part.data(), part.size());
  if (got > 0) return stream.lines.add({part.data(), static_cast<std::size_t>(got)});
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  stream.lines.flush();
  loop_.unwatch(stream.pipe.get());
  stream.open = false;
  finish_if_silent();
}

// Its children go with it, so its output ends too. They are killed before its end is collected: afterwards
// the number may be another group's.
void LaunchedProcess::collect() {
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  loop_.unwatch(handle_.get());
  running_ = false;
  signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  exit_code_ = signal_ != 0 ? 128 + signal_ : WEXITSTATUS(status);
  finish_if_silent();
}

void LaunchedProcess::finish_if_silent() {
  if (running_ || out_.open || err_.open || finished_) return;
  finished_ = true;
  ended_();
}

}  // namespace starling::session
