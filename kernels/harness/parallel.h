// A small pool of threads for the judge: cm::parallelFor.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace cm {

/** Processors this process may use (affinity, not the machine's total). */
inline int processorCount() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, int(std::thread::hardware_concurrency()));
}

namespace detail {

/** Workers take chunk numbers from a shared counter; the calling thread works too. One job at a time. */
class Pool {
 public:
  static Pool& instance() {
    static Pool* pool = new Pool;  // never destroyed: the program ends by _exit
    return *pool;
  }
  int threads() const { return int(workers_.size()) + 1; }

  void run(int64_t chunks, const std::function<void(int64_t)>& work) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      work_ = &work, chunks_ = chunks, next_ = 0, busy_ = int(workers_.size()), error_ = nullptr;
      generation_++;
    }
    wake_.notify_all();
    drain();
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return busy_ == 0; });
    work_ = nullptr;
    if (error_) std::rethrow_exception(error_);
  }

  /** True inside a chunk: nested loops run serially. */
  static bool& inside() {
    static thread_local bool flag = false;
    return flag;
  }

 private:
  Pool() {
    for (int i = 1; i < processorCount(); i++) workers_.emplace_back([this] { loop(); });
    for (auto& w : workers_) w.detach();
  }

  void loop() {
    uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return generation_ != seen; });
        seen = generation_;
      }
      drain();
      std::lock_guard<std::mutex> lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  void drain() {
    inside() = true;
    for (int64_t c; (c = next_.fetch_add(1)) < chunks_;) {
      try {
        (*work_)(c);
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!error_) error_ = std::current_exception();
        next_ = chunks_;
      }
    }
    inside() = false;
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  const std::function<void(int64_t)>* work_ = nullptr;
  std::atomic<int64_t> next_{0};
  int64_t chunks_ = 0;
  int busy_ = 0;
  uint64_t generation_ = 0;
  std::exception_ptr error_;
};

}  // namespace detail

/** Calls body(chunk, begin, end) for consecutive ranges of at most `grain` elements covering [0, count), in parallel. */
template <class Body>
void parallelChunks(int64_t count, int64_t grain, const Body& body) {
  if (count <= 0) return;
  const int64_t chunks = (count + grain - 1) / grain;
  auto one = [&](int64_t c) { body(c, c * grain, std::min(count, (c + 1) * grain)); };
  if (chunks == 1 || detail::Pool::inside()) {
    for (int64_t c = 0; c < chunks; c++) one(c);
    return;
  }
  detail::Pool::instance().run(chunks, one);
}

/**
 * Parallel loop over [0, count): body(begin, end) on disjoint ranges, or body(i) for each i. Ranges are chosen so that every
 * thread gets several; nested calls run serially. Exceptions of a body reach the caller.
 */
template <class Body>
void parallelFor(int64_t count, const Body& body) {
  const int64_t parts = int64_t(processorCount()) * 8;
  const int64_t grain = std::max<int64_t>(1, (count + parts - 1) / parts);
  parallelChunks(count, grain, [&](int64_t, int64_t begin, int64_t end) {
    if constexpr (std::is_invocable_v<Body, int64_t, int64_t>) {
      body(begin, end);
    } else {
      for (int64_t i = begin; i < end; i++) body(i);
    }
  });
}

}  // namespace cm
