// `starling compare`: how soon runs were how good.
#include <regex>

#include "cli/accuracy_plot.h"
#include "tests/cli/train_runs.h"
#include "tests/support/refusal.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;
using testing::refusal;
using testing::TemporaryFolder;

RunCurve curve(const std::string& name, std::vector<CurvePoint> points) {
  RunCurve run;
  run.name = name;
  run.points = std::move(points);
  return run;
}

// The folder of a run with this summary.
std::string write_run(const TemporaryFolder& folder, const std::string& name, const std::string& summary) {
  fs::create_directory(folder.path() + "/" + name);
  folder.write(name + "/summary.json", summary);
  return concat(folder.path(), "/", name);
}

std::string summary(const std::string& strategy, const std::string& accuracies) {
  return concat(R"({"strategy": ")", strategy, R"(", "seconds": 4, "samples_per_second": 100, )",
                R"("accuracy_curve": )", accuracies, "}");
}

TEST(Curves, TheTimeToAnAccuracyIsBetweenTwoPoints) {
  const RunCurve run = curve("a", {{0, 0.1}, {2, 0.5}, {3, 0.4}, {5, 0.8}});
  EXPECT_DOUBLE_EQ(seconds_to(run, 0.3).value(), 1);
  EXPECT_DOUBLE_EQ(seconds_to(run, 0.5).value(), 2);
  EXPECT_DOUBLE_EQ(seconds_to(run, 0.6).value(), 4);
  EXPECT_DOUBLE_EQ(seconds_to(run, 0.8).value(), 5);
  EXPECT_DOUBLE_EQ(seconds_to(run, 0.1).value(), 0);
  EXPECT_DOUBLE_EQ(seconds_to(run, 0).value(), 0);
  EXPECT_EQ(seconds_to(run, 0.81), std::nullopt);
  EXPECT_EQ(seconds_to(curve("a", {}), 0), std::nullopt);
}

TEST(Curves, TheCommonAccuracyIsTheLeastOfTheBest) {
  const RunCurve good = curve("good", {{0, 0.1}, {1, 0.99}, {2, 0.9}});
  const RunCurve bad = curve("bad", {{0, 0.1}, {1, 0.678}});
  EXPECT_DOUBLE_EQ(common_accuracy({good}), 0.99);
  EXPECT_DOUBLE_EQ(common_accuracy({good, bad}), 0.67);
  EXPECT_DOUBLE_EQ(common_accuracy({curve("perfect", {{1, 1}})}), 1);
  // Every whole percent is itself: 0.29 * 100 is less than 29.
  for (int percent = 0; percent <= 100; ++percent) {
    EXPECT_DOUBLE_EQ(common_accuracy({curve("a", {{1, percent / 100.0}})}), percent / 100.0) << percent;
  }
}

// Every tag is closed in turn; no character that is not allowed in a text.
void expect_balanced(const std::string& xml) {
  Words open;
  const std::regex tag("<(/?)([a-z]+)([^<>]*?)(/?)>");
  std::string rest;
  std::size_t at = 0;
  for (std::sregex_iterator i(xml.begin(), xml.end(), tag), end; i != end; ++i) {
    rest += xml.substr(at, static_cast<std::size_t>(i->position()) - at);
    at = static_cast<std::size_t>(i->position() + i->length());
    if ((*i)[1].length() > 0) {
      ASSERT_FALSE(open.empty()) << i->str();
      EXPECT_EQ(open.back(), (*i)[2].str());
      open.pop_back();
    } else if ((*i)[4].length() == 0) {
      open.push_back((*i)[2].str());
    }
  }
  rest += xml.substr(at);
  EXPECT_TRUE(open.empty()) << join_texts(open);
  EXPECT_EQ(rest.find_first_of("<>"), std::string::npos) << rest;
  for (std::size_t i = rest.find('&'); i != std::string::npos; i = rest.find('&', i + 1)) {
    EXPECT_TRUE(std::regex_search(rest.substr(i), std::regex("^&(amp|lt|gt|quot|apos);")))
        << rest.substr(i, 9);
  }
  EXPECT_EQ(xml.find("nan"), std::string::npos);
  EXPECT_EQ(xml.find("inf"), std::string::npos);
}

TEST(Curves, ThePictureIsWellFormedAndNamesAll) {
  const std::string svg =
      draw({curve("allreduce", {{0, 0.1}, {1, 0.9}, {10, 0.95}}), curve("dpsgd", {{0, 0.1}, {5, 0.7}})}, 0.8);
  expect_balanced(svg);
  EXPECT_NE(svg.find(">allreduce: 0.80 after 0.9 s<"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">dpsgd: not reached<"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("<svg "), 0U);
}

TEST(Curves, ThePictureOfStrangeRunsIsWellFormed) {
  expect_balanced(draw({curve("still", {{0, 0.1}})}, 0.1));
  expect_balanced(draw({curve("perfect", {{0, 1}, {1e6, 1}})}, 1));
  expect_balanced(draw({curve("short", {{1e-9, 0}})}, 0));
  expect_balanced(draw({curve("runs/<a & b>", {{0, 0.1}, {1, 0.2}})}, 0.2));
}

TEST(Curves, AreReadFromSummaries) {
  const TemporaryFolder folder;
  const RunCurve run = read_curve(write_run(folder, "a", summary("dpsgd", "[[0.0,0.1],[2.5,0.75]]")));
  EXPECT_EQ(run.name, "dpsgd");
  EXPECT_EQ(run.seconds, 4);
  EXPECT_EQ(run.samples_per_second, 100);
  ASSERT_EQ(run.points.size(), 2U);
  EXPECT_EQ(run.points[1].seconds, 2.5);
  EXPECT_EQ(run.points[1].accuracy, 0.75);
}

TEST(Compare, ShowsRunsSideBySide) {
  const TemporaryFolder folder;
  const std::string a = write_run(folder, "a", summary("allreduce", "[[0,0.1],[4,0.9]]"));
  const std::string b = write_run(folder, "b", summary("ps", "[[0,0.1],[2,0.9]]"));
  const std::string c = write_run(folder, "c", summary("ps", "[[0,0.1],[4,0.5]]"));
  const std::string svg = folder.path() + "/curves.svg";
  const Ran ran = run_program({"compare", a, b, "--accuracy", "0.5", "--svg", svg});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(std::regex_search(ran.out, std::regex("allreduce +0\\.9000 +2\\.0 +1\\.00 +100\n"))) << ran.out;
  EXPECT_TRUE(std::regex_search(ran.out, std::regex("ps +0\\.9000 +1\\.0 +2\\.00 +100\n"))) << ran.out;
  expect_balanced(bytes_of(svg));
  // Two of the same strategy go by their folders; one has not been that good.
  const std::string two = run_program({"compare", b, c, "--accuracy", "0.6"}).out;
  EXPECT_TRUE(std::regex_search(two, std::regex(b + " +0\\.9"))) << two;
  EXPECT_TRUE(std::regex_search(two, std::regex(c + " +0\\.5000 +not reached +- "))) << two;
}

TEST(Compare, RefusesFoldersThatAreNoRuns) {
  const TemporaryFolder folder;
  const std::string good = write_run(folder, "good", summary("ps", "[[0,0.1],[2,0.9]]"));
  fs::create_directory(folder.path() + "/empty");
  expect_refused({"compare", good, "/nonexistent"}, "'/nonexistent'", "folders of finished runs");
  expect_refused({"compare", folder.path() + "/empty"}, "/empty'", "folders of finished runs");
  const auto refused = [&](const std::string& name, const std::string& text, const std::string& why) {
    expect_refused({"compare", good, write_run(folder, name, text)}, name + "/summary.json'", why);
  };
  refused("cut", R"({"strategy": )", "is not the summary of a training run");
  refused("simulated", R"({"strategy": "ps", "seconds": 1, "samples_per_second": null})", "accuracy_curve");
  refused("foreign", "[1, 2]", "is not the summary of a training run");
  refused("flat", summary("ps", "[]"), "has no accuracy over time");
  refused("odd", summary("ps", "[1, 2]"), "is not the summary of a training run");
  expect_refused({"compare"}, "folders", "required");
  expect_refused({"compare", good, "--accuracy", "2"}, "--accuracy: '2'", "from 0 to 1");
  const Ran ran = run_program({"compare", good, "--svg", folder.path() + "/none/x.svg"});
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_NE(ran.err.find("/none/x.svg"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace starling::cli
