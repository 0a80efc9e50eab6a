#pragma once

#include <cstdint>
#include <vector>

namespace spmd {

// Of a number of at least 1, the smallest first.
inline std::vector<int64_t> prime_factors(int64_t number) {
  std::vector<int64_t> primes;
  for (int64_t prime = 2; number > 1; ++prime) {
    if (prime * prime > number) prime = number;
    for (; number % prime == 0; number /= prime) primes.push_back(prime);
  }
  return primes;
}

}  // namespace spmd
