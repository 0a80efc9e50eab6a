#include "runtime/io/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "support/error.h"

namespace spmd {
namespace {

constexpr const char* kAgain = "write or copy it again";

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;
};

// The header is a Python dictionary literal of three known keys.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  std::optional<Header> read() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const std::optional<std::string> key = quoted();
      if (!key || !take(':')) return std::nullopt;
      if (*key == "descr") {
        const std::optional<std::string> value = quoted();
        if (!value) return std::nullopt;
        header.descr = *value;
        has_descr = true;
      } else if (*key == "fortran_order") {
        header.fortran = word("True");
        if (!header.fortran && !word("False")) return std::nullopt;
        has_order = true;
      } else if (*key == "shape") {
        if (!tuple(header.shape)) return std::nullopt;
        has_shape = true;
      } else {
        return std::nullopt;
      }
      take(',');
    }
    if (!has_descr || !has_order || !has_shape) return std::nullopt;
    return header;
  }

 private:
  void skip() {
    while (!text_.empty() && std::strchr(" \t\r\n", text_.front())) text_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view expected) {
    skip();
    if (text_.substr(0, expected.size()) != expected) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  std::optional<std::string> quoted() {
    skip();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return std::nullopt;
    const size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string result(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return result;
  }
  bool tuple(std::vector<int64_t>& values) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip();
      int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0 || value > int64_t{1} << 48) return false;
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      word("L");
      values.push_back(value);
      if (values.size() > 64) return false;
      if (!take(',') && (text_.empty() || text_.front() != ')')) return false;
    }
    return true;
  }

  std::string_view text_;
};

struct TypeCode {
  plan::DType dtype;
  const char* code;
};
constexpr TypeCode kTypeCodes[] = {
    {plan::BOOL, "b1"}, {plan::S8, "i1"},    {plan::S16, "i2"},  {plan::S32, "i4"},
    {plan::S64, "i8"},  {plan::U8, "u1"},    {plan::U16, "u2"},  {plan::U32, "u4"},
    {plan::U64, "u8"},  {plan::F16, "f2"},   {plan::F32, "f4"},  {plan::F64, "f8"},
    {plan::C64, "c8"},  {plan::C128, "c16"}, {plan::BF16, "V2"},
};

}  // namespace

NpyFile::NpyFile(const std::string& path) : file_(path) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(file_.data());
  if (file_.size() < 10 || std::memcmp(bytes, "\x93NUMPY", 6) != 0)
    throw UserError(path, "not a .npy file", "expected what numpy.save writes");
  const int version = bytes[6];
  if (version < 1 || version > 3)
    throw UserError(path,
                    fmt::format("a .npy file of version {}; versions 1 to 3 are read", version),
                    "write it again with numpy.save");
  const int64_t prefix = version == 1 ? 10 : 12;
  if (file_.size() < prefix) throw UserError(path, "truncated inside its header", kAgain);
  int64_t length = bytes[8] | bytes[9] << 8;
  if (version > 1) length |= int64_t{bytes[10]} << 16 | int64_t{bytes[11]} << 24;
  if (length > file_.size() - prefix) throw UserError(path, "truncated inside its header", kAgain);
  const std::string_view text(reinterpret_cast<const char*>(bytes) + prefix,
                              static_cast<size_t>(length));
  const std::optional<Header> header = HeaderReader(text).read();
  if (!header)
    throw UserError(path, "the header is not what numpy.save writes",
                    "save one array of numbers: numpy.save(path, array)");
  const std::string code = header->descr.empty() ? "" : header->descr.substr(1);
  for (const TypeCode& type : kTypeCodes)
    if (code == type.code) view_.dtype = type.dtype;
  const char order = header->descr.empty() ? '?' : header->descr[0];
  if (view_.dtype == plan::INVALID || !std::strchr("<>|=", order))
    throw UserError(path, fmt::format("holds elements of type {}", header->descr),
                    "expected booleans, integers, floats or complex numbers");
  view_.shape = header->shape;
  const int64_t size = plan::byte_size(view_.dtype);
  int64_t count = size;
  for (int64_t dim : view_.shape) {
    if (dim != 0 && count > (int64_t{1} << 56) / dim)
      throw UserError(
          path, fmt::format("its shape [{}] is larger than any file", fmt::join(view_.shape, ",")),
          kAgain);
    count *= dim;
  }
  const int64_t data = file_.size() - prefix - length;
  if (data < count)
    throw UserError(
        path,
        fmt::format("truncated: {} bytes of data for {}", data, describe(view_.dtype, view_.shape)),
        kAgain);
  view_.data = file_.data() + prefix + length;
  const bool swapped = order == '>' && size > 1;
  if ((header->fortran && view_.shape.size() > 1) || swapped) {
    own_.assign(view_.data, view_.data + count);
    view_.data = own_.data();
  }
  if (swapped) {
    const int64_t unit = plan::is_complex(view_.dtype) ? size / 2 : size;
    for (int64_t i = 0; i < count; i += unit)
      std::reverse(own_.begin() + i, own_.begin() + i + unit);
  }
  if (header->fortran && view_.shape.size() > 1) reorder(size);
}

void NpyFile::reorder(int64_t size) {
  std::vector<std::byte> sorted(own_.size());
  const std::vector<int64_t>& shape = view_.shape;
  std::vector<int64_t> index(shape.size(), 0);
  const int64_t count = view_.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t from = 0;
    for (size_t d = shape.size(); d-- > 0;) from = from * shape[d] + index[d];
    std::memcpy(sorted.data() + i * size, own_.data() + from * size, static_cast<size_t>(size));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  own_ = std::move(sorted);
  view_.data = own_.data();
}

void write_npy(const std::string& path, const TensorView& tensor) {
  std::string code;
  for (const TypeCode& type : kTypeCodes)
    if (type.dtype == tensor.dtype && type.dtype != plan::BF16) code = type.code;
  const int64_t size = plan::byte_size(tensor.dtype);
  if (code.empty()) code = plan::is_signed_int(tensor.dtype) ? "i1" : size == 1 ? "u1" : "u2";
  std::string shape;
  for (int64_t dim : tensor.shape) shape += std::to_string(dim) + ",";
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   size == 1 ? '|' : '<', code, shape);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  AtomicFile file(path);
  const unsigned char prefix[10] = {0x93,
                                    'N',
                                    'U',
                                    'M',
                                    'P',
                                    'Y',
                                    1,
                                    0,
                                    static_cast<unsigned char>(header.size() & 255),
                                    static_cast<unsigned char>(header.size() >> 8)};
  file.write(prefix, sizeof prefix);
  file.write(header.data(), static_cast<int64_t>(header.size()));
  file.write(tensor.data, tensor.num_bytes());
  file.commit();
}

}  // namespace spmd
