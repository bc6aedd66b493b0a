/** Tries, as a candidate might, to leave its sandbox. Prints one line per attempt; exit code 1 if one succeeded. */
export const hostProbe = String.raw`
#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int bad = 0;
static void say(bool good, const char* name, const char* text) {
  std::printf("%s %s %s\n", good ? "ok" : "bad", name, text);
  if (!good) bad = 1;
}
static void cannotRead(const char* name, const char* path) {
  int fd = open(path, O_RDONLY);
  char text[256];
  std::snprintf(text, sizeof text, "%s: %s", path, fd < 0 ? std::strerror(errno) : "could be opened");
  say(fd < 0, name, text);
  if (fd >= 0) close(fd);
}
static void cannotWrite(const char* name, const char* path) {
  int fd = open(path, O_WRONLY | O_CREAT, 0600);
  char text[256];
  std::snprintf(text, sizeof text, "%s: %s", path, fd < 0 ? std::strerror(errno) : "could be opened for writing");
  say(fd < 0, name, text);
  if (fd >= 0) close(fd);
}
int main() {
  cannotRead("hides-passwords", "/etc/shadow");
  cannotRead("hides-home", "/root");
  cannotWrite("no-write-usr", "/usr/bin/cudamaster-probe");
  cannotWrite("no-write-root", "/cudamaster-probe");
  cannotWrite("no-write-kernel", "/proc/sys/kernel/core_pattern");
  bool moved = std::rename("host-probe", "other") == 0 || std::remove("host-probe") == 0;
  say(!moved, "no-replace-programs", moved ? "a program of the job was replaced" : std::strerror(errno));
  int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(53);
  inet_pton(AF_INET, "1.1.1.1", &to.sin_addr);
  int r = s < 0 ? -1 : connect(s, reinterpret_cast<sockaddr*>(&to), sizeof to);
  say(r != 0, "no-network", r != 0 ? std::strerror(errno) : "a connection was made");
  int seen = 0;
  if (DIR* d = opendir("/proc")) {
    while (dirent* e = readdir(d)) seen += e->d_name[0] >= '1' && e->d_name[0] <= '9';
    closedir(d);
  }
  char text[64];
  std::snprintf(text, sizeof text, "%d processes visible", seen);
  say(seen < 16, "own-processes", text);
  int fd = open("made-here", O_WRONLY | O_CREAT, 0600);
  say(fd >= 0, "scratch-writable", fd >= 0 ? "yes" : std::strerror(errno));
  return bad;
}
`;

/** A kernel, a copy back and a check; every call looked at. */
export const cudaProbe = String.raw`
#include <cstdio>
#include <cuda_runtime.h>

__global__ void square(int* x) { x[threadIdx.x] = threadIdx.x * threadIdx.x; }

#define TRY(call)                                                                             \
  do {                                                                                        \
    cudaError_t e = (call);                                                                   \
    if (e != cudaSuccess) {                                                                   \
      std::printf("bad cuda %s: %s: %s\n", #call, cudaGetErrorName(e), cudaGetErrorString(e)); \
      return 1;                                                                               \
    }                                                                                         \
  } while (0)

int main() {
  int driver = 0, runtime = 0;
  TRY(cudaDriverGetVersion(&driver));
  TRY(cudaRuntimeGetVersion(&runtime));
  cudaDeviceProp prop;
  TRY(cudaGetDeviceProperties(&prop, 0));
  int* x = nullptr;
  TRY(cudaMalloc(&x, 64 * sizeof(int)));
  square<<<1, 64>>>(x);
  TRY(cudaGetLastError());
  int host[64];
  TRY(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
  TRY(cudaFree(x));
  for (int i = 0; i < 64; ++i)
    if (host[i] != i * i) {
      std::printf("bad cuda element %d is %d\n", i, host[i]);
      return 1;
    }
  std::printf("ok cuda %s, driver API %d, runtime %d: a kernel ran\n", prop.name, driver, runtime);
  return 0;
}
`;
