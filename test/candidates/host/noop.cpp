// Expected: wrong-result. Writes nothing.
extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  (void)loss, (void)X, (void)Y, (void)N;
}
