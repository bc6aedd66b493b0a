// Expected: cheat or wrong-result. Does the work in a thread of its own after the wrapper has returned.
#include <chrono>
#include <thread>

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    float sum = 0;
    for (int i = 0; i < N; ++i) sum += X[i] * Y[i];
    *loss = sum;
  }).detach();
}
