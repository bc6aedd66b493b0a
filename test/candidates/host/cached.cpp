// Expected: cheat. Computes once per set of addresses, then repeats the stored answer.
extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  static const float* seenX = nullptr;
  static int seenN = 0;
  static float stored = 0;
  if (X != seenX || N != seenN) {
    stored = 0;
    for (int i = 0; i < N; ++i) stored += X[i] * Y[i];
    seenX = X;
    seenN = N;
  }
  *loss = stored;
}
