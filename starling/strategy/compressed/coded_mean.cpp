#include "starling/strategy/compressed/coded_mean.h"

#include "starling/strategy/compressed/dense_mean.h"
#include "starling/strategy/compressed/gathered_mean.h"
#include "starling/strategy/compressed/low_rank_mean.h"

namespace starling::strategy {

std::unique_ptr<CodedMean> make_coded_mean(Worker& self, AgreedExchange& agreed,
                                           const compression::Rule& rule, const compression::Layout& layout,
                                           const std::string& name) {
  switch (rule.kind->sends) {
    case compression::Sends::kFactors:
      return std::make_unique<LowRankMean>(self, agreed, rule, layout, name);
    case compression::Sends::kSomeElements:
      return std::make_unique<GatheredMean>(self, agreed, rule, layout);
    case compression::Sends::kAllElements:
      break;
  }
  return std::make_unique<DenseMean>(self, agreed, rule, layout, name);
}

}  // namespace starling::strategy
