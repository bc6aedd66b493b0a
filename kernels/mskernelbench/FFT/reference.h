// Reference of FFT: a transform in double, as columns and rows of a matrix of the signal (Bailey's four steps without the last
// transposition), in parallel.
#pragma once

#include <algorithm>
#include <vector>

#include "reference_api.h"

namespace task {

struct Complex {
  double re = 0, im = 0;
};
inline Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }

/** exp(-2 pi i k / n), 0 <= k < n, n a power of two: reduced to an eighth of a turn, so that signs and zeros are exact. */
inline Complex root(int64_t k, int64_t n) {
  const int64_t eighths = 8 * k / n;
  const double angle = 6.283185307179586476925 * (double(k) - double(n) / 8 * double((eighths + 1) / 2 * 2)) / double(n);
  const double c = std::cos(angle), s = std::sin(angle);
  switch ((eighths + 1) / 2 % 4) {
    case 0: return {c, -s};
    case 1: return {-s, -c};
    case 2: return {-c, s};
    default: return {s, c};
  }
}

/** Transforms of one length, in place. */
class Transform {
 public:
  explicit Transform(int64_t n) : n_(n), roots_(size_t(std::max<int64_t>(1, n / 2))), reversed_(static_cast<size_t>(n)) {
    for (int64_t k = 0; k < n / 2; k++) roots_[size_t(k)] = root(k, n);
    for (int64_t i = 1; i < n; i++) reversed_[size_t(i)] = reversed_[size_t(i / 2)] / 2 + (i % 2 ? n / 2 : 0);
  }

  void run(Complex* x) const {
    for (int64_t i = 0; i < n_; i++)
      if (i < reversed_[size_t(i)]) std::swap(x[i], x[reversed_[size_t(i)]]);
    for (int64_t half = 1; half < n_; half *= 2)
      for (int64_t base = 0; base < n_; base += 2 * half)
        for (int64_t k = 0; k < half; k++) {
          const Complex t = x[base + k + half] * roots_[size_t(k * (n_ / 2 / half))];
          x[base + k + half] = x[base + k] - t;
          x[base + k] = x[base + k] + t;
        }
  }

 private:
  int64_t n_;
  std::vector<Complex> roots_;
  std::vector<int64_t> reversed_;
};

/**
 * Scale: the root mean square of real and imaginary parts of the output, sqrt(sum |x|^2 / 2) by Parseval's theorem; in squares beside
 * it the magnitude of the element itself and a quarter of the largest one: where one frequency stands out, it decides the error of its
 * own result and of those that share its last stages. Every stage contributes an error of that size, hence n = log2 N (at least 1).
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : n_(p.dim("N")) {
    if (n_ < 1 || (n_ & (n_ - 1)) != 0) cm::usage("FFT: N must be a power of two");
    int bits = 0;
    while ((int64_t(1) << bits) < n_) bits++;
    stages_ = std::max(1, bits);
    rows_ = int64_t(1) << (bits / 2);
    columns_ = n_ / rows_;
    load(p.in("input_real"), p.in("input_img"));
    transformColumns();
    transformRows();
  }

  /** Output 0: real parts, output 1: imaginary parts. Frequency k1 + rows * k2 stands in row k1, column k2. */
  cm::Ref at(int output, int64_t i) const {
    const Complex& x = data_[size_t(i % rows_ * columns_ + i / rows_)];
    const double scale = std::sqrt(meanSquare_ + x.re * x.re + x.im * x.im + largestSquare_ / 16);
    return {output == 0 ? x.re : x.im, scale, double(stages_)};
  }

 private:
  void load(const cm::View& real, const cm::View& imaginary) {
    data_.resize(size_t(n_));
    const int64_t grain = 1 << 16;
    std::vector<double> squares(size_t((n_ + grain - 1) / grain));
    cm::parallelChunks(n_, grain, [&](int64_t chunk, int64_t begin, int64_t end) {
      double sum = 0;
      for (int64_t i = begin; i < end; i++) {
        const Complex x{real[i], imaginary[i]};
        data_[size_t(i)] = x;
        sum += x.re * x.re + x.im * x.im;
      }
      squares[size_t(chunk)] = sum;
    });
    cm::Sum sum;
    for (const double s : squares) sum.add(s);
    meanSquare_ = sum.value() / 2;
  }

  /** Column j: transform over the rows, then times exp(-2 pi i j k1 / N). Eight neighbouring columns share their cache lines. */
  void transformColumns() {
    const Transform transform(rows_);
    // exp(-2 pi i m / N) = coarse[m / rows] * fine[m % rows]
    std::vector<Complex> coarse(static_cast<size_t>(columns_)), fine(static_cast<size_t>(rows_));
    for (int64_t k = 0; k < columns_; k++) coarse[size_t(k)] = root(k, columns_);
    for (int64_t k = 0; k < rows_; k++) fine[size_t(k)] = root(k, n_);
    cm::parallelChunks(columns_, 8, [&](int64_t, int64_t begin, int64_t end) {
      const int64_t width = end - begin;
      std::vector<Complex> block(size_t(width * rows_));
      for (int64_t r = 0; r < rows_; r++)
        for (int64_t j = 0; j < width; j++) block[size_t(j * rows_ + r)] = data_[size_t(r * columns_ + begin + j)];
      for (int64_t j = 0; j < width; j++) transform.run(block.data() + j * rows_);
      for (int64_t r = 0; r < rows_; r++)
        for (int64_t j = 0; j < width; j++) {
          const int64_t m = r * (begin + j);
          data_[size_t(r * columns_ + begin + j)] = block[size_t(j * rows_ + r)] * (coarse[size_t(m / rows_)] * fine[size_t(m % rows_)]);
        }
    });
  }

  void transformRows() {
    const Transform transform(columns_);
    std::vector<double> largest(static_cast<size_t>(rows_));
    cm::parallelChunks(rows_, 1, [&](int64_t r, int64_t, int64_t) {
      Complex* row = data_.data() + r * columns_;
      transform.run(row);
      double most = 0;
      for (int64_t c = 0; c < columns_; c++) most = std::max(most, row[c].re * row[c].re + row[c].im * row[c].im);
      largest[size_t(r)] = most;
    });
    largestSquare_ = *std::max_element(largest.begin(), largest.end());
  }

  int64_t n_, rows_ = 1, columns_ = 1;
  int stages_ = 1;
  double meanSquare_ = 0, largestSquare_ = 0;
  std::vector<Complex> data_;
};

}  // namespace task
