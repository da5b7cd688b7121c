#include "starling/launch/remote_command.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/launch/shell_words.h"

namespace starling::launch {

namespace {

// Reads the number of lines, the lines, and runs them if all have come. Without a line break, which csh does
// not allow in quotes.
constexpr const char* kReadScript =
    R"(starling_n=$(printf "\n."); starling_n=${starling_n%.}; starling_s=; read -r starling_c; )"
    R"(while [ "${starling_c:-1}" -gt 0 ] && IFS= read -r starling_l; do )"
    R"(starling_s=$starling_s$starling_l$starling_n; starling_c=$((starling_c-1)); done; )"
    R"([ "$starling_c" = 0 ] && eval "$starling_s")";

// There are two processes. The first runs the program in the foreground (in the background its SIGINT would
// be ignored) and writes its group and its exit code to the second. That one has a third, the guard, read our
// input. All are in a session that an agent on this host, or a kill of its group, does not reach; the program
// is in another one. Shells report killed children on stderr, so the program's own is passed around them.
constexpr const char* kRunProgram = R"({
  {
    setsid sh -c 'echo "$$"; exec "$@" >&4 2>&5 3<&- 4>&- 5>&-' starling "$@"
    echo "code $?"
  } 2>/dev/null | {
    read -r group
    case $group in code*) exit "${group#code }" ;; esac
    {
      while read -r signal; do
        before=$now
        now=
        if [ "$signal" = STOPPED ]; then
          case $(sed 's/.*) //' "/proc/$group/stat") in T*) now=stopped ;; esac
          [ "$before" = stopped ] && [ "$now" = stopped ] || continue
          signal=KILL
        fi
        kill -s "$signal" -- "-$group"
      done
      kill -s KILL -- "-$group"
    } <&3 >/dev/null 4>&- 5>&- &
    read -r code
    kill "$!"
    kill -s KILL -- "-$group"
    exit "${code#code }"
  } 2>/dev/null
} 3<&0 4>&1 5>&2 </dev/null
exit "$?"
)";

std::string complain_and_exit(std::string_view text, int code) {
  return concat("{ printf '%s\\n' ", quote_word(concat("starling: ", text)), " >&2; exit ", code, "; }\n");
}

std::string enter_folder(const RemoteProgram& program) {
  return concat("cd -- ", quote_word(program.folder), " 2>/dev/null || ",
                complain_and_exit(concat("host ", program.host, " has no folder '", program.folder,
                                         "', in which the run was launched"),
                                  1));
}

std::string set_variables(const RemoteProgram& program) {
  std::string text;
  for (const auto& [name, value] : program.variables)
    text += concat("export ", name, "=", quote_word(value), "\n");
  for (const auto& [name, value] : program.paths)
    text += concat("export ", name, "=", quote_word(value), "\"${", name, ":+:$", name, "}\"\n");
  return text;
}

std::string check_program(const RemoteProgram& program) {
  return concat("command -v \"$1\" >/dev/null || ",
                complain_and_exit(concat("host ", program.host, " has no program '", program.command.front(),
                                         "' (in ", program.folder, ")"),
                                  127));
}

}  // namespace

std::string remote_shell() {
  // The shell in the middle forks: what holds the program must not be the process that an agent on this host
  // has become, and be killed with it.
  return concat("exec sh -c 'setsid sh -c \"$0\"; exit \"$?\"' ", quote_word(kReadScript));
}

std::string remote_script(const RemoteProgram& program) {
  std::vector<std::string> words;
  for (const std::string& word : program.command) words.push_back(quote_word(word));
  const std::string text =
      concat("unset starling_n starling_s starling_c starling_l\n", enter_folder(program),
             set_variables(program), "set -- ", join_texts(words, " "), "\n", check_program(program),
             "printf '%s\\n' ", quote_word(kStartedLine), "\n", kRunProgram);
  if (text.size() > kMostScriptBytes) {
    throw InvalidArgument(concat("the program's arguments and the variables that are sent along take ",
                                 text.size(), " bytes; allowed: up to ", kMostScriptBytes));
  }
  return concat(std::count(text.begin(), text.end(), '\n'), "\n", text);
}

}  // namespace starling::launch
