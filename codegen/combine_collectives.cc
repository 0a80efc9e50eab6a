#include "codegen/combine_collectives.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/step_tree.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/plan.h"

namespace spmd::codegen {

std::string signature(const plan::Collective& collective) {
  plan::Collective common;
  common.set_kind(collective.kind());
  common.set_reduction(collective.reduction());
  *common.mutable_axes() = collective.axes();
  *common.mutable_groups() = collective.groups();
  *common.mutable_pairs() = collective.pairs();
  std::string text = common.SerializeAsString();
  const bool reduces = collective.kind() == plan::Collective::ALL_REDUCE ||
                       collective.kind() == plan::Collective::REDUCE_SCATTER;
  if (reduces) text += static_cast<char>(collective.parts(0).in().dtype());
  return text;
}

int64_t input_bytes(const plan::Collective& collective) {
  int64_t bytes = 0;
  for (const plan::Collective::Part& part : collective.parts())
    bytes += plan::element_count(part.in().shape()) * plan::byte_size(part.in().dtype());
  return bytes;
}

namespace {

class Combiner {
 public:
  Combiner(plan::Sequence& sequence, int64_t byte_limit)
      : sequence_(sequence), steps_(*sequence.mutable_steps()), byte_limit_(byte_limit) {}

  void run() {
    for (int i = 0; i < steps_.size(); ++i) {
      plan::Step& step = steps_[i];
      const std::vector<plan::Sequence*> inner = sequences_of(step);
      if (!inner.empty()) {
        forget_all();
        for (plan::Sequence* sequence : inner) combine_collectives(*sequence, byte_limit_);
        continue;
      }
      forget_conflicting(step);
      if (step.has_collective()) take(i);
    }
    drop_empty_steps(sequence_);
  }

 private:
  struct Bucket {
    int last = -1;  // the step that has the parts of all members
    int64_t bytes = 0;
    std::vector<int> outputs;
  };

  void take(int i) {
    plan::Collective& collective = *steps_[i].mutable_collective();
    const int64_t bytes = input_bytes(collective);
    const std::string key = signature(collective);
    auto found = buckets_.find(key);
    if (found != buckets_.end() && found->second.bytes + bytes > byte_limit_) {
      forget(found);
      found = buckets_.end();
    }
    Bucket& bucket = found == buckets_.end() ? buckets_[key] : found->second;
    if (bucket.last >= 0) prepend(steps_[bucket.last], steps_[i]);
    bucket.last = i;
    bucket.bytes += bytes;
    for (const plan::Collective::Part& part : collective.parts()) {
      if (owner_.emplace(part.out().buffer(), key).second)
        bucket.outputs.push_back(part.out().buffer());
    }
  }

  // Moves the parts of `earlier` before those of `later`, and leaves it empty.
  static void prepend(plan::Step& earlier, plan::Step& later) {
    auto& into = *later.mutable_collective()->mutable_parts();
    auto& from = *earlier.mutable_collective()->mutable_parts();
    from.MergeFrom(into);
    into.Swap(&from);
    later.set_op(earlier.op());
    earlier.clear_kind();
  }

  void forget(std::unordered_map<std::string, Bucket>::iterator bucket) {
    for (int output : bucket->second.outputs) owner_.erase(output);
    buckets_.erase(bucket);
  }
  void forget_all() {
    buckets_.clear();
    owner_.clear();
  }

  // A call that others were to join must not be delayed beyond a step that needs it.
  void forget_conflicting(plan::Step& step) {
    for_each_view(step, [&](plan::View& view, bool) {
      const auto owner = owner_.find(view.buffer());
      if (owner != owner_.end()) forget(buckets_.find(owner->second));
    });
  }

  plan::Sequence& sequence_;
  google::protobuf::RepeatedPtrField<plan::Step>& steps_;
  int64_t byte_limit_;
  std::unordered_map<std::string, Bucket> buckets_;
  std::unordered_map<int, std::string> owner_;  // of outputs
};

}  // namespace

void combine_collectives(plan::Sequence& sequence, int64_t byte_limit) {
  Combiner(sequence, byte_limit).run();
}

}  // namespace spmd::codegen
