#include "launcher/text_table.h"

#include <algorithm>

#include "support/error.h"

namespace spmd {

TextTable::TextTable(std::vector<std::string> titles) : titles_(std::move(titles)) {
  for (std::string& title : titles_) {
    right_.push_back(title.rfind('>', 0) == 0);
    if (right_.back()) title.erase(0, 1);
  }
}

void TextTable::add(std::vector<std::string> cells) {
  SPMD_CHECK(cells.size() == titles_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::to_string(size_t limit) const {
  const size_t shown = limit == 0 ? rows_.size() : std::min(limit, rows_.size());
  std::vector<size_t> widths;
  for (size_t c = 0; c < titles_.size(); ++c) {
    widths.push_back(titles_[c].size());
    for (size_t r = 0; r < shown; ++r) widths[c] = std::max(widths[c], rows_[r][c].size());
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t c = 0; c < cells.size(); ++c) {
      const char* format = right_[c] ? "  {:>{}}" : "  {:<{}}";
      line += fmt::format(fmt::runtime(format), cells[c], widths[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_line(titles_);
  for (size_t r = 0; r < shown; ++r) add_line(rows_[r]);
  if (shown < rows_.size()) text += fmt::format("  ... and {} more\n", rows_.size() - shown);
  return text;
}

}  // namespace spmd
