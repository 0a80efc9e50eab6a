#include "runtime/collective_step.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "runtime/placement.h"
#include "sharding/spec/axis_names.h"
#include "support/error.h"

namespace spmd {
namespace {

using Clock = std::chrono::steady_clock;
using plan::Collective;

comm::Reduction reduction_of(plan::ScalarOp op) {
  switch (op) {
    case plan::MULTIPLY:
      return comm::Reduction::kProduct;
    case plan::MAXIMUM:
      return comm::Reduction::kMax;
    case plan::MINIMUM:
      return comm::Reduction::kMin;
    case plan::AND:
      return comm::Reduction::kAnd;
    case plan::OR:
      return comm::Reduction::kOr;
    default:
      return comm::Reduction::kSum;
  }
}

// plan.proto's types but INVALID, in the same order.
comm::Element element_of(plan::DType dtype) {
  static_assert(static_cast<int>(comm::Element::kC128) == plan::C128 - 1);
  static_assert(static_cast<int>(comm::Element::kF8E8M0FNU) == plan::F8E8M0FNU - 1);
  static_assert(static_cast<int>(comm::Element::kF32) == plan::F32 - 1);
  static_assert(static_cast<int>(comm::Element::kU4) == plan::U4 - 1);
  return static_cast<comm::Element>(static_cast<int>(dtype) - 1);
}

// A dense tensor seen as [outer][members][piece]: member i's block is the pieces at i, outer of
// them one after the other.
struct Blocks {
  int64_t outer = 1, members = 1, piece_bytes = 0;

  int64_t block_bytes() const { return outer * piece_bytes; }
  // Whether blocks are consecutive already.
  bool is_plain() const { return outer == 1 || members == 1; }

  // `stride`: from one member's block to the next in the message.
  void pack(Transport& transport, const std::byte* tensor, std::byte* message,
            int64_t stride) const {
    for (int64_t m = 0; m < members; ++m)
      transport.copy_rows(message + m * stride, piece_bytes, tensor + m * piece_bytes,
                          members * piece_bytes, piece_bytes, outer);
  }
  void unpack(Transport& transport, const std::byte* message, std::byte* tensor,
              int64_t stride) const {
    for (int64_t m = 0; m < members; ++m)
      transport.copy_rows(tensor + m * piece_bytes, members * piece_bytes, message + m * stride,
                          piece_bytes, piece_bytes, outer);
  }
};

// The blocks of `view`, which is cut into `members` along `dim`; whole when members is 1.
Blocks cut(const plan::View& view, int64_t dim, int64_t members) {
  Blocks blocks;
  const int64_t bytes = plan::element_count(view.shape()) * plan::byte_size(view.dtype());
  blocks.members = members;
  if (members > 1)
    for (int d = 0; d < dim; ++d) blocks.outer *= view.shape(d);
  const int64_t pieces = blocks.outer * members;
  blocks.piece_bytes = pieces == 0 ? 0 : bytes / pieces;
  return blocks;
}

struct Part {
  BoundView in, out;
  Blocks in_blocks, out_blocks;
  int64_t offset = 0;  // within a block of the message
};

// Tensors that travel in one call.
struct Message {
  std::vector<Part> parts;
  int64_t block_bytes = 0;  // per member
  // Whether the one part is sent from, received in, where it lies. Where it is not: the places in
  // the memory for messages.
  bool direct_in = false, direct_out = false;
  int64_t in_offset = 0, out_offset = 0;
};

// Tensors of one transport: all of them, or those of one type when they are reduced. One message,
// or one each where the transport joins calls.
struct Bundle {
  std::vector<Message> messages;
  plan::DType dtype = plan::INVALID;
  std::unique_ptr<Transport> transport;
};

bool overlap(const plan::Plan& plan, const plan::View& a, const plan::View& b) {
  if (a.buffer() == b.buffer()) return true;
  const plan::Buffer& x = plan.buffers(a.buffer());
  const plan::Buffer& y = plan.buffers(b.buffer());
  return x.kind() == plan::Buffer::ARENA && y.kind() == plan::Buffer::ARENA &&
         x.offset() < y.offset() + y.bytes() && y.offset() < x.offset() + x.bytes();
}

bool reduces(Collective::Kind kind) {
  return kind == Collective::ALL_REDUCE || kind == Collective::REDUCE_SCATTER;
}

TransportNeeds needs_of(const Collective& collective, plan::DType dtype) {
  TransportNeeds needs;
  needs.reduces = reduces(collective.kind());
  if (!needs.reduces) return needs;
  needs.element = element_of(dtype);
  needs.reduction = reduction_of(collective.reduction());
  return needs;
}

class CollectiveKernel : public Kernel {
 public:
  // Without a device, tensors are in host memory.
  CollectiveKernel(const plan::Step& step, const plan::Plan& plan, const Mesh& mesh,
                   comm::Communicator& communicator, Device* device, CollectiveRecord* record,
                   LoadContext& context)
      : communicator_(communicator),
        is_on_host_(device == nullptr),
        op_(step.op()),
        kind_(step.collective().kind()),
        reduction_(reduction_of(step.collective().reduction())),
        record_(record) {
    const Collective& collective = step.collective();
    find_group(collective, mesh);
    make_bundles(collective, plan, device);
    record->kind = plan::kind_name(kind_);
    record->axes = axis_names(axes_of(collective.axes()), mesh);
    record->op = op_;
    int64_t bytes = 0;
    for (Bundle& bundle : bundles_) bytes = std::max(bytes, place_messages(bundle));
    context.need_messages(bytes);
  }

  void run(const RunContext& context) override {
    const Clock::time_point begin = Clock::now();
    for (const Bundle& bundle : bundles_) run_bundle(bundle, context);
    ++record_->calls;
    record_->bytes += bytes_sent();
    if (!is_on_host_) return;  // the device knows how long it took
    const double milliseconds =
        std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    record_->milliseconds += milliseconds;
    record_->exposed_ms += milliseconds;
  }

 private:
  static int64_t align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  // Blocks in the message that this rank gives and gets.
  int64_t in_members() const {
    return kind_ == Collective::REDUCE_SCATTER || kind_ == Collective::ALL_TO_ALL ? group_->size()
                                                                                  : 1;
  }
  int64_t out_members() const {
    return kind_ == Collective::ALL_GATHER || kind_ == Collective::ALL_TO_ALL ? group_->size() : 1;
  }

  // Returns the memory that the messages of a bundle need.
  int64_t place_messages(Bundle& bundle) const {
    int64_t bytes = 0;
    for (Message& message : bundle.messages) {
      message.in_offset = bytes;
      if (!message.direct_in) bytes += align(message.block_bytes * in_members());
      message.out_offset = bytes;
      if (!message.direct_out) bytes += align(message.block_bytes * out_members());
    }
    return bytes;
  }

  void find_group(const Collective& collective, const Mesh& mesh) {
    const int rank = communicator_.rank();
    std::vector<int64_t> members;
    if (collective.groups_size() > 0) {
      for (const Collective::Group& group : collective.groups())
        for (int64_t device : group.devices())
          if (device == rank) members = {group.devices().begin(), group.devices().end()};
    } else if (collective.axes().axes_size() == 0 && kind_ == Collective::PERMUTE) {
      for (int64_t device = 0; device < mesh.num_devices(); ++device) members.push_back(device);
    } else {
      members = group_of(rank, axes_of(collective.axes()), mesh);
    }
    group_ = &communicator_.group({members.begin(), members.end()});
    const RankPairs pairs = *plan::pairs_of(collective);
    if (const auto source = pairs.source_of(group_->index())) source_ = static_cast<int>(*source);
    if (const auto target = pairs.target_of(group_->index())) target_ = static_cast<int>(*target);
  }

  void make_bundles(const Collective& collective, const plan::Plan& plan, Device* device) {
    std::map<int, Bundle> by_type;  // ordered, the same on all ranks
    for (const Collective::Part& step : collective.parts()) {
      const plan::DType dtype = step.in().dtype();
      const auto [found, is_first] = by_type.try_emplace(reduces(kind_) ? dtype : 0);
      Bundle& bundle = found->second;
      if (is_first) open_bundle(bundle, collective, dtype, device);
      if (bundle.messages.empty() || bundle.transport->joins_calls())
        bundle.messages.emplace_back();
      add(bundle.messages.back(), step, plan);
    }
    for (auto& [type, bundle] : by_type) bundles_.push_back(std::move(bundle));
  }

  void open_bundle(Bundle& bundle, const Collective& collective, plan::DType dtype,
                   Device* device) const {
    if (reduces(kind_) && !comm::is_defined(reduction_, element_of(dtype)))
      throw UserError(op_, fmt::format("no reduction of {} by {}", plan::dtype_name(dtype),
                                       plan::ScalarOp_Name(collective.reduction())));
    const TransportNeeds needs = needs_of(collective, dtype);
    bundle.dtype = dtype;
    bundle.transport = device ? device->connect(*group_, needs, op_)
                              : make_host_transport(communicator_, *group_, needs, op_);
  }

  void add(Message& message, const Collective::Part& step, const plan::Plan& plan) const {
    Part part;
    part.in = BoundView(step.in());
    part.out = BoundView(step.out());
    part.in_blocks = cut(step.in(), step.dim(), in_members());
    part.out_blocks =
        cut(step.out(), kind_ == Collective::ALL_TO_ALL ? step.concat_dim() : step.dim(),
            out_members());
    part.offset = message.block_bytes;
    message.block_bytes += part.in_blocks.block_bytes();
    const bool separate = kind_ == Collective::ALL_REDUCE || !overlap(plan, step.in(), step.out());
    const bool is_only = message.parts.empty();
    message.direct_in = is_only && part.in_blocks.is_plain() && separate;
    message.direct_out = is_only && part.out_blocks.is_plain() && separate;
    message.parts.push_back(std::move(part));
  }

  // Packs all messages, sends them, and unpacks them.
  void run_bundle(const Bundle& bundle, const RunContext& context) {
    for (const Message& message : bundle.messages)
      if (!message.direct_in)
        for (const Part& part : message.parts)
          part.in_blocks.pack(*bundle.transport, part.in.data(context),
                              context.messages + message.in_offset + part.offset,
                              message.block_bytes);
    if (bundle.messages.size() > 1) bundle.transport->start_group();
    for (const Message& message : bundle.messages)
      if (message.block_bytes > 0) call(bundle, message, context);
    if (bundle.messages.size() > 1) bundle.transport->end_group();
    for (const Message& message : bundle.messages)
      if (!message.direct_out)
        for (const Part& part : message.parts)
          part.out_blocks.unpack(*bundle.transport,
                                 context.messages + message.out_offset + part.offset,
                                 part.out.data(context), message.block_bytes);
  }

  void call(const Bundle& bundle, const Message& message, const RunContext& context) {
    const Part& only = message.parts[0];
    const std::byte* in =
        message.direct_in ? only.in.data(context) : context.messages + message.in_offset;
    std::byte* out =
        message.direct_out ? only.out.data(context) : context.messages + message.out_offset;
    const int64_t bytes = message.block_bytes;
    const int64_t count = bytes / plan::byte_size(bundle.dtype);
    switch (kind_) {
      case Collective::ALL_GATHER:
        return bundle.transport->all_gather(in, out, bytes);
      case Collective::ALL_REDUCE:
        return bundle.transport->all_reduce(in, out, count);
      case Collective::REDUCE_SCATTER:
        return bundle.transport->reduce_scatter(in, out, count);
      case Collective::ALL_TO_ALL:
        return bundle.transport->all_to_all(in, out, bytes);
      default:
        if (source_ < 0) bundle.transport->zero(out, bytes);
        return bundle.transport->permute(in, out, bytes, source_, target_);
    }
  }

  // As the Plan's statistics count.
  int64_t bytes_sent() const {
    int64_t block = 0;
    for (const Bundle& bundle : bundles_)
      for (const Message& message : bundle.messages) block += message.block_bytes;
    const int64_t others = group_->size() - 1, n = group_->size();
    switch (kind_) {
      case Collective::ALL_REDUCE:
        return 2 * block * others / n;
      case Collective::PERMUTE:
        return target_ >= 0 ? block : 0;
      default:
        return block * others;
    }
  }

  comm::Communicator& communicator_;
  bool is_on_host_;
  std::string op_;
  Collective::Kind kind_;
  comm::Reduction reduction_;
  CollectiveRecord* record_;
  comm::Group* group_ = nullptr;
  int source_ = -1, target_ = -1;
  std::vector<Bundle> bundles_;
};

}  // namespace

KernelPtr make_collective(const plan::Step& step, const plan::Plan& plan, const Mesh& mesh,
                          comm::Communicator& communicator, Device& device,
                          CollectiveRecord* record, LoadContext& context) {
  const Collective& collective = step.collective();
  const bool on_device = std::all_of(
      collective.parts().begin(), collective.parts().end(), [&](const Collective::Part& part) {
        return device.connects(needs_of(collective, part.in().dtype()));
      });
  if (on_device)
    return device.in_order(step,
                           std::make_unique<CollectiveKernel>(step, plan, mesh, communicator,
                                                              &device, record, context),
                           record);
  LoadContext host;
  KernelPtr kernel =
      std::make_unique<CollectiveKernel>(step, plan, mesh, communicator, nullptr, record, host);
  return device.in_order(
      step, device.from_host(step, std::move(kernel), host.message_bytes, context), nullptr);
}

}  // namespace spmd
