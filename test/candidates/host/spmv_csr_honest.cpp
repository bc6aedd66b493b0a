// Expected: valid. Sparse product, row by row.
extern "C" void spmv_csr_optimized(int rows, const float* values, const int* col_indices, const int* row_offsets,
                                   const float* x, float* y) {
  for (int row = 0; row < rows; ++row) {
    float sum = 0;
    for (int k = row_offsets[row]; k < row_offsets[row + 1]; ++k) sum += values[k] * x[col_indices[k]];
    y[row] = sum;
  }
}
