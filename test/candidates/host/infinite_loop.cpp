// Expected: timeout. Never returns.
extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  (void)X, (void)Y, (void)N;
  volatile float* out = loss;
  for (;;) *out = 1.0f;
}
