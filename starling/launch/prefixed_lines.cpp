#include "starling/launch/prefixed_lines.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "starling/core/text.h"
#include "starling/join/output_options.h"

namespace starling::launch {

namespace {

constexpr std::string_view kClearLine = "\r\033[K";
constexpr auto kEvery = std::chrono::seconds(5);  // where it is not a terminal

}  // namespace

void PrefixedLines::add(std::string_view text) {
  rest_ += text;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string_view line = std::string_view(rest_).substr(begin, end - begin);
    if (!is_awaited(line) || !line.empty()) pass_on(line);
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
  if (!rest_.empty()) pass_on(rest_);
  rest_.clear();
}

void PrefixedLines::pass_on(std::string_view line) {
  if (progress_ != Progress::kNone && line.starts_with(join::kProgressPrefix))
    return show_progress(line.substr(join::kProgressPrefix.size()));
  // The line of the progress, which any process may have written, gives way and comes again.
  write_all(concat(progress_ == Progress::kTerminal ? kClearLine : "", prefix_, line, "\n"));
}

void PrefixedLines::show_progress(std::string_view text) {
  if (progress_ == Progress::kTerminal) return write_all(concat(kClearLine, text));
  const Clock::time_point now = Clock::now();
  if (shown_ != Clock::time_point() && now - shown_ < kEvery) return;
  shown_ = now;
  write_all(concat(text, "\n"));
}

void PrefixedLines::write_all(std::string_view text) const {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(output_, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return;  // nobody reads us any more; the workers go on
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
}

PrefixedLines::Progress progress_on(int output, bool wanted) {
  if (!wanted) return PrefixedLines::Progress::kNone;
  return isatty(output) == 1 ? PrefixedLines::Progress::kTerminal : PrefixedLines::Progress::kNowAndThen;
}

}  // namespace starling::launch
