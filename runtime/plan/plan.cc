#include "runtime/plan/plan.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <climits>

#include "runtime/plan/checksum.h"
#include "support/error.h"
#include "support/schema_header.h"

namespace spmd::plan {
namespace {

constexpr Schema kSchema = {kPlanMagic,
                            kReaderVersion,
                            kPlanVersion,
                            "plan",
                            "a file written by --save-plan",
                            "compile the program again"};

}  // namespace

std::string serialize_plan(const Plan& plan) {
  Plan stamped = plan;
  stamped.set_magic(kPlanMagic);
  stamped.set_version(kPlanVersion);
  stamped.set_reader_version(kReaderVersion);
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    if (!stamped.SerializeToCodedStream(&out))
      throw UserError("plan", "larger than 2 GiB when serialised",
                      "pass large constants of the program as arguments");
  }
  append_checksum(bytes);
  return bytes;
}

Plan parse_plan(std::string_view bytes, const std::string& source) {
  check_schema_header(bytes, kSchema, source);
  if (bytes.size() > INT_MAX)
    throw UserError(source, "a plan larger than 2 GiB",
                    "compile it again with large constants of the program as arguments");
  bytes = without_checksum(bytes, source);
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  in.SetTotalBytesLimit(INT_MAX);
  const google::protobuf::LogSilencer silence;  // the message below says it
  Plan plan;
  if (!plan.ParseFromCodedStream(&in) || !in.ConsumedEntireMessage())
    throw UserError(source, "the plan is truncated or damaged", "write it again");
  verify_plan(plan, source);
  return plan;
}

std::optional<RankPairs> pairs_of(const Collective& permute) {
  RankPairs result;
  for (const Collective::Pairs& pairs : permute.pairs()) {
    const RankPairs::Run run{pairs.source(), pairs.target(), pairs.count(), pairs.source_step(),
                             pairs.target_step()};
    if (!run.is_sound()) return std::nullopt;
    result.append(run);
  }
  return result;
}

std::string_view kind_name(Collective::Kind kind) {
  switch (kind) {
    case Collective::ALL_GATHER:
      return "all_gather";
    case Collective::ALL_REDUCE:
      return "all_reduce";
    case Collective::REDUCE_SCATTER:
      return "reduce_scatter";
    case Collective::ALL_TO_ALL:
      return "all_to_all";
    case Collective::PERMUTE:
      return "permute";
    default:
      return "collective";
  }
}

std::string argument_name(const Plan& plan, int index) {
  const std::string& name = plan.arguments(index).name();
  return name.empty() ? fmt::format("argument {}", index) : name;
}

std::string_view kind_name(const Step& step) {
  switch (step.kind_case()) {
    case Step::kElementwise:
      return "elementwise";
    case Step::kReduce:
      return "reduce";
    case Step::kDot:
      return "dot";
    case Step::kConvolution:
      return "convolution";
    case Step::kGather:
      return "gather";
    case Step::kScatter:
      return "scatter";
    case Step::kDynamicSlice:
      return "dynamic_slice";
    case Step::kDynamicUpdateSlice:
      return "dynamic_update_slice";
    case Step::kReduceWindow:
      return "reduce_window";
    case Step::kSelectAndScatter:
      return "select_and_scatter";
    case Step::kSort:
      return "sort";
    case Step::kRngBitGenerator:
      return "rng_bit_generator";
    case Step::kAxisIndex:
      return "axis_index";
    case Step::kCollective:
      return kind_name(step.collective().kind());
    case Step::kWhile:
      return "while";
    case Step::kBranch:
      return "branch";
    case Step::kTopK:
      return "top_k";
    case Step::kFft:
      return "fft";
    case Step::kCholesky:
      return "cholesky";
    case Step::kTriangularSolve:
      return "triangular_solve";
    case Step::kFused:
      return "fused";
    case Step::kGrouped:
      return "grouped";
    case Step::kAttention:
      return "attention";
    case Step::kAttentionBackward:
      return "attention_backward";
    case Step::KIND_NOT_SET:
      break;
  }
  return "empty step";
}

}  // namespace spmd::plan
