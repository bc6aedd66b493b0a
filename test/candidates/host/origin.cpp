// The origin for the host runner: one sum in fp32, one after the other.
extern "C" void dot_product(float* loss, const float* X, const float* Y, const int N) {
  float sum = 0;
  for (int i = 0; i < N; ++i) sum += X[i] * Y[i];
  *loss = sum;
}
