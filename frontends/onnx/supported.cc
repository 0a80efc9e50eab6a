// The table of ops, and a list at once of all that a model contains and we have no meaning for.
#include <map>
#include <set>
#include <unordered_map>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/ops.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

constexpr size_t kMaxListed = 40;

using Table = std::unordered_map<std::string, std::vector<const OpHandler*>>;  // by "domain:name"

const Table& table() {
  static const Table ops = [] {
    Table all;
    for (const auto& handlers : {activation_ops(),
                                 attention_ops(),
                                 contraction_ops(),
                                 control_flow_ops(),
                                 convolution_ops(),
                                 creation_ops(),
                                 data_dependent_ops(),
                                 elementwise_ops(),
                                 image_ops(),
                                 indexing_ops(),
                                 linalg_ops(),
                                 loss_ops(),
                                 microsoft_ops(),
                                 microsoft_attention_ops(),
                                 microsoft_group_query_ops(),
                                 microsoft_quantization_ops(),
                                 normalization_ops(),
                                 optimizer_ops(),
                                 ordering_ops(),
                                 padding_ops(),
                                 quantization_ops(),
                                 random_ops(),
                                 recurrent_ops(),
                                 reduction_ops(),
                                 resize_ops(),
                                 scan_ops(),
                                 sequence_ops(),
                                 shape_ops(),
                                 signal_ops(),
                                 text_ops(),
                                 window_ops()}) {
      for (const OpHandler& handler : handlers) {
        all[fmt::format("{}:{}", handler.domain, handler.name)].push_back(&handler);
      }
    }
    return all;
  }();
  return ops;
}

struct Finding {
  int64_t count = 0;
  std::string first;
};

class Search {
 public:
  explicit Search(const Functions& functions) : functions_(functions) {}

  void visit(const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
             const std::map<std::string, int, std::less<>>& opsets, int depth) {
    if (depth > kMaxDepth) return;  // said when it is read
    for (const NodeProto& node : nodes) {
      visit(node, opsets);
      for (const AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) visit(attribute.g().node(), opsets, depth + 1);
      }
      const FunctionProto* function = functions_.find(node);
      if (function != nullptr && seen_.insert(function).second) {
        visit(function->node(), opsets_of(function->opset_import()), depth + 1);
      }
    }
  }

  // Ordered, so that messages are the same every time.
  std::map<std::string, Finding> findings;

 private:
  void visit(const NodeProto& node, const std::map<std::string, int, std::less<>>& opsets) {
    if (functions_.find(node) != nullptr) return;
    const std::string domain(domain_of(node.domain()));
    const auto opset = opsets.find(domain);
    const int version = opset == opsets.end() ? 1 : opset->second;
    if (find_op(domain, node.op_type(), version) != nullptr) return;
    Finding& finding = findings[domain.empty() ? node.op_type() : domain + ":" + node.op_type()];
    if (finding.count++ > 0) return;
    finding.first = node.name();
    if (finding.first.empty() && node.output_size() > 0) finding.first = node.output(0);
  }

  const Functions& functions_;
  std::set<const FunctionProto*> seen_;
};

}  // namespace

const OpHandler* find_op(std::string_view domain, std::string_view name, int opset) {
  const auto found = table().find(fmt::format("{}:{}", domain, name));
  if (found == table().end()) return nullptr;
  const OpHandler* best = nullptr;
  for (const OpHandler* handler : found->second) {
    if (handler->since > opset) continue;
    if (best == nullptr || handler->since > best->since) best = handler;
  }
  return best;
}

void check_supported(const ModelProto& model, const Functions& functions,
                     const std::string& source) {
  Search search(functions);
  search.visit(model.graph().node(), opsets_of(model.opset_import()), 0);
  if (search.findings.empty()) return;
  const size_t count = search.findings.size();
  std::string fact = fmt::format("{} kind{} of op {} not supported:", count, count == 1 ? "" : "s",
                                 count == 1 ? "is" : "are");
  size_t listed = 0;
  for (const auto& [what, finding] : search.findings) {
    if (listed++ == kMaxListed) {
      fact += fmt::format("\n  and {} more", count - kMaxListed);
      break;
    }
    fact += fmt::format("\n  {} ({}x, first node \"{}\")", what, finding.count, finding.first);
  }
  throw UserError(source, fact, "export the model without them");
}

}  // namespace spmd::onnx
