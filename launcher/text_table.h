// Tables for terminals: columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace spmd {

class TextTable {
 public:
  // Columns whose title begins with ">" are set to the right.
  explicit TextTable(std::vector<std::string> titles);
  void add(std::vector<std::string> cells);
  size_t rows() const { return rows_.size(); }
  // Indented lines. At most `limit` rows, 0: all; a last line counts those left out.
  std::string to_string(size_t limit = 0) const;

 private:
  std::vector<bool> right_;
  std::vector<std::string> titles_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace spmd
