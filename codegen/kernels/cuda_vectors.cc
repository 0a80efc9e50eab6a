// Index variables, and neighbouring elements that are one vector in memory.
#include <algorithm>

#include "codegen/kernels/cuda_printer.h"
#include "codegen/kernels/scalar_text.h"

namespace spmd::codegen::kernels {

const Dims& CudaPrinter::vector_dims() const {
  return kernel_.mapping == Mapping::kRows ? kernel_.columns : kernel_.rows;
}

const Dims& CudaPrinter::vector_strides(const Access& access) const {
  return kernel_.mapping == Mapping::kRows ? access.strides.columns : access.strides.rows;
}

bool CudaPrinter::is_vector(const Access& access) const {
  const Dims& strides = vector_strides(access);
  if (width_ == 1 || strides.empty() || strides.back() != 1) return false;
  const int64_t size = stored_bytes(access), bytes = std::min(kVectorBytes, width_ * size);
  if (access.alignment < bytes) return false;
  const auto aligned = [&](const Dims& dims) {
    return std::all_of(dims.begin(), dims.end(),
                       [&](int64_t stride) { return stride == 1 || stride * size % bytes == 0; });
  };
  const auto ones = std::count(access.strides.rows.begin(), access.strides.rows.end(), 1) +
                    std::count(access.strides.columns.begin(), access.strides.columns.end(), 1);
  return ones == 1 && aligned(access.strides.rows) && aligned(access.strides.columns);
}

int64_t CudaPrinter::stored_bytes(const Access& access) {
  const std::string_view type = stored_type(access.dtype);
  if (type == "double" || type.find("64") != std::string_view::npos) return 8;
  if (type == "float" || type.find("32") != std::string_view::npos) return 4;
  return type.find("16") != std::string_view::npos ? 2 : 1;
}

std::string_view CudaPrinter::index_type(int64_t count) {
  return count < (int64_t{1} << 30) ? "uint32_t" : "int64_t";
}

void CudaPrinter::split(const std::string& number, const Dims& sizes, char variable,
                        int64_t width) {
  std::string rest = number;
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  for (size_t d = sizes.size(); d-- > 0;) {
    const int64_t size = d + 1 == sizes.size() ? sizes[d] / width : sizes[d];
    const std::string times =
        d + 1 == sizes.size() && width > 1 ? fmt::format(" * {}", width) : std::string();
    if (d == 0) {
      line("const int64_t {}0 = int64_t({}){};", variable, rest, times);
      break;
    }
    const std::string quotient = fmt::format("q{}_{}", variable, d);
    line("const {} {} = {} / {};", index_type(count), quotient, rest, size);
    line("const int64_t {}{} = int64_t({} - {} * {}){};", variable, d, rest, quotient, size, times);
    rest = quotient;
  }
}

std::string CudaPrinter::vector_type(const Access& access) const {
  if (is_paired(access.dtype)) return fmt::format("Vec<uint32_t, {}>", width_ / 2);
  return fmt::format("Vec<{}, {}>", stored_type(access.dtype), width_);
}

std::string CudaPrinter::vector_element(int a, int e) const {
  if (is_paired(access(a).dtype)) return fmt::format("w{}.v[j / 2]", a);
  return e == 0 ? fmt::format("w{}.v[j]", a) : fmt::format("w{}.v[j + {}]", a, e);
}

std::vector<int> CudaPrinter::accesses_of(const std::vector<int>& nodes) const {
  std::vector<int> result;
  for (int n : nodes)
    if (node(n).kind == Node::Kind::kLoad) result.push_back(node(n).access);
  return result;
}

void CudaPrinter::load_vectors(const std::vector<int>& nodes) {
  for (int a : accesses_of(nodes)) {
    if (!is_vector(access(a))) continue;
    set_element(a, "");
    line("const {0} w{1} = *reinterpret_cast<const {0}*>(&{2});", vector_type(access(a)), a,
         element(a));
    set_element(a, vector_element(a));
  }
}

void CudaPrinter::begin_stores(const std::vector<Store>& stores) {
  for (const Store& store : stores) {
    if (!is_vector(access(store.access))) continue;
    line("{} w{};", vector_type(access(store.access)), store.access);
    set_element(store.access, vector_element(store.access));
  }
}

void CudaPrinter::end_stores(const std::vector<Store>& stores) {
  for (const Store& store : stores) {
    if (!is_vector(access(store.access))) continue;
    set_element(store.access, "");
    line("*reinterpret_cast<{}*>(&{}) = w{};", vector_type(access(store.access)),
         element(store.access), store.access);
  }
}

void CudaPrinter::open_vector(const std::string& variable) {
  line("const int64_t first = {};", variable);
  line("#pragma unroll");
  open("for (int j = 0; j < {}; {})", width_, has_pairs_ ? "j += 2" : "++j");
  line("const int64_t {} = first + j;", variable);
}

}  // namespace spmd::codegen::kernels
