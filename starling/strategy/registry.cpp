#include "starling/strategy/registry.h"

#include "starling/core/error.h"
#include "starling/strategy/allreduce.h"
#include "starling/strategy/dpsgd.h"
#include "starling/strategy/local_sgd.h"
#include "starling/strategy/ps.h"

namespace starling::strategy {

const std::vector<Row>& registry() {
  static const std::vector<Row> rows{allreduce_row(), local_sgd_row(), ps_row(), dpsgd_row()};
  return rows;
}

const Row& find_strategy(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Row& row : registry()) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  const std::string_view meant = nearest(name, names);
  throw InvalidArgument(concat("unknown strategy '", name, "'",
                               meant.empty() ? "" : concat(", did you mean '", meant, "'?"), "; there are ",
                               join(names)));
}

}  // namespace starling::strategy
