// The matrix product that dot_general and convolution are made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace spmd::eval {

// c[m, n] += sum over k of a[m, k] * b[k, n], summed in order of k from zero. Row-major; `c_stride`
// and `b_stride` are the distances between rows. Integers wrap.
template <typename T>
void matmul(int64_t m, int64_t n, int64_t k, const T* a, const T* b, int64_t b_stride, T* c,
            int64_t c_stride) {
  constexpr int64_t kRows = 4, kColumns = 16;
  std::vector<T> panel(static_cast<size_t>(k * kColumns));
  for (int64_t j = 0; j < n; j += kColumns) {
    const int64_t columns = std::min(kColumns, n - j);
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t q = 0; q < columns; ++q) {
        panel[static_cast<size_t>(p * kColumns + q)] = b[p * b_stride + j + q];
      }
    }
    for (int64_t i = 0; i < m; i += kRows) {
      const int64_t rows = std::min(kRows, m - i);
      T sums[kRows][kColumns] = {};
      const T* row[kRows];  // missing rows repeat the last; their sums are dropped
      for (int64_t r = 0; r < kRows; ++r) row[r] = a + (i + std::min(r, rows - 1)) * k;
      for (int64_t p = 0; p < k; ++p) {
        const T* from = panel.data() + p * kColumns;
        for (int64_t r = 0; r < kRows; ++r) {
          const T factor = row[r][p];
          for (int64_t q = 0; q < kColumns; ++q) sums[r][q] += factor * from[q];
        }
      }
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t q = 0; q < columns; ++q) c[(i + r) * c_stride + j + q] += sums[r][q];
      }
    }
  }
}

}  // namespace spmd::eval
