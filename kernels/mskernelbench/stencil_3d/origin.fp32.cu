// One explicit step of the heat equation on a three-dimensional grid, naive: 4 x 4 x 4 blocks whose neighbouring threads lie
// along i, ny * nz elements apart, so no access coalesces; the boundary is copied by a second launch over the whole grid.
#include <cuda_runtime.h>

__global__ void stencil_3d_kernel(float* u_new, const float* u_old, float r, int nx, int ny, int nz) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long j = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  const long long k = (long long)blockIdx.z * blockDim.z + threadIdx.z;
  if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1 || k < 1 || k >= nz - 1) return;
  const long long row = nz, plane = (long long)ny * nz;
  const long long at = i * plane + j * row + k;
  const float centre = u_old[at];
  const float around = u_old[at - plane] + u_old[at + plane] + u_old[at - row] + u_old[at + row] +
                       u_old[at - 1] + u_old[at + 1];
  u_new[at] = centre + r * (around - 6.0f * centre);
}

__global__ void stencil_3d_boundary_kernel(float* u_new, const float* u_old, int nx, int ny, int nz) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long j = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  const long long k = (long long)blockIdx.z * blockDim.z + threadIdx.z;
  if (i >= nx || j >= ny || k >= nz) return;
  const long long at = (i * ny + j) * nz + k;
  if (i == 0 || i == nx - 1 || j == 0 || j == ny - 1 || k == 0 || k == nz - 1) u_new[at] = u_old[at];
}

extern "C" void stencil_3d(float* u_new, const float* u_old, float r, int nx, int ny, int nz) {
  const int edge = 4;
  const dim3 threads(edge, edge, edge);
  const dim3 blocks(nx / edge + (nx % edge != 0), ny / edge + (ny % edge != 0), nz / edge + (nz % edge != 0));
  stencil_3d_kernel<<<blocks, threads>>>(u_new, u_old, r, nx, ny, nz);
  stencil_3d_boundary_kernel<<<blocks, threads>>>(u_new, u_old, nx, ny, nz);
}
