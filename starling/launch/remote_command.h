// A program on another host, started through an agent that behaves like ssh: it is called with a host and a
// command for that host's shell, its standard input is the command's, and its exit code is the command's.
//
// The command is the same for all: it reads a script from standard input and runs it, so that neither the
// token nor anything else of the job is on a command line, which every user of a host can read. The script
// starts the program in a session of its own and then reads on: a line such as "TERM" is a signal for the
// program and its children; the end of the input, which also comes when the launcher or the connection
// dies, kills them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace starling::launch {

struct RemoteProgram {
  using Variables = std::vector<std::pair<std::string, std::string>>;

  std::string host;                  // for messages
  std::string folder;                // where it runs
  std::vector<std::string> command;  // looked up in the host's PATH
  Variables variables;               // set on the host
  Variables paths;                   // lists of folders, put in front of what the host has
};

// For the shell of any user: sh, csh or fish.
std::string remote_shell();

// The input that remote_shell() reads first. Throws InvalidArgument if it is too long for that.
std::string remote_script(const RemoteProgram& program);

// How the line ends that the host writes to standard output before the program starts.
inline constexpr std::string_view kStartedLine = "starling launch: started";

// What the script reads afterwards is a line for each signal to the program, and this one: kill it if it is
// stopped and was so at the line before.
inline constexpr std::string_view kKillIfStopped = "STOPPED";

inline constexpr std::size_t kMostScriptBytes = 100'000;

}  // namespace starling::launch
