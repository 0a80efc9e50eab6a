#include "codegen/kernels/nvrtc.h"

#include <cstdlib>
#include <cstring>
#include <sstream>

#if SPMD_HAVE_CUDA
#include <cuda.h>
#include <nvrtc.h>
#endif

#include "support/error.h"
#include "support/nvidia_libraries.h"

namespace spmd::codegen::kernels {
namespace {

std::vector<std::string> options_for(const std::string& architecture) {
  return {"-arch=" + architecture, "--std=c++17", "--device-as-default-execution-space",
          "--fmad=false", "--ptxas-options=-v"};
}

// The number before `words` in `line`; 0 when they are not there.
int number_before(const std::string& line, const char* words) {
  size_t end = line.find(words);
  if (end == std::string::npos || end == 0) return 0;
  while (end > 0 && line[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return begin == end ? 0 : std::atoi(line.substr(begin, end - begin).c_str());
}

}  // namespace

std::vector<KernelResources> parse_resources(const std::string& report) {
  std::vector<KernelResources> kernels;
  std::istringstream lines(report);
  constexpr const char* kBegin = "Compiling entry function '";
  for (std::string line; std::getline(lines, line);) {
    if (const size_t at = line.find(kBegin); at != std::string::npos) {
      const size_t name = at + std::strlen(kBegin);
      kernels.emplace_back().name = line.substr(name, line.find('\'', name) - name);
    }
    if (kernels.empty()) continue;
    KernelResources& kernel = kernels.back();
    kernel.spill_bytes +=
        number_before(line, "bytes spill stores") + number_before(line, "bytes spill loads");
    if (line.find("Used ") == std::string::npos) continue;
    kernel.registers = number_before(line, "registers");
    kernel.shared_bytes = number_before(line, "bytes smem");
  }
  return kernels;
}

#if SPMD_HAVE_CUDA
namespace {

#define SPMD_NVRTC_FUNCTIONS(X) \
  X(Version)                    \
  X(CreateProgram)              \
  X(DestroyProgram)             \
  X(CompileProgram)             \
  X(GetProgramLogSize) X(GetProgramLog) X(GetCUBINSize) X(GetCUBIN) X(GetErrorString)

struct Functions {
#define SPMD_NVRTC_MEMBER(name) decltype(&::nvrtc##name) name = nullptr;
  SPMD_NVRTC_FUNCTIONS(SPMD_NVRTC_MEMBER)
#undef SPMD_NVRTC_MEMBER

  Functions() {
    const SharedLibrary& library =
        require_library("libnvrtc.so." + std::to_string(CUDA_VERSION / 1000), "NVRTC (cuda-nvrtc)");
#define SPMD_NVRTC_FIND(name) \
  name = reinterpret_cast<decltype(name)>(require_function(library, "nvrtc" #name));
    SPMD_NVRTC_FUNCTIONS(SPMD_NVRTC_FIND)
#undef SPMD_NVRTC_FIND
  }
};

const Functions& nvrtc() {
  static const Functions functions;
  return functions;
}

// The first lines that say what is wrong.
std::string first_errors(const std::string& log) {
  std::istringstream lines(log);
  std::string errors;
  int count = 0;
  for (std::string line; count < 3 && std::getline(lines, line);) {
    if (line.find("error") == std::string::npos) continue;
    errors += (count > 0 ? "; " : "") + line;
    ++count;
  }
  return errors.empty() ? log.substr(0, 400) : errors;
}

class Program {
 public:
  explicit Program(const std::string& source) {
    const nvrtcResult result =
        nvrtc().CreateProgram(&program_, source.c_str(), "kernels.cu", 0, nullptr, nullptr);
    SPMD_CHECK(result == NVRTC_SUCCESS, "NVRTC makes no program");
  }
  ~Program() { nvrtc().DestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> arguments;
    for (const std::string& option : options) arguments.push_back(option.c_str());
    return nvrtc().CompileProgram(program_, static_cast<int>(arguments.size()), arguments.data());
  }
  std::string log() const {
    size_t size = 0;
    nvrtc().GetProgramLogSize(program_, &size);
    std::string text(size, '\0');
    if (size > 0) nvrtc().GetProgramLog(program_, text.data());
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }
  std::string cubin() const {
    size_t size = 0;
    SPMD_CHECK(nvrtc().GetCUBINSize(program_, &size) == NVRTC_SUCCESS, "NVRTC made no cubin");
    std::string code(size, '\0');
    nvrtc().GetCUBIN(program_, code.data());
    return code;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

}  // namespace

std::optional<Nvrtc> Nvrtc::find(std::string* reason) {
  try {
    Nvrtc result;
    int major = 0, minor = 0;
    nvrtc().Version(&major, &minor);
    result.version_ = fmt::format("nvrtc {}.{}", major, minor);
    return result;
  } catch (const UserError& error) {
    if (reason != nullptr) *reason = error.what();
    return std::nullopt;
  }
}

std::string Nvrtc::identity(const std::string& architecture) const {
  std::string text = version_;
  for (const std::string& option : options_for(architecture)) text += " " + option;
  return text;
}

std::optional<std::string> Nvrtc::compile(const std::string& source,
                                          const std::string& architecture, std::string* error,
                                          std::vector<KernelResources>* resources) const {
  Program program(source);
  const nvrtcResult result = program.compile(options_for(architecture));
  if (result != NVRTC_SUCCESS) {
    if (error != nullptr)
      *error = fmt::format("{}: {}: {}", version_, nvrtc().GetErrorString(result),
                           first_errors(program.log()));
    return std::nullopt;
  }
  if (resources != nullptr) *resources = parse_resources(program.log());
  return program.cubin();
}
#else
std::optional<Nvrtc> Nvrtc::find(std::string* reason) {
  if (reason != nullptr) *reason = "this spmd was built without CUDA";
  return std::nullopt;
}

std::string Nvrtc::identity(const std::string&) const { return version_; }

std::optional<std::string> Nvrtc::compile(const std::string&, const std::string&, std::string*,
                                          std::vector<KernelResources>*) const {
  return std::nullopt;
}
#endif

}  // namespace spmd::codegen::kernels
