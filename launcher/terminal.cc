#include "launcher/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace spmd {
namespace {

// The width of the terminal behind `fd`, 0 when it has none.
int width_of(int fd) {
  winsize size{};
  return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int width_of_parent() {
  const std::string path = "/proc/" + std::to_string(getppid()) + "/fd/1";
  const int fd = open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return 0;
  const int width = width_of(fd);
  close(fd);
  return width;
}

}  // namespace

Terminal stdout_terminal() {
  const char* term = std::getenv("TERM");
  if (!isatty(STDOUT_FILENO) || (term != nullptr && std::string(term) == "dumb")) return {};
  int width = width_of(STDOUT_FILENO);
  if (width == 0) width = width_of_parent();
  if (width == 0) return {};
  return {.interactive = true, .width = width};
}

}  // namespace spmd
