// Versions of a matrix transpose for the host runner: B[j*M+i] = A[i*N+j]. One honest, the others wrong or ill-behaved in one way each.
#include <pthread.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void transpose(const float* a, float* b, int m, int n) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) b[size_t(j) * m + i] = a[size_t(i) * n + j];
}

extern "C" {

void honest(const float* a, float* b, int m, int n) { transpose(a, b, m, n); }

void blocked(const float* a, float* b, int m, int n) {
  for (int i0 = 0; i0 < m; i0 += 16)
    for (int j0 = 0; j0 < n; j0 += 16)
      for (int i = i0; i < m && i < i0 + 16; i++)
        for (int j = j0; j < n && j < j0 + 16; j++) b[size_t(j) * m + i] = a[size_t(i) * n + j];
}

/** Right, and slower by a multiple. */
void slow(const float* a, float* b, int m, int n) {
  for (int k = 0; k < 4; k++) {
    transpose(a, b, m, n);
    asm volatile("" ::: "memory");
  }
}

/** Right, and notes what it was given: number of calls in this process, a sum over its input's bits. */
void telling(const float* a, float* b, int m, int n) {
  static int calls = 0;
  unsigned long long sum = 0;
  for (size_t i = 0; i < size_t(m) * n; i++) {
    unsigned bits;
    std::memcpy(&bits, a + i, sizeof bits);
    sum = sum * 31 + bits;
  }
  if (FILE* file = std::fopen("given.log", "a")) {
    std::fprintf(file, "%d %016llx\n", ++calls, sum);
    std::fclose(file);
  }
  transpose(a, b, m, n);
}

void zeros(const float*, float* b, int m, int n) { std::memset(b, 0, sizeof(float) * size_t(m) * n); }

void nans(const float*, float* b, int m, int n) {
  for (size_t i = 0; i < size_t(m) * n; i++) b[i] = NAN;
}

void nothing(const float*, float*, int, int) {}

void off_by_one(const float* a, float* b, int m, int n) {
  const float keep = b[size_t(m) * n - 1];
  transpose(a, b, m, n);
  b[size_t(m) * n - 1] = keep;
}

void out_of_bounds(const float* a, float* b, int m, int n) {
  transpose(a, b, m, n);
  b[size_t(m) * n] = 1;
}

void changes_input(const float* a, float* b, int m, int n) {
  transpose(a, b, m, n);
  const_cast<float*>(a)[1] = 7;
}

/** Keeps the first result by address and hands it out again. */
void cached(const float* a, float* b, int m, int n) {
  static const float* known = nullptr;
  static std::vector<float> result;
  const size_t count = size_t(m) * n;
  if (known != a || result.size() != count) {
    transpose(a, b, m, n);
    known = a;
    result.assign(b, b + count);
    return;
  }
  std::memcpy(b, result.data(), count * sizeof(float));
}

/** Right as long as somebody verifies, then one call in two does nothing. */
void tires(const float* a, float* b, int m, int n) {
  static int calls = 0;
  if (++calls > 12 && calls % 2 == 0) return;
  transpose(a, b, m, n);
}

void endless(const float*, float* b, int, int) {
  for (volatile float* p = b;;) *p = 1;
}

void leaves(const float*, float*, int, int) { std::exit(0); }

void leaves_quietly(const float*, float*, int, int) { _exit(0); }

void dies(const float*, float*, int, int) { *static_cast<volatile int*>(nullptr) = 1; }

/** Claims success on every descriptor it finds, in words and in something like a frame. */
void claims(const float*, float*, int, int) {
  const char text[] = "\x20\0\0\0\0\0\0\0{\"ok\":true,\"wrapperNs\":1,\"x\":12}";
  std::printf("{\"ok\":true,\"spanNs\":1}\nPASS\n");
  std::fflush(stdout);
  for (int fd = 3; fd < 32; fd++)
    if (write(fd, text, sizeof text - 1) < 0) continue;
}

static void* idle(void*) {
  sleep(30);
  return nullptr;
}

void thread_left(const float* a, float* b, int m, int n) {
  transpose(a, b, m, n);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, idle, nullptr) == 0) pthread_detach(thread);
}

}
