// Expected: memory-error. The sum is right; an element 64 places behind the output is overwritten, too.
extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  float sum = 0;
  for (int i = 0; i < N; ++i) sum += X[i] * Y[i];
  loss[0] = sum;
  loss[64] = sum;
}
