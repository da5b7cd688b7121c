#include "starling/core/dtype.h"

#include "starling/core/error.h"

namespace starling {
namespace {

struct DtypeEntry {
  DType type;
  std::string_view name;
  std::size_t size;
  bool floating;
};

constexpr DtypeEntry kRows[] = {
    {DType::kFloat32, "float32", 4, true}, {DType::kFloat64, "float64", 8, true},
    {DType::kInt32, "int32", 4, false},    {DType::kInt64, "int64", 8, false},
    {DType::kFloat16, "float16", 2, true}, {DType::kBFloat16, "bfloat16", 2, true},
};

const DtypeEntry& row_of(DType type) {
  for (const DtypeEntry& row : kRows) {
    if (row.type == type) return row;
  }
  throw InvalidArgument(concat("no element type has the number ", static_cast<int>(type)));
}

}  // namespace

std::size_t size_of(DType type) { return row_of(type).size; }

std::string_view name_of(DType type) { return row_of(type).name; }

bool is_floating(DType type) { return row_of(type).floating; }

DType accumulator_of(DType type) { return size_of(type) == 2 ? DType::kFloat32 : type; }

}  // namespace starling
