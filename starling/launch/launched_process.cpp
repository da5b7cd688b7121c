#include "starling/launch/launched_process.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "starling/core/error.h"
#include "starling/core/process_identity.h"
#include "starling/launch/remote_command.h"

namespace starling::launch {

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 16;
constexpr int kMostReads = 16;  // after the end: as much as a pipe can hold

// A text that is not accepted at once is too long. Otherwise errno holds the error.
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

ChildOptions child_options(const LaunchedProcess::Start& start) {
  return {.environment = start.variables, .own_group = true, .mask = start.mask, .no_input = true};
}

}  // namespace

LaunchedProcess::LaunchedProcess(runtime::LoopScheduler& loop, const Start& start, Watch watch)
    : loop_(loop),
      watch_(std::move(watch)),
      started_(!start.script),
      out_{{}, {start.prefix.value_or(""), STDOUT_FILENO}},
      err_{{}, {start.prefix.value_or(""), STDERR_FILENO, progress_on(STDERR_FILENO, start.progress)}} {
  DescriptorPair in, out, err;
  if (start.prefix) out = make_pipe();
  if (start.prefix) err = make_pipe();
  if (start.script) in = make_socket_pair();
  ChildOptions options = child_options(start);
  options.input = in.first.get();
  options.output = out.second.get();
  options.errors = err.second.get();
  process_.emplace(start.command, options);
  handle_ = open_process(process_->pid());
  if (!handle_.valid()) throw Error(concat("pidfd_open: ", std::strerror(errno)));
  loop_.watch(handle_.get(), [this] { collect(); });
  channel_ = std::move(in.second);
  if (start.script) converse(*start.script);
  open(out_, std::move(out.first));
  open(err_, std::move(err.first));
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
  if (!stream.open) return;
  set_nonblocking(stream.pipe);
  loop_.watch(stream.pipe.get(), [this, &stream] { read_from(stream); });
}

LaunchedProcess::~LaunchedProcess() {
  if (running()) loop_.unwatch(handle_.get());
  if (out_.open) loop_.unwatch(out_.pipe.get());
  if (err_.open) loop_.unwatch(err_.pipe.get());
}

// A process that cannot take a signal through a full channel has not taken those before it, either.
void LaunchedProcess::signal(int number) const {
  if (!running()) return;
  if (!channel_.valid()) {
    process_->signal(number);
  } else {
    send_all(channel_.get(), name_of_signal(number));
  }
}

void LaunchedProcess::kill_if_stopped() {
  if (!running()) return;
  if (channel_.valid()) {
    send_all(channel_.get(), concat(kKillIfStopped, "\n"));
    return;
  }
  const bool stopped = is_stopped(pid());
  if (stopped && was_stopped_) signal(SIGKILL);
  was_stopped_ = stopped;
}

void LaunchedProcess::abandon() const { process_->signal(SIGKILL); }

// False if there is nothing to read now.
bool LaunchedProcess::read_from(Stream& stream) {
  std::array<char, kReadBytes> part;
  const ssize_t got = read(stream.pipe.get(), part.data(), part.size());
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return false;
  if (got > 0) {
    stream.lines.add({part.data(), static_cast<std::size_t>(got)});
    return true;
  }
  close(stream);
  return false;
}

void LaunchedProcess::close(Stream& stream) {
  if (!stream.open) return;
  stream.lines.flush();
  loop_.unwatch(stream.pipe.get());
  stream.open = false;
}

// Its process group ends with it. A descendant that has left the group may hold the output open: it is not
// waited for.
void LaunchedProcess::collect() {
  end_ = process_->wait();
  loop_.unwatch(handle_.get());
  // An agent passes on a shell's exit code for a signal.
  const int code = end_.shell_code();
  if (channel_.valid() && started_ && code > 128 && code <= 128 + SIGRTMAX) end_ = {0, code - 128};
  channel_ = Descriptor();  // what an agent left behind on this host reads the end
  for (Stream* const stream : {&out_, &err_}) {
    for (int i = 0; i < kMostReads && stream->open && read_from(*stream); ++i) {
    }
    close(*stream);
  }
  watch_.ended();
}

}  // namespace starling::launch
