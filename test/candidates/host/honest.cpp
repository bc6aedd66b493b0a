// Expected: valid. Four partial sums in fp32.
extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  float sums[4] = {0, 0, 0, 0};
  for (int i = 0; i < N; ++i) sums[i % 4] += X[i] * Y[i];
  *loss = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
