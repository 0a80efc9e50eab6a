// Loaded before a program (LD_PRELOAD), lets it start so many threads: SPMD_FAKE_THREADS, all
// without it. SPMD_FAKE_THREADS_LOG.PID is a file that gets a line for each.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*work)(void*), void* argument) {
  static std::atomic<int> started{0};
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  const char* most = std::getenv("SPMD_FAKE_THREADS");
  if (most != nullptr && started >= std::atoi(most)) return EAGAIN;
  ++started;
  const char* log = std::getenv("SPMD_FAKE_THREADS_LOG");
  if (log != nullptr) {
    const std::string path = std::string(log) + "." + std::to_string(getpid());
    if (std::FILE* file = std::fopen(path.c_str(), "a")) {
      std::fprintf(file, "thread\n");
      std::fclose(file);
    }
  }
  return create(thread, attributes, work, argument);
}
