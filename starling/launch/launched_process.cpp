#include "starling/launch/launched_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "starling/core/error.h"
#include "starling/launch/remote_command.h"

namespace starling::launch {


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

// A socket, for one can be written to without SIGPIPE when the other end is gone.
Pipe new_channel() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(concat("socketpair: ", std::strerror(errno)));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// What is not taken at once is too much. Else errno says why.
bool send_all(int channel, std::string_view text) {
  const ssize_t sent = send(channel, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) errno = EMSGSIZE;
  return sent == static_cast<ssize_t>(text.size());
}

const char* name_of_signal(int number) {
  switch (number) {
    case SIGINT:
      return "INT\n";
    case SIGHUP:
      return "HUP\n";
    case SIGKILL:
      return "KILL\n";
    default:
      return "TERM\n";
  }
}

[[noreturn]] void become(const LaunchedProcess::Start& start, const Pipe& in, const Pipe& out,
                         const Pipe& err) {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(in.read.valid() ? in.read.get() : nothing, STDIN_FILENO);
  if (out.write.valid()) dup2(out.write.get(), STDOUT_FILENO);
  if (err.write.valid()) dup2(err.write.get(), STDERR_FILENO);
  for (const auto& [name, value] : start.variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  words.reserve(start.command.size() + 1);
  for (const std::string& word : start.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &start.mask, nullptr);
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
    std::string_view line = std::string_view(rest_).substr(begin, end - begin);
    if (!is_awaited(line) || !line.empty()) write_line(line);
  }
  rest_.erase(0, begin);
}

void PrefixedLines::await(std::string text, std::function<void()> seen) {
  awaited_ = std::move(text);
  seen_ = std::move(seen);
}

// Leaves what was written before on the same line.
bool PrefixedLines::is_awaited(std::string_view& line) {
  if (!seen_ || !line.ends_with(awaited_)) return false;
  line.remove_suffix(awaited_.size());
  std::exchange(seen_, nullptr)();
  return true;
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

LaunchedProcess::LaunchedProcess(runtime::LoopScheduler& loop, const Start& start, Watch watch)
    : loop_(loop),
      watch_(std::move(watch)),
      started_(!start.script),
      out_{{}, {start.prefix.value_or(""), STDOUT_FILENO}},
      err_{{}, {start.prefix.value_or(""), STDERR_FILENO}} {
  Pipe in, out, err;
  if (start.prefix) out = new_pipe();
  if (start.prefix) err = new_pipe();
  if (start.script) in = new_channel();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw Error(concat("fork: ", std::strerror(errno)));
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kCannotStart);  // the parent went before prctl
    become(start, in, out, err);
  }
  setpgid(pid_, pid_);  // in both processes: whichever comes first
  handle_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!handle_.valid()) throw Error(concat("pidfd_open: ", std::strerror(errno)));
  loop_.watch(handle_.get(), [this] { collect(); });
  channel_ = std::move(in.write);
  if (start.script) converse(*start.script);
  open(out_, std::move(out.read));
  open(err_, std::move(err.read));
}

// An agent that is gone already will be collected.
void LaunchedProcess::converse(const std::string& script) {
  if (!send_all(channel_.get(), script) && errno != EPIPE)
    throw Error(concat("cannot give an agent its ", script.size(), " bytes: ", std::strerror(errno)));
  out_.lines.await(std::string(kStartedLine), [this] {
    started_ = true;
    if (watch_.started) watch_.started();
  });
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

// Who does not take a signal through a full channel has not taken those before it, either.
void LaunchedProcess::signal(int number) const {
  if (!running_) return;
  if (!channel_.valid()) {
    kill(-pid_, number);
  } else {
    send_all(channel_.get(), name_of_signal(number));
  }
}

void LaunchedProcess::abandon() const {
  if (running_) kill(-pid_, SIGKILL);
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
  // An agent hands on what a shell says of a signal.
  if (channel_.valid() && started_ && exit_code_ > 128 && exit_code_ <= 128 + SIGRTMAX)
    signal_ = exit_code_ - 128;
  channel_ = Descriptor();  // what an agent left behind on this host reads the end
  finish_if_silent();
}

void LaunchedProcess::finish_if_silent() {
  if (running_ || out_.open || err_.open || finished_) return;
  finished_ = true;
  watch_.ended();
}

}  // namespace starling::launch
