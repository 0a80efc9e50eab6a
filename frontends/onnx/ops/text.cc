// Text: strings are constants, and n-grams are counted in integers.
#include <algorithm>
#include <cctype>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

// Case folding and removal of stop words, of strings that are known. Beyond ASCII, letters stay.
void string_normalizer(Node& node) {
  const Value value = node.value(0);
  node.require(value.kind == Value::Kind::kStrings, "its input is no tensor of strings");
  const std::string action = node.text("case_change_action", "NONE");
  const bool sensitive = node.flag("is_case_sensitive", false);
  const auto changed = [](std::string text, int (*change)(int)) {
    for (char& c : text) {
      if (static_cast<unsigned char>(c) < 0x80) c = static_cast<char>(change(c));
    }
    return text;
  };
  const auto key = [&](const std::string& text) {
    return sensitive ? text : changed(text, std::tolower);
  };
  std::vector<std::string> stop;
  for (const std::string& word : node.texts("stopwords")) stop.push_back(key(word));
  StringTensor result = *value.strings;
  node.require(!result.shape.empty(), "its input is a scalar");
  std::erase_if(result.elements, [&](const std::string& word) {
    return std::find(stop.begin(), stop.end(), key(word)) != stop.end();
  });
  for (std::string& word : result.elements) {
    if (action == "LOWER") word = changed(word, std::tolower);
    if (action == "UPPER") word = changed(word, std::toupper);
  }
  if (result.elements.empty()) result.elements.emplace_back();
  result.shape.back() = static_cast<int64_t>(result.elements.size());
  node.set(0, Value::of(std::move(result)));
}

// ---- TfIdfVectorizer, of integers

struct Pool {
  std::vector<Dims> grams;
  Dims columns;  // of the result, one per gram
};

// The n-grams of the pool: first all 1-grams, then all 2-grams, ...; `starts` says where each kind
// begins.
Pool pool_of(Node& node) {
  const Dims items = node.integers("pool_int64s").value_or(Dims{});
  const Dims starts = node.integers("ngram_counts").value_or(Dims{});
  Pool pool;
  pool.columns = node.integers("ngram_indexes").value_or(Dims{});
  const auto count = static_cast<int64_t>(items.size());
  for (size_t n = 0; n < starts.size(); ++n) {
    const int64_t end = n + 1 < starts.size() ? starts[n + 1] : count;
    const auto length = static_cast<int64_t>(n) + 1;
    node.require(
        starts[n] >= 0 && starts[n] <= end && end <= count && (end - starts[n]) % length == 0,
        "its attribute ngram_counts does not fit its pool");
    for (int64_t at = starts[n]; at < end; at += length) {
      pool.grams.emplace_back(items.begin() + at, items.begin() + at + length);
    }
  }
  node.require(pool.grams.size() == pool.columns.size(), "it has not one index per n-gram");
  return pool;
}

// How often `gram` occurs along the last dimension of x [rows, length], its items `distance` apart:
// [rows].
Expr occurrences(const Expr& x, const Dims& gram, int64_t distance) {
  const int64_t span = (static_cast<int64_t>(gram.size()) - 1) * distance + 1;
  if (span > x.dim(1)) return splat(x.writer(), {DType::kF32, {x.dim(0)}}, 0);
  const int64_t starts = x.dim(1) - span + 1;
  Expr matches;
  for (size_t i = 0; i < gram.size(); ++i) {
    const int64_t from = static_cast<int64_t>(i) * distance;
    const Expr here = slice_dim(x, 1, from, from + starts);
    const int64_t wanted = gram[i];
    const Expr item = constant(
        x.writer(), Literal::splat({DType::kS64, here.shape()}, static_cast<const void*>(&wanted)));
    const Expr match = equal(here, item);
    matches = matches ? matches & match : match;
  }
  return sum(convert(matches, DType::kF32), {1});
}

void tf_idf_vectorizer(Node& node) {
  if (node.value(0).kind == Value::Kind::kStrings || node.has_attribute("pool_strings")) {
    node.unsupported("an n-gram of strings");
  }
  const Expr x = convert(node.in(0), DType::kS64);
  node.require(x.rank() == 1 || x.rank() == 2, "its input has neither one nor two dimensions");
  const Expr rows = x.rank() == 1 ? unsqueeze(x, 0) : x;
  const Pool pool = pool_of(node);
  const int64_t shortest = node.integer("min_gram_length"),
                longest = node.integer("max_gram_length");
  const int64_t skips = node.integer("max_skip_count");
  node.require(skips >= 0 && skips < 1024, "its attribute max_skip_count is out of range");
  int64_t columns = 0;
  for (int64_t column : pool.columns) {
    node.require(column >= 0 && column < (1 << 20), "an index of its n-grams is out of range");
    columns = std::max(columns, column + 1);
  }
  std::vector<Expr> counts(static_cast<size_t>(columns),
                           splat(node.writer(), {DType::kF32, {rows.dim(0)}}, 0));
  std::vector<double> weights(static_cast<size_t>(columns), 1);
  const auto given = node.numbers("weights");
  node.require(!given || given->size() == pool.grams.size(), "it has not one weight per n-gram");
  for (size_t g = 0; g < pool.grams.size(); ++g) {
    const auto length = static_cast<int64_t>(pool.grams[g].size());
    const auto column = static_cast<size_t>(pool.columns[g]);
    if (given) weights[column] = (*given)[g];
    if (length < shortest || length > longest) continue;
    // Single items have no distance between them.
    for (int64_t distance = 1; distance <= (length == 1 ? 1 : skips + 1); ++distance) {
      counts[column] = counts[column] + occurrences(rows, pool.grams[g], distance);
    }
  }
  const std::string mode = node.text("mode", "");
  node.require(mode == "TF" || mode == "IDF" || mode == "TFIDF", "its attribute mode is unknown");
  std::vector<Expr> parts;
  for (size_t c = 0; c < counts.size(); ++c) {
    Expr value = counts[c];
    if (mode == "IDF") value = select(greater(value, 0.0), splat_like(value, weights[c]), 0.0);
    if (mode == "TFIDF") value = value * weights[c];
    parts.push_back(unsqueeze(value, 1));
  }
  node.require(!parts.empty(), "its pool is empty");
  const Expr result = concatenate(parts, 1);
  node.set(0, x.rank() == 1 ? squeeze(result, 0) : result);
}

}  // namespace

std::span<const OpHandler> text_ops() {
  static constexpr OpHandler kOps[] = {
      {"StringNormalizer", string_normalizer, Accepts::kAnything},
      {"TfIdfVectorizer", tf_idf_vectorizer, Accepts::kAnything},
  };
  return kOps;
}

}  // namespace spmd::onnx
