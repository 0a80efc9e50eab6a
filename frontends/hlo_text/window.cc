#include "frontends/hlo_text/window.h"

#include "frontends/hlo_text/lists.h"
#include "support/error.h"

namespace spmd::hlo_text {
namespace {

// low_high or low_high_interior, repeated with x between.
std::vector<std::vector<int64_t>> scan_pads(Scanner& scan, size_t most) {
  std::vector<std::vector<int64_t>> pads;
  const auto accept = [&](char c) {
    if (scan.text().substr(scan.position(), 1) != std::string_view(&c, 1)) return false;
    scan.seek(scan.position() + 1);
    return true;
  };
  do {
    std::vector<int64_t>& pad = pads.emplace_back();
    do pad.push_back(scan.expect_integer("padding, as 1_2"));
    while (pad.size() < most && accept('_'));
    if (pad.size() < 2) scan.fail_expected("'_' and the padding after the dimension");
  } while (accept('x'));
  return pads;
}

// One of the lists of a window, which must have as many entries as the others.
class WindowReader {
 public:
  WindowReader(Scanner& scan, hlo::Window& window) : scan_(scan), window_(window) {}

  void read() {
    scan_.expect("{");
    while (!scan_.accept("}")) {
      entry();
      scan_.accept(",");
    }
  }

 private:
  using Dimension = hlo::WindowDimension;

  void entry() {
    scan_.skip_blanks();
    const size_t start = scan_.position();
    const std::string_view name = scan_word(scan_, "size=, stride=, pad= or the like, or '}'");
    scan_.expect("=");
    if (name == "pad") return pads(start);
    auto* const set = setter(name);
    if (set == nullptr) {
      scan_.fail(start, fmt::format("a window has no \"{}\"", name),
                 "expected size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal");
    }
    const std::vector<int64_t> values = scan_product(scan_);
    check_count(start, values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const bool valid = values[i] >= (name == "rhs_reversal" ? 0 : 1);
      if (!valid) scan_.fail(start, fmt::format("{} of {} in this window", name, values[i]));
      set(*window_.mutable_dimensions(static_cast<int>(i)), values[i]);
    }
  }

  static void (*setter(std::string_view name))(Dimension&, int64_t) {
    if (name == "size") return [](Dimension& dim, int64_t value) { dim.set_size(value); };
    if (name == "stride") return [](Dimension& dim, int64_t value) { dim.set_stride(value); };
    if (name == "lhs_dilate") {
      return [](Dimension& dim, int64_t value) { dim.set_base_dilation(value); };
    }
    if (name == "rhs_dilate") {
      return [](Dimension& dim, int64_t value) { dim.set_window_dilation(value); };
    }
    if (name == "rhs_reversal") {
      return [](Dimension& dim, int64_t value) { dim.set_window_reversal(value != 0); };
    }
    return nullptr;
  }

  void pads(size_t start) {
    const auto values = scan_pads(scan_, 2);
    check_count(start, values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      Dimension& dim = *window_.mutable_dimensions(static_cast<int>(i));
      dim.set_padding_low(values[i][0]);
      dim.set_padding_high(values[i][1]);
    }
  }

  void check_count(size_t start, size_t count) {
    const auto size = static_cast<size_t>(window_.dimensions_size());
    if (size == 0) {
      for (size_t i = 0; i < count; ++i) {
        Dimension& dim = *window_.add_dimensions();
        dim.set_stride(1);
        dim.set_window_dilation(1);
        dim.set_base_dilation(1);
      }
    } else if (size != count) {
      scan_.fail(start, fmt::format("{} entries in a window of {} dimensions", count, size));
    }
  }

  Scanner& scan_;
  hlo::Window& window_;
};

// What the letters of one part of dim_labels stand for. Spatial dimensions are given by digits.
struct LabelledPart {
  int64_t first = -1, second = -1;  // batch and feature, or input and output feature
  std::vector<int64_t> spatial;
};

LabelledPart scan_labels(Scanner& scan, char first, char second) {
  const size_t start = scan.position();
  const std::string_view text = scan.text().substr(start);
  LabelledPart part;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const auto dim = static_cast<int64_t>(at);
    int64_t* slot = nullptr;
    if (c == first) {
      slot = &part.first;
    } else if (c == second) {
      slot = &part.second;
    } else if (c >= '0' && c <= '9') {
      const auto number = static_cast<size_t>(c - '0');
      if (number >= part.spatial.size()) part.spatial.resize(number + 1, -1);
      slot = &part.spatial[number];
    } else if (c == '?') {
      continue;
    } else {
      break;
    }
    if (*slot >= 0) scan.fail(start + at, fmt::format("'{}' stands twice in these labels", c));
    *slot = dim;
  }
  bool complete = part.first >= 0 && part.second >= 0;
  for (const int64_t dim : part.spatial) complete = complete && dim >= 0;
  if (!complete) {
    scan.fail(start, fmt::format("these labels lack '{}', '{}' or a digit", first, second),
              "expected labels such as b01f_01io->b01f");
  }
  scan.seek(start + at);
  return part;
}

}  // namespace

void scan_window(Scanner& scan, hlo::Window& window) { WindowReader(scan, window).read(); }

void scan_padding(Scanner& scan, hlo::PaddingConfig& padding) {
  scan.skip_blanks();
  const char next = scan.peek();
  if (next != '-' && (next < '0' || next > '9')) return;  // of a scalar
  for (const std::vector<int64_t>& pad : scan_pads(scan, 3)) {
    auto& dim = *padding.add_dimensions();
    dim.set_edge_padding_low(pad[0]);
    dim.set_edge_padding_high(pad[1]);
    dim.set_interior_padding(pad.size() > 2 ? pad[2] : 0);
  }
}

void scan_slice(Scanner& scan, hlo::HloInstructionProto& instruction) {
  scan_list(scan, "{", "}", [&] {
    hlo::SliceDimensions& dim = *instruction.add_slice_dimensions();
    scan.expect("[");
    dim.set_start(scan.expect_integer());
    scan.expect(":");
    dim.set_limit(scan.expect_integer());
    dim.set_stride(scan.accept(":") ? scan.expect_integer() : 1);
    scan.expect("]");
  });
}

void scan_dim_labels(Scanner& scan, hlo::ConvolutionDimensionNumbers& numbers) {
  scan.skip_blanks();
  const size_t start = scan.position();
  const LabelledPart input = scan_labels(scan, 'b', 'f');
  scan.expect("_");
  const LabelledPart kernel = scan_labels(scan, 'i', 'o');
  scan.expect("->");
  const LabelledPart output = scan_labels(scan, 'b', 'f');
  if (kernel.spatial.size() != input.spatial.size() ||
      output.spatial.size() != input.spatial.size()) {
    scan.fail(start,
              "these labels give input, kernel and output different numbers of spatial "
              "dimensions");
  }
  const auto copy = [](const std::vector<int64_t>& from, Integers& to) {
    to.Assign(from.begin(), from.end());
  };
  numbers.set_input_batch_dimension(input.first);
  numbers.set_input_feature_dimension(input.second);
  copy(input.spatial, *numbers.mutable_input_spatial_dimensions());
  numbers.set_kernel_input_feature_dimension(kernel.first);
  numbers.set_kernel_output_feature_dimension(kernel.second);
  copy(kernel.spatial, *numbers.mutable_kernel_spatial_dimensions());
  numbers.set_output_batch_dimension(output.first);
  numbers.set_output_feature_dimension(output.second);
  copy(output.spatial, *numbers.mutable_output_spatial_dimensions());
}

}  // namespace spmd::hlo_text
