// FourierTransform: the discrete Fourier transform of one line of complex numbers, of any length.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace spmd::cpu {

// Lengths with small prime factors are split into them; others become a cyclic convolution of a
// power of two (Bluestein's algorithm).
class FourierTransform {
 public:
  using Complex = std::complex<double>;

  FourierTransform(int64_t length, bool inverse);
  int64_t length() const { return length_; }
  // Complex numbers that run() needs beside the line.
  int64_t scratch() const;
  // In place; the inverse is scaled by 1 / length.
  void run(Complex* line, Complex* scratch) const;

 private:
  void split(const Complex* in, Complex* out, int64_t length, int64_t stride, size_t factor) const;
  void convolve(Complex* line, Complex* scratch) const;

  int64_t length_;
  bool inverse_;
  std::vector<int64_t> factors_;  // empty: by convolution
  std::vector<Complex> roots_;    // exp(-+ 2 pi i k / length)
  // Of the convolution.
  std::unique_ptr<FourierTransform> forward_, backward_;
  std::vector<Complex> chirp_, filter_;
};

}  // namespace spmd::cpu
