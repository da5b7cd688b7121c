// The program `starling`. Exit codes: 0 fine, 1 an error, 2 bad input; an error is one line on stderr.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "cli/commands.h"
#include "cli/common/rank0_errors.h"
#include "starling/core/error.h"
#include "starling/core/version.h"

namespace starling::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

int complain(std::string_view text, int code) {
  std::fprintf(stderr, "starling: %s\n", std::string(text.substr(0, text.find('\n'))).c_str());
  return code;
}

// Values of flags may have line breaks; the complaint is one line.
int refuse(std::string text) {
  std::replace(text.begin(), text.end(), '\n', '?');
  return complain(text, kBadInput);
}

// All workers of a run get the same flags; one line is enough.
int refuse_once(const CLI::App& command, std::string text) {
  const bool by_all = command.get_name() == "train" || command.get_name() == "collectives";
  if (!by_all || rank_of_start() == 0) return refuse(std::move(text));
  let_first_rank_speak();
  return kBadInput;
}

// The innermost command that was named.
const CLI::App& named_command(const CLI::App& app) {
  const std::vector<CLI::App*> inner = app.get_subcommands();
  return inner.empty() ? app : named_command(*inner.front());
}

// "starling simulate"
std::string name_of(const CLI::App& command) {
  const CLI::App* const outer = command.get_parent();
  return outer == nullptr ? command.get_name() : concat(name_of(*outer), " ", command.get_name());
}

// Output is still in a buffer, and its file may be full or closed.
int flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  return complain(concat("cannot write to standard output: ", std::strerror(errno)), kFailed);
}

// CLI11 checks the values of flags before it looks for --help; a user who asks for help gets it.
void keep_help_only(std::vector<std::string>& words) {
  const auto is_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
  if (std::none_of(words.begin(), words.end(), is_help)) return;
  const auto is_flag = [](const std::string& word) { return word.starts_with("-"); };
  words.erase(std::find_if(words.begin(), words.end(), is_flag), words.end());
  words.emplace_back("--help");
}

// "--steps=" has an empty value; CLI11 would take the next word for it. The words behind "--" are for the
// program that `launch` starts.
std::vector<std::string> words_of(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--" && words.front() == "launch") break;
    const bool empty_value = word.starts_with("--") && word.find('=') == word.size() - 1;
    words.emplace_back(word.substr(0, word.size() - (empty_value ? 1 : 0)));
    if (empty_value) words.emplace_back();
  }
  keep_help_only(words);
  return words;
}

// `exit_code` is what the command left there.
int run(CLI::App& app, std::vector<std::string> words, const int& exit_code) {
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(std::move(words));
    const CLI::App& command = named_command(app);
    if (command.get_subcommands([](const CLI::App*) { return true; }).empty()) {
      const int flushed = flush_output();
      return flushed != 0 ? flushed : exit_code;
    }
    std::fputs(app.help().c_str(), stderr);  // it is only a group of commands
    return kBadInput;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);  // of the command that was named
    return flush_output();
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
    return flush_output();
  } catch (const CLI::ValidationError& error) {  // names the value and what is allowed
    return refuse_once(named_command(app), error.what());
  } catch (const CLI::ParseError& error) {
    const CLI::App& command = named_command(app);
    return refuse_once(command, concat(error.what(), " (see ", name_of(command), " --help)"));
  } catch (const InvalidArgument& error) {
    return refuse_once(named_command(app), error.what());
  } catch (const std::bad_alloc&) {
    return complain("not enough memory", kFailed);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    return complain(error.what(), kFailed);
  }
}

}  // namespace
}  // namespace starling::cli

int main(int argc, char** argv) {
  CLI::App app("Data-parallel training on unequal machines", "starling");
  app.set_version_flag("--version", std::string("starling ") + starling::version());
  const std::vector<std::string> words(argv + std::min(argc, 2), argv + argc);
  int exit_code = 0;
  starling::cli::add_commands(app, words, exit_code);
  return starling::cli::run(app, starling::cli::words_of(argc, argv), exit_code);
}
