// The elementary functions, from additions, multiplications and divisions only, which every machine rounds
// alike: libm's results differ between its versions and between processors with and without fused
// multiply-add.
#pragma once

namespace starling {

// ln x for finite x > 0; relative error below 2^-50.
double natural_log(double x);

// e^x; relative error below 2^-50. Infinity above 709, 0 below -708.
double natural_exp(double x);

// Absolute error below 2^-50.
double hyperbolic_tangent(double x);

}  // namespace starling
