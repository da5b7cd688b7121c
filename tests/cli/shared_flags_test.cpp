// A flag that several commands have is the same flag everywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/commands.h"
#include "starling/core/text.h"
#include "tests/cli/simulate_runs.h"

namespace starling::cli {
namespace {

struct Place {
  std::string command;  // "bench train"
  CLI::Option* option;
};

using Places = std::map<std::string, std::vector<Place>>;  // by the flag's name

// Hidden ones are refused with their present names.
void collect(CLI::App& app, const std::string& name, Places& places) {
  for (CLI::Option* const option : app.get_options()) {
    const std::string flag = option->get_name();
    if (!option->get_group().empty() && flag.starts_with("--") && flag != "--help")
      places[flag].push_back({name, option});
  }
  for (CLI::App* const inner : app.get_subcommands([](const CLI::App*) { return true; }))
    collect(*inner, concat(name, name.empty() ? "" : " ", inner->get_name()), places);
}

// Names that mean something else in a command that neither trains nor simulates. All others must be one flag.
const std::map<std::string, std::set<std::string>> kOthers{
    {"--out", {"data"}},                                                  // a folder for IDX files
    {"--force", {"data"}},                                                // replaces those
    {"--json", {"info", "bench train", "bench collectives", "analyse"}},  // a file; of info, what it shows
    {"--against", {"bench collectives"}},                                 // other peers
    {"--hosts", {"launch"}},  // names of hosts; in simulate their number
};

Places shared_places(CLI::App& app) {
  Places places;
  collect(app, "", places);
  for (const auto& [flag, commands] : kOthers) {
    std::vector<Place>& all = places.at(flag);
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&, &names = commands](const Place& at) { return names.count(at.command) > 0; }),
              all.end());
  }
  for (auto entry = places.begin(); entry != places.end();)
    entry = entry->second.size() < 2 ? places.erase(entry) : std::next(entry);
  return places;
}

// The complaint of the flag's checks; empty: the word is fine.
std::string complaint(CLI::Option& option, const std::string& word) {
  std::string text = word;
  return option.get_validator(0)->operator()(text);
}

constexpr const char* kFlagValues[] = {"",
                                       "0",
                                       "1",
                                       "4",
                                       "-1",
                                       "1.5",
                                       "1e3",
                                       "x",
                                       "100ms",
                                       "0s",
                                       "2s",
                                       "0:4",
                                       "0:3,1:2",
                                       "0:4@1s-2s",
                                       "0:4,",
                                       "0",
                                       "1@2s",
                                       "1@2s-3s",
                                       "1@2s,0@3s",
                                       "sgd",
                                       "lion",
                                       "allreduce",
                                       "alreduce",
                                       "normal:0.1",
                                       "normal:99",
                                       "1gbe",
                                       "40gbit/5us",
                                       "1gbit/x",
                                       "2000000",
                                       "1000000001",
                                       "99999999999999999999",
                                       "0.5",
                                       "-0.5",
                                       "1e13",
                                       "nan",
                                       "go-on",
                                       "end",
                                       "dir/file"};

TEST(SharedFlags, HaveOneGrammarInAllCommands) {
  CLI::App app;
  int exit_code = 0;
  add_commands(app, {}, exit_code);
  const Places places = shared_places(app);
  for (const auto& [flag, all] : places) {
    CLI::Option& first = *all.front().option;
    for (const auto& [command, option] : all) {
      const std::string which = concat(flag, " of ", command, " and of ", all.front().command);
      EXPECT_EQ(option->get_description(), first.get_description()) << which;
      EXPECT_EQ(option->get_type_name(), first.get_type_name()) << which;
      EXPECT_EQ(option->get_name(false, true), first.get_name(false, true)) << which;
      EXPECT_EQ(option->get_expected_max(), first.get_expected_max()) << which;
      if (option->get_expected_max() == 0 || flag == "--rounds") continue;
      for (const char* const sample : kFlagValues)
        EXPECT_EQ(complaint(*option, sample), complaint(first, sample)) << which << ": " << sample;
    }
  }
  for (const char* const flag : {"--workers", "--strategy", "--slow", "--steps", "--link", "--out", "--lr"})
    EXPECT_EQ(places.count(flag), 1U) << flag;
  EXPECT_EQ(places.at("--workers").size(), 5U);
  EXPECT_EQ(places.at("--slow").size(), 4U);
  EXPECT_EQ(places.at("--on-loss").size(), 3U);
}

TEST(SharedFlags, TakeAndRefuseWhatTheirHelpSays) {
  CLI::App app;
  int exit_code = 0;
  add_commands(app, {}, exit_code);
  Places places = shared_places(app);
  const auto says = [&](const char* flag, const char* word) {
    return complaint(*places.at(flag).front().option, word);
  };
  EXPECT_EQ(says("--slow", "0:3,1:2"), "");
  EXPECT_EQ(says("--slow", "0:3,1"), "'1' is not WORKER:FACTOR, WORKER:FACTOR@FROM or WORKER:FACTOR@FROM-TO");
  EXPECT_EQ(says("--steps", "0"), "'0' is not a whole number from 1 to 1000000000");
  EXPECT_EQ(says("--workers", "x"), "'x' is not a whole number");
  EXPECT_EQ(says("--on-loss", "end"), "");
  EXPECT_EQ(says("--on-loss", "stay"), "'stay'; allowed: go-on, end");
  EXPECT_EQ(says("--momentum", "2"), "'2' is not a number from 0 to 1");
}

TEST(SharedFlags, AListOfSlowWorkersIsTheSameAsSeveralFlags) {
  const std::string common = "--steps 5 --workers 3 ";
  const Json list = summary_of(common + "--slow 0:3,1:2");
  EXPECT_EQ(list["seconds"], summary_of(common + "--slow 0:3 --slow 1:2")["seconds"]);
  EXPECT_EQ(list["most_waited_for"], 0);
}

TEST(SharedFlags, HelpComesBeforeComplaints) {
  const Ran ran = run_program({"simulate", "--steps", "0", "--help"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(ran.out.find("Usage: starling simulate"), std::string::npos);
  EXPECT_EQ(ran.err, "");
}

}  // namespace
}  // namespace starling::cli
