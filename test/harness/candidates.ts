/** Host versions of the example wrapper (test/harness/build.ts), honest and not. */
const params = 'const float* x, float* y, float* s, float a, int n, long m';
const define = (body: string, before = ''): string => `#include <cmath>
#include <cstdlib>
#include <unistd.h>
${before}
extern "C" void scale_sum_optimized(${params}) {
  (void)x; (void)y; (void)s; (void)a; (void)n; (void)m;
  ${body}
}
`;
const honest = 'double t = 0; for (long i = 0; i < m; i++) { y[i] = a * x[i]; t += x[i]; } s[0] = float(t);';

export const symbol = 'scale_sum_optimized';

export const candidates = {
  honest: define(honest),
  /** n and m must both arrive. */
  arguments: define('y[0] = a; y[1] = float(n); y[2] = float(m); s[0] = float(a == 3.0f && n == m);'),
  nothing: define(''),
  zeros: define('for (int i = 0; i < n; i++) y[i] = 0; s[0] = 0;'),
  guardBefore: define(`${honest} y[-3] = 1;`),
  guardAfter: define(`${honest} y[n + 2] = 1;`),
  inputs: define(`${honest} const_cast<float*>(x)[17] = 5; const_cast<float*>(x)[29] = 5;`),
  nan: define(`${honest} y[100] = NAN; y[101] = INFINITY;`),
  everyEighth: define(`${honest} for (int i = 5; i < n; i += 8) y[i] += 1;`),
  oneUlp: define(`${honest} y[7] = std::nextafterf(y[7], 1e30f);`),
  thread: define(`${honest} std::thread([] { for (;;) sleep(1); }).detach();`, '#include <thread>'),
  crash: define('*(volatile int*)16 = 1;'),
  exits: define('std::exit(0);', 'struct AtExit { ~AtExit() { _exit(77); } } atExit;'),
  /** Two libraries with these must count apart. */
  counter: (by: number): string => `
struct Box { static inline float value = 0; };
inline float& hidden() { static float v = 0; return v; }
extern "C" void scale_sum_optimized(${params}) {
  (void)x; (void)a; (void)n; (void)m;
  Box::value += ${by}; hidden() += ${by};
  y[0] = Box::value; s[0] = hidden();
}
`,
};
