#include "runtime/device/cpu/fourier.h"

#include <algorithm>

#include "support/complex_functions.h"

namespace spmd::cpu {
namespace {

using Complex = FourierTransform::Complex;

// A prime factor costs its square.
constexpr int64_t kLargestFactor = 31;

std::vector<int64_t> prime_factors(int64_t length) {
  std::vector<int64_t> factors;
  for (int64_t p = 2; p * p <= length; ++p) {
    for (; length % p == 0; length /= p) factors.push_back(p);
  }
  if (length > 1) factors.push_back(length);
  return factors;
}

Complex root(int64_t k, int64_t n, bool inverse) {
  const Complex root = complex_functions::unit_root(k, n);
  return inverse ? root : std::conj(root);
}

}  // namespace

FourierTransform::FourierTransform(int64_t length, bool inverse)
    : length_(length), inverse_(inverse), factors_(prime_factors(length)) {
  if (factors_.empty() || factors_.back() <= kLargestFactor) {
    for (int64_t k = 0; k < length; ++k) roots_.push_back(root(k, length, inverse));
    return;
  }
  factors_.clear();
  int64_t padded = 1;
  while (padded < 2 * length - 1) padded *= 2;
  forward_ = std::make_unique<FourierTransform>(padded, false);
  backward_ = std::make_unique<FourierTransform>(padded, true);
  filter_.assign(static_cast<size_t>(padded), 0);
  for (int64_t k = 0; k < length; ++k) {
    // k * k mod 2 length, without overflow.
    const auto square =
        static_cast<int64_t>(static_cast<unsigned __int128>(k) * static_cast<unsigned __int128>(k) %
                             static_cast<unsigned __int128>(2 * length));
    chirp_.push_back(root(square, 2 * length, inverse));
    filter_[static_cast<size_t>(k)] = std::conj(chirp_.back());
    if (k > 0) filter_[static_cast<size_t>(padded - k)] = std::conj(chirp_.back());
  }
  std::vector<Complex> scratch(static_cast<size_t>(forward_->scratch()));
  forward_->run(filter_.data(), scratch.data());
}

int64_t FourierTransform::scratch() const {
  return forward_ ? forward_->length() + forward_->scratch() : length_;
}

void FourierTransform::run(Complex* line, Complex* scratch) const {
  if (length_ < 2) return;
  if (forward_) {
    convolve(line, scratch);
  } else {
    split(line, scratch, length_, 1, 0);
    std::copy(scratch, scratch + length_, line);
  }
  if (!inverse_) return;
  for (int64_t k = 0; k < length_; ++k) line[k] /= static_cast<double>(length_);
}

// Transforms in[0], in[stride], ...: one transform per residue modulo the factor, then sums over
// residues.
void FourierTransform::split(const Complex* in, Complex* out, int64_t length, int64_t stride,
                             size_t factor) const {
  if (length == 1) {
    *out = *in;
    return;
  }
  const int64_t p = factors_[factor], m = length / p;
  for (int64_t q = 0; q < p; ++q) split(in + q * stride, out + q * m, m, stride * p, factor + 1);
  Complex terms[kLargestFactor];
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t q = 0; q < p; ++q) {
      terms[q] = out[q * m + k] * roots_[static_cast<size_t>(q * k * stride)];
    }
    for (int64_t r = 0; r < p; ++r) {
      Complex sum = terms[0];
      for (int64_t q = 1; q < p; ++q) {
        sum += terms[q] * roots_[static_cast<size_t>(q * r % p * (length_ / p))];
      }
      out[r * m + k] = sum;
    }
  }
}

void FourierTransform::convolve(Complex* line, Complex* scratch) const {
  const int64_t padded = forward_->length();
  Complex* work = scratch;
  for (int64_t k = 0; k < length_; ++k) work[k] = line[k] * chirp_[static_cast<size_t>(k)];
  std::fill(work + length_, work + padded, Complex(0));
  forward_->run(work, scratch + padded);
  for (int64_t k = 0; k < padded; ++k) work[k] *= filter_[static_cast<size_t>(k)];
  backward_->run(work, scratch + padded);
  for (int64_t k = 0; k < length_; ++k) line[k] = work[k] * chirp_[static_cast<size_t>(k)];
}

}  // namespace spmd::cpu
