// Contraction over two indices, naive: one thread per result, neighbouring threads along c. They read B y_dim elements
// apart and all fetch the same elements of A; nothing is staged or reused.
#include <cuda_runtime.h>

__global__ void high_order_contraction_kernel(const float* A, const float* B, float* C, int a_dim, int b_dim, int c_dim, int x_dim,
                                              int y_dim) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (long long)a_dim * b_dim * c_dim) return;
  const long long c = i % c_dim, b = i / c_dim % b_dim, a = i / c_dim / b_dim;
  float sum = 0.0f;
  for (long long x = 0; x < x_dim; ++x) {
    for (long long y = 0; y < y_dim; ++y) {
      sum += A[((a * x_dim + x) * b_dim + b) * y_dim + y] * B[(x * c_dim + c) * y_dim + y];
    }
  }
  C[i] = sum;
}

extern "C" void high_order_contraction(const float* A, const float* B, float* C, int a_dim, int b_dim, int c_dim, int x_dim,
                                       int y_dim) {
  const int threads = 256;
  const long long results = (long long)a_dim * b_dim * c_dim;
  const long long blocks = results / threads + (results % threads != 0);
  high_order_contraction_kernel<<<(unsigned)blocks, threads>>>(A, B, C, a_dim, b_dim, c_dim, x_dim, y_dim);
}
