// Updates of a vector that several ranks read and write at the same time, maybe without a lock. Without one
// an update may be lost, because a rank reads an element, computes, and writes it, and another may do the
// same in between; but no element is ever torn: each is a value that some rank has written.
//
// A race of plain accesses is undefined in C++. What runs are vector instructions on floats that do not cross
// a cache line; on the processors that Starling supports these move each float as a whole. Atomic accesses
// per element say the same in C++, but cannot be vectorised. Elements at the end of a vector, and all of them
// in a build with the thread sanitizer, are moved by relaxed atomic accesses.
//
// The arithmetic is that of the formulas, without fused multiplications: the same bits everywhere.
#pragma once

#include <span>

namespace starling {

// d = alpha (x - centre);  x -= d;  centre += d
void elastic_step(std::span<float> centre, std::span<float> x, float alpha);

// The same for a worker that needs x as it is: it gets d instead.
void elastic_difference(std::span<float> centre, std::span<const float> x, float alpha,
                        std::span<float> difference);

// The worker has read `before` from the shared vector and made x of it. The shared vector gets the change:
// where it is still as it was it becomes x, elsewhere x - before is added. Afterwards x and `before` are as
// the shared vector.
void merge_change(std::span<float> shared, std::span<float> x, std::span<float> before);

}  // namespace starling
