#include "cli/common/progress_line.h"

#include <unistd.h>

#include <cstdio>

namespace starling::cli {

ProgressLine::ProgressLine(bool wanted) : shown_(wanted && isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

bool ProgressLine::due() const {
  return shown_ && WallClock::now() - last_ >= std::chrono::milliseconds(100);
}

void ProgressLine::show(const std::string& text) {
  last_ = WallClock::now();
  drawn_ = true;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace starling::cli
