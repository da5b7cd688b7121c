// The workers' notes of computation and communication are in the order that the schedules promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "tests/strategy/dear_cases.h"

namespace starling::strategy {
namespace {

using record::Span;
using Kind = record::Detail::Kind;
using Spans = std::vector<Span>;

// One worker's spans of one step, each kind in the order of its begins.
using Step = std::map<Kind, Spans>;

std::map<std::uint32_t, Step> steps_of(const record::RankRecord& record) {
  std::map<std::uint32_t, Step> steps;
  for (const Span& span : record.journal.spans) {
    if (span.detail.kind != Kind::kNone) steps[span.detail.step][span.detail.kind].push_back(span);
  }
  for (auto& [number, step] : steps) {
    for (auto& [kind, spans] : step) {
      std::stable_sort(spans.begin(), spans.end(),
                       [](const Span& a, const Span& b) { return a.begin < b.begin; });
    }
  }
  return steps;
}

bool share_sections(const Span& a, const Span& b) {
  return a.detail.first < b.detail.last && b.detail.first < a.detail.last;
}

// None of the spans begins before those of the others that are about the same sections have ended.
void expect_after(const Spans& spans, const Spans& others, const char* what) {
  for (const Span& span : spans) {
    for (const Span& other : others) {
      if (!share_sections(span, other)) continue;
      EXPECT_GE(span.begin, other.end)
          << what << ", sections from " << span.detail.first << ", step " << span.detail.step;
    }
  }
}

void expect_every_section_once(const Spans& spans, std::size_t sections) {
  std::vector<int> times(sections);
  for (const Span& span : spans) {
    for (std::size_t i = span.detail.first; i < span.detail.last; ++i) ++times[i];
  }
  EXPECT_EQ(times, std::vector<int>(sections, 1));
}

Duration inside(const Spans& spans, const Spans& computing) {
  Duration sum{};
  for (const Span& span : spans) {
    for (const Span& pass : computing) {
      sum += std::max(Duration(0), std::min(span.end, pass.end) - std::max(span.begin, pass.begin));
    }
  }
  return sum;
}

// When the span begins, none that is more urgent has been possible before and not begun.
template <class Urgent, class Possible>
void expect_none_left(const Span& span, const Spans& candidates, Urgent urgent, Possible possible_since) {
  for (const Span& other : candidates) {
    if (!urgent(other) || other.begin <= span.begin) continue;
    EXPECT_GE(possible_since(other), span.begin)
        << "sections from " << span.detail.first << " before those from " << other.detail.first << ", step "
        << span.detail.step;
  }
}

Time end_of(const Spans& spans, const Span& about) {
  Time end{};
  for (const Span& span : spans) {
    if (share_sections(span, about)) end = std::max(end, span.end);
  }
  return end;
}

// Rank 0 decides: reduce-scatters first, of the all-gathers those further to the front.
void expect_urgent_first(Step& step) {
  for (const Span& gather : step[Kind::kAllGather]) {
    expect_none_left(
        gather, step[Kind::kAllGather],
        [&](const Span& other) { return other.detail.first < gather.detail.first; },
        [&](const Span& other) { return end_of(step[Kind::kReduceScatter], other); });
    expect_none_left(
        gather, step[Kind::kReduceScatter], [](const Span&) { return true; },
        [&](const Span& other) { return end_of(step[Kind::kBackward], other); });
  }
}

std::vector<std::uint32_t> order_of(const Spans& spans) {
  std::vector<std::uint32_t> order;
  for (const Span& span : spans) order.push_back(span.detail.first);
  return order;
}

// True if all-gathers went on during forward passes.
bool expect_in_order(const record::RankRecord& record, std::size_t sections, std::uint64_t count) {
  SCOPED_TRACE(concat("rank ", record.rank));
  auto steps = steps_of(record);
  EXPECT_EQ(steps.size(), count);
  Duration gathers_hidden{}, scatters_hidden{};
  for (auto& [number, step] : steps) {
    const Spans &scatters = step[Kind::kReduceScatter], &gathers = step[Kind::kAllGather];
    for (const Kind kind : {Kind::kForward, Kind::kBackward, Kind::kReduceScatter, Kind::kAllGather}) {
      expect_every_section_once(step[kind], sections);
    }
    if (number > 1) {
      expect_after(step[Kind::kForward], steps[number - 1][Kind::kAllGather], "forward");
      gathers_hidden += inside(steps[number - 1][Kind::kAllGather], step[Kind::kForward]);
    }
    expect_after(scatters, step[Kind::kBackward], "reduce-scatter");
    expect_after(gathers, scatters, "all-gather");
    const auto order = order_of(scatters);
    EXPECT_TRUE(std::is_sorted(order.rbegin(), order.rend())) << "reduce-scatters go backwards";
    scatters_hidden += inside(scatters, step[Kind::kBackward]);
    if (record.rank == 0) expect_urgent_first(step);
  }
  EXPECT_GT(scatters_hidden, Duration(0)) << "reduce-scatters go on during the backward pass";
  return gathers_hidden > Duration(0);
}

sim::Simulation replay(const std::string& model, const std::string& strategy, const OptionTexts& options,
                       int workers) {
  sim::Simulation simulation = testing::simulation_of(strategy, options, workers);
  simulation.workload = sim::make_workload("replay:" + model, {.workers = workers}, "workload");
  simulation.steps = 4;
  return simulation;
}

// On a network where everything may be over before the backward pass is, and on one where it never is.
void expect_all_in_order(sim::Simulation simulation, bool slow) {
  for (auto& host : simulation.cluster.hosts) host.outside.bytes_per_second = slow ? 2e8 : 1.25e9;
  const record::RunRecord run = sim::simulate(simulation);
  const std::size_t sections = simulation.workload->sections().size();
  for (const record::RankRecord& record : run.ranks) {
    const bool overlaps = expect_in_order(record, sections, simulation.steps);
    EXPECT_TRUE(overlaps || !slow) << "all-gathers go on during the forward pass";
    auto steps = steps_of(record), leaders = steps_of(run.ranks.front());
    for (auto& [number, step] : steps) {
      EXPECT_EQ(order_of(step[Kind::kAllGather]), order_of(leaders[number][Kind::kAllGather]));
    }
  }
}

void expect_all_in_order(const sim::Simulation& simulation) {
  expect_all_in_order(simulation, false);
  expect_all_in_order(simulation, true);
}

class DearOrder : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, DearOrder, ::testing::Values("resnet50", "bert-base"),
                         [](const auto& which) { return std::string(which.param).substr(0, 4); });

TEST_P(DearOrder, OfEqualWorkers) {
  for (const int workers : {4, 16}) {
    for (const char* gather : {"weights", "gradients"}) {
      for (const char* fusion : {"1m", "25m"}) {
        SCOPED_TRACE(concat(workers, " workers, ", gather, ", ", fusion));
        expect_all_in_order(replay(GetParam(), "dear", {{"gather", gather}, {"fusion", fusion}}, workers));
      }
    }
  }
}

TEST_P(DearOrder, WithASlowWorkerAndWithJitter) {
  for (const int workers : {4, 16}) {
    for (const Rank slow : {0, workers - 1}) {
      SCOPED_TRACE(concat(workers, " workers, slow ", slow));
      sim::Simulation simulation = replay(GetParam(), "dear", {}, workers);
      simulation.cluster.workers[static_cast<std::size_t>(slow)].speed = 0.5;
      expect_all_in_order(simulation);
      for (auto& worker : simulation.cluster.workers)
        worker.jitter = {cluster::Jitter::Kind::kLognormal, 0.3, 0};
      expect_all_in_order(simulation);
    }
  }
}

// Workers that share hosts: two levels send least between these, and a step that the link rules shows it.
TEST_P(DearOrder, OfWorkersThatShareHosts) {
  const auto on_two_hosts = [](const OptionTexts& options) {
    sim::Simulation simulation = replay(GetParam(), "dear", options, 4);
    simulation.cluster = cluster::even_cluster(4, 2, {2e8, std::chrono::microseconds(50)},
                                               {1e10, std::chrono::microseconds(1)}, {});
    return simulation;
  };
  expect_all_in_order(on_two_hosts({}));
  const Duration chosen = sim::simulate(on_two_hosts({})).duration;
  EXPECT_LT(chosen, sim::simulate(on_two_hosts({{"algorithm", "ring"}})).duration);
}

// The schedules of allreduce: nothing is sent before it is ready, and nothing is used before it has arrived.
TEST_P(DearOrder, OfTheOtherSchedules) {
  for (const char* schedule : {"wfbp", "ddp", "horovod", "mgwfbp", "priority"}) {
    SCOPED_TRACE(schedule);
    sim::Simulation simulation = replay(GetParam(), "allreduce", {{"schedule", schedule}}, 4);
    testing::make_uneven(simulation.cluster);
    simulation.steps = 9;
    const record::RunRecord run = sim::simulate(simulation);
    for (const record::RankRecord& record : run.ranks) {
      Duration hidden{}, hidden_forward{};
      auto steps = steps_of(record);
      for (auto& [number, step] : steps) {
        expect_after(step[Kind::kAllReduce], step[Kind::kBackward], "all-reduce");
        hidden += inside(step[Kind::kAllReduce], step[Kind::kBackward]);
        if (number == 1) continue;
        expect_after(step[Kind::kForward], steps[number - 1][Kind::kAllReduce], "forward");
        hidden_forward += inside(steps[number - 1][Kind::kAllReduce], step[Kind::kForward]);
      }
      EXPECT_GT(hidden, Duration(0));
      EXPECT_EQ(hidden_forward > Duration(0), std::string(schedule) == "priority");
    }
  }
}

}  // namespace
}  // namespace starling::strategy
