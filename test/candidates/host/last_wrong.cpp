// Expected: wrong-result. The last element never enters the sum.
extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  float sum = 0;
  for (int i = 0; i < N - 1; ++i) sum += X[i] * Y[i];
  *loss = sum;
}
