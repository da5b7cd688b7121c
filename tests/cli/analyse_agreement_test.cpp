// Formulas and simulations of the same workers agree, for all distributions.
#include <gtest/gtest.h>

#include "cli/analyse/analyse_simulation.h"
#include "cli/analyse/analyse_table.h"
#include "starling/core/text.h"

namespace starling::cli {
namespace {

struct Workers {
  const char* jitter;
  const char* span;
  std::vector<std::string> slow;
  int count = 8;
};

std::ostream& operator<<(std::ostream& out, const Workers& workers) {
  return out << workers.jitter << " " << workers.span << " " << join_texts(workers.slow) << " "
             << workers.count;
}

Given<std::vector<std::uint64_t>> seeds_up_to(std::uint64_t last) {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= last; ++seed) seeds.push_back(seed);
  return {seeds, concat("1..", last)};
}

AnalysePlan plan_of(const Workers& workers) {
  AnalyseFlags flags;
  flags.workers = {workers.count, std::to_string(workers.count)};
  flags.cluster.jitter = workers.jitter;
  flags.cluster.jitter_span = workers.span;
  flags.cluster.slow = workers.slow;
  flags.steps = {60, "60"};
  flags.seeds = seeds_up_to(12);
  return plan_analysis(flags);
}

class Agreement : public ::testing::TestWithParam<Workers> {};

TEST_P(Agreement, OfFormulasAndSimulations) {
  const AnalysePlan plan = plan_of(GetParam());
  const std::vector<AnalysisRow> rows = analysis_rows(plan);
  const std::vector<SimulatedTimes> simulated = simulate_rows(plan, rows, 2, [](double) {});
  ASSERT_EQ(simulated.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NE(verdict_of(plan, rows[i], simulated[i]), Verdict::kOutside)
        << rows[i].name << "\n"
        << analysis_text(plan, rows, simulated);
    // Otherwise the line above proves little.
    EXPECT_LT(simulated[i].step.half, 0.3 * simulated[i].step.middle) << rows[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Jitters, Agreement,
    ::testing::Values(Workers{"none", "step", {"0:3"}}, Workers{"none", "piece", {}},
                      Workers{"normal:0.3", "step", {}}, Workers{"normal:0.3", "piece", {"0:3"}},
                      Workers{"lognormal:0.5", "step", {"0:3"}}, Workers{"lognormal:0.5", "piece", {}},
                      Workers{"exponential", "step", {}}, Workers{"exponential", "step", {"0:3,5:2"}},
                      Workers{"exponential", "piece", {"0:3"}}, Workers{"pareto:4", "step", {"0:3"}},
                      Workers{"pareto:4", "piece", {}}, Workers{"bernoulli:0.1:5", "step", {}},
                      Workers{"bernoulli:0.1:5", "piece", {"0:3"}}, Workers{"none", "step", {}, 5},
                      Workers{"bernoulli:0.2:3.3", "step", {}, 6}, Workers{"lognormal:0.5", "step", {}, 2}));

// The time of exchanges is in both, where all wait for them.
TEST(Agreement, WithCommunication) {
  AnalysePlan plan = plan_of({"exponential", "step", {}});
  plan.comm_seconds = 0.25;
  const std::vector<AnalysisRow> rows = analysis_rows(plan);
  const std::vector<SimulatedTimes> simulated = simulate_rows(plan, rows, 2, [](double) {});
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_NE(verdict_of(plan, rows[i], simulated[i]), Verdict::kOutside) << rows[i].name;
  EXPECT_NEAR(rows[0].times.step.low, 2.717857 + 0.25, 1e-6);
}

// A formula that is off by 1 % is noticed, if there are enough steps.
TEST(Agreement, FormulasThatAreWrongAreOutside) {
  AnalysePlan plan = plan_of({"normal:0.3", "step", {}});
  plan.steps = 400;
  plan.seeds = seeds_up_to(40).value_or({});
  std::vector<AnalysisRow> rows = analysis_rows(plan);
  rows.resize(1);
  const std::vector<SimulatedTimes> simulated = simulate_rows(plan, rows, 2, [](double) {});
  EXPECT_EQ(verdict_of(plan, rows[0], simulated[0]), Verdict::kInside);
  rows[0].times.step = {1.01 * rows[0].times.step.low, 1.01 * rows[0].times.step.high};
  EXPECT_EQ(verdict_of(plan, rows[0], simulated[0]), Verdict::kOutside);
}

TEST(Interval, StudentsQuantiles) {
  EXPECT_NEAR(student_quantile(0.01, 20), 2.860935, 1e-5);
  EXPECT_NEAR(student_quantile(0.05, 5), 2.776445, 1e-5);
  EXPECT_NEAR(student_quantile(0.05, 3), 4.302653, 1e-5);
}

TEST(Interval, ARatioOfMeans) {
  const Interval ratio = sum_of_ratios({{2}, {4}}, {{1}, {2}}, 3);
  EXPECT_DOUBLE_EQ(ratio.middle, 2);
  EXPECT_NEAR(ratio.half, 0, 1e-12);
  const Interval mean = sum_of_ratios({{1, 2}, {3, 4}}, {{1, 1}, {1, 1}}, 1);
  EXPECT_DOUBLE_EQ(mean.middle, 5);
  EXPECT_DOUBLE_EQ(mean.half, 2);
}

}  // namespace
}  // namespace starling::cli
