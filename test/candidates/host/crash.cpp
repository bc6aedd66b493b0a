// Expected: runtime-error. Writes to address 8.
extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  (void)loss, (void)X, (void)Y, (void)N;
  *reinterpret_cast<volatile float*>(8) = 1.0f;
}
