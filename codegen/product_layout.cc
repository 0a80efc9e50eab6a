#include "codegen/product_layout.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "codegen/step_tree.h"
#include "codegen/views.h"
#include "runtime/plan/accesses.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/plan.h"

namespace spmd::codegen {
namespace {

// A dimension of a storage's elements, as they lie and as they are to lie.
struct Factor {
  int64_t size, stride, new_stride;
};

struct Access {
  plan::Step* step;
  plan::View* view;
  bool writes;
};

bool is_row_major(const plan::View& view, const Dims& shape) {
  if (static_cast<size_t>(view.strides_size()) != shape.size()) return false;
  int64_t dense = 1;
  for (size_t d = shape.size(); d-- > 0; dense *= shape[d])
    if (shape[d] != 1 && view.strides(static_cast<int>(d)) != dense) return false;
  return true;
}

// The dimensions of a dense storage of `count` elements, as a view of all of it shows them, and
// dense in the order of the view's own dimensions; nullopt when the view shows them otherwise.
std::optional<std::vector<Factor>> factors_of(const plan::View& view, const Dims& shape,
                                              int64_t count) {
  if (view.offset() != 0 || static_cast<size_t>(view.strides_size()) != shape.size())
    return std::nullopt;
  std::vector<Factor> factors;
  int64_t dense = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    factors.push_back({shape[d], view.strides(static_cast<int>(d)), dense});
    dense *= shape[d];
  }
  if (dense != count) return std::nullopt;
  std::sort(factors.begin(), factors.end(),
            [](const Factor& a, const Factor& b) { return a.stride < b.stride; });
  int64_t covered = 1;
  for (const Factor& factor : factors) {
    if (factor.stride != covered) return std::nullopt;
    covered *= factor.size;
  }
  return factors;
}

// A view's strides on the storage as it is to lie; nullopt when a dimension of the view runs over
// several of the storage's.
std::optional<Dims> moved_strides(const plan::View& view, const Dims& shape,
                                  const std::vector<Factor>& factors) {
  if (view.offset() != 0 || static_cast<size_t>(view.strides_size()) != shape.size())
    return std::nullopt;
  Dims result(shape.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t stride = view.strides(static_cast<int>(d));
    if (shape[d] == 1) continue;
    const auto factor = std::find_if(factors.begin(), factors.end(), [&](const Factor& f) {
      return stride >= f.stride && stride < f.stride * f.size;
    });
    if (factor == factors.end() || stride % factor->stride != 0) return std::nullopt;
    const int64_t step = stride / factor->stride;
    if (step * (shape[d] - 1) >= factor->size) return std::nullopt;
    result[d] = step * factor->new_stride;
  }
  return result;
}

class ProductLayouter {
 public:
  ProductLayouter(plan::Sequence& body, const StorageTable& storages)
      : storages_(storages), accesses_(static_cast<size_t>(storages.size())) {
    const StepTree tree(body);
    for (int s = 0; s < tree.num_steps(); ++s) {
      plan::Step* step = tree[s].step;
      for_each_view(*step, [&](plan::View& view, bool writes) {
        accesses_[static_cast<size_t>(view.buffer())].push_back({step, &view, writes});
      });
    }
  }

  void run() {
    for (int storage = 0; storage < storages_.size(); ++storage)
      if (storages_[storage].kind == plan::Buffer::ARENA) visit(storage);
  }

 private:
  void visit(int storage) {
    const std::vector<Access>& accesses = accesses_[static_cast<size_t>(storage)];
    if (accesses.size() < 2 || !accesses[0].writes || !accesses[0].step->has_dot()) return;
    for (size_t a = 1; a < accesses.size(); ++a)
      if (accesses[a].writes || !accesses[a].step->has_elementwise()) return;
    const int64_t count = storages_[storage].bytes / plan::byte_size(accesses[0].view->dtype());
    std::optional<std::vector<Factor>> factors;
    for (size_t a = 1; a < accesses.size() && !factors; ++a) {
      const Dims shape = plan::view_shape(*accesses[a].step, *accesses[a].view);
      if (is_row_major(*accesses[a].view, shape)) return;
      if (writes_densely(*accesses[a].step)) factors = factors_of(*accesses[a].view, shape, count);
    }
    if (!factors) return;
    std::vector<Dims> moved;
    for (const Access& access : accesses) {
      const auto strides =
          moved_strides(*access.view, plan::view_shape(*access.step, *access.view), *factors);
      if (!strides || access.view->dtype() != accesses[0].view->dtype()) return;
      moved.push_back(*strides);
    }
    for (size_t a = 0; a < accesses.size(); ++a)
      accesses[a].view->mutable_strides()->Assign(moved[a].begin(), moved[a].end());
  }

  // Whether the step's first output is in the order of its shape, so that its kernel runs so.
  static bool writes_densely(const plan::Step& step) {
    return is_row_major(step.elementwise().outputs(0), plan::dims_of(step.elementwise().shape()));
  }

  const StorageTable& storages_;
  std::vector<std::vector<Access>> accesses_;  // by storage, in order
};

}  // namespace

void lay_out_products(plan::Sequence& body, const StorageTable& storages) {
  ProductLayouter(body, storages).run();
}

}  // namespace spmd::codegen
