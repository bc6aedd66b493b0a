// Expected: valid. Transpose, row by row.
extern "C" void matrix_transpose_optimized(const float* A, float* B, int M, int N) {
  for (long long i = 0; i < M; ++i)
    for (long long j = 0; j < N; ++j) B[j * M + i] = A[i * N + j];
}
