#include "cli/bench/train_rate.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "starling/core/error.h"
#include "starling/core/types.h"

namespace starling::cli {
namespace {

// Steps that are made at the time, the current one in part.
double made_at(double time, const std::vector<double>& ends) {
  const auto next = std::upper_bound(ends.begin(), ends.end(), time);
  const auto whole = static_cast<double>(next - ends.begin());
  if (next == ends.begin() || next == ends.end()) return whole;
  const double begin = *(next - 1);
  return whole + (time - begin) / (*next - begin);
}

}  // namespace

TimedSteps timed_steps(const StepEnds& ends, std::uint64_t warmup, std::uint64_t steps) {
  double begin = 0, done = 0, first_end = std::numeric_limits<double>::infinity();
  for (std::size_t worker = 0; worker < ends.size(); ++worker) {
    const std::vector<double>& own = ends[worker];
    if (own.size() <= warmup) {
      throw Error(
          concat("worker ", worker, " made ", own.size(), " steps, no more than the warm-up of ", warmup));
    }
    begin = std::max(begin, own[warmup - 1]);
    done = std::max(done, own[std::min<std::size_t>(own.size(), warmup + steps) - 1]);
    first_end = std::min(first_end, own.back());
  }
  const double end = std::min(done, first_end);
  if (ends.empty() || end <= begin)
    throw Error("the workers did not train at the same time after the warm-up");
  TimedSteps timed{.steps = 0, .seconds = end - begin};
  for (const std::vector<double>& own : ends) timed.steps += made_at(end, own) - made_at(begin, own);
  return timed;
}

StepEnds read_step_ends(std::istream& events) {
  std::map<Rank, std::map<std::uint64_t, double>> found;
  for (std::string line; std::getline(events, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object() || event.value("what", "") != "compute") continue;
    if (!event.contains("step")) throw Error(concat("the span does not tell its step: ", line));
    double& end = found[event["rank"]][event["step"]];
    end = std::max(end, event["t"].get<double>() + event["d"].get<double>());
  }
  StepEnds ends;
  for (const auto& [rank, steps] : found) {
    if (steps.rbegin()->first != steps.size()) {
      throw Error(concat("worker ", rank, " computed ", steps.size(), " steps, the last with number ",
                         steps.rbegin()->first));
    }
    std::vector<double>& own = ends.emplace_back();
    for (const auto& [step, end] : steps) own.push_back(end);
  }
  return ends;
}

}  // namespace starling::cli
