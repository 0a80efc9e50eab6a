// Special functions of real numbers, to an ulp or two of double; float results are those of double,
// rounded. Domains and values at poles are those of CHLO's lowering.
#pragma once

namespace spmd {

// log |gamma(x)|; +infinity at the poles.
double log_gamma(double x);
// The derivative of log gamma; NaN at the poles.
double digamma(double x);
// The n-th derivative of digamma, for integers n of 0 or more; NaN for others.
double polygamma(double n, double x);
// Hurwitz: the sum of (q + k)^-x over k >= 0, for x > 1. For q below 0, x must be an integer.
double hurwitz_zeta(double x, double q);
// exp(-|x|) I1(x): the modified Bessel function of order one, scaled.
double bessel_i1e(double x);
// The inverse of erf; infinite at +-1, NaN beyond.
double erf_inverse(double x);

}  // namespace spmd
