#include "cli/common/captured_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "starling/core/error.h"

namespace starling::cli {
namespace {

using std::chrono::steady_clock;

// Several processes write to it.
Descriptor new_output() {
  Descriptor file = make_memory_file("output");
  fcntl(file.get(), F_SETFL, O_APPEND);
  return file;
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

CapturedProcess::CapturedProcess(const std::function<void()>& body, const Options& options)
    : end_signal_(options.end_signal),
      output_(new_output()),
      process_(
          [&] {
            body();
            return 0;
          },
          child_options(options)) {}

CapturedProcess::CapturedProcess(const std::vector<std::string>& command, const Options& options)
    : end_signal_(options.end_signal), output_(new_output()), process_(command, child_options(options)) {}

ChildOptions CapturedProcess::child_options(const Options& options) const {
  return {.environment = options.environment,
          .own_group = true,
          .death_signal = end_signal_,
          .no_input = true,
          .output = output_.get(),
          .errors = output_.get()};
}

bool CapturedProcess::any_ended() {
  const std::optional<ProcessEnd> end = process_.end_if_any();
  if (end) exit_code_ = end->shell_code();
  return end.has_value();
}

bool CapturedProcess::wait(Duration patience) {
  const auto deadline = steady_clock::now() + patience;
  while (!any_ended()) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void CapturedProcess::end() {
  if (!any_ended()) {
    process_.signal(end_signal_);
    if (end_signal_ != SIGKILL && !wait(std::chrono::seconds(1))) process_.signal(SIGKILL);
    exit_code_ = process_.wait().shell_code();
  }
  output_.close();
}

std::string CapturedProcess::output() const {
  std::string text;
  char chunk[4096];
  for (ssize_t got = 0;
       (got = pread(output_.get(), chunk, sizeof chunk, static_cast<off_t>(text.size()))) > 0;) {
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return text;
}

std::string CapturedProcess::last_words() {
  // Processes that are about to die of the same error may say so; then the rest is ended.
  const bool by_itself = wait(std::chrono::seconds(1));
  std::string words = output_.valid() ? last_line(output()) : "";
  end();
  if (words.empty() && by_itself) words = concat("it ended with exit code ", exit_code_);
  return words;
}

}  // namespace starling::cli
