// What the user says about a program beyond its file: only ONNX models leave anything open.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/literal.h"
#include "support/error.h"

namespace spmd {

// Strings are only ever constants.
struct StringTensor {
  Dims shape;
  std::vector<std::string> elements;  // row-major
};

struct ImportOptions {
  // Sizes of symbolic dimensions, by their name; a dimension without a name is "input[axis]", the
  // length of an input that is a sequence "input[]", and whether an optional input is there
  // "input?".
  std::map<std::string, int64_t, std::less<>> dims;
  // Shapes of inputs, by name; they also give symbolic dimensions their sizes.
  std::map<std::string, Dims, std::less<>> shapes;
  // Inputs that the program is compiled for, by name: they become constants. What decides a shape
  // (a Reshape's shape, a Slice's ends, the condition of a Compress) must be known here.
  std::map<std::string, Literal, std::less<>> inputs;
  std::map<std::string, StringTensor, std::less<>> strings;  // the same of string tensors
  // Where external data lies; empty: beside the file that is read.
  std::string folder;
};

// A value that has to be known when the program is compiled and depends on graph inputs.
class UnknownValue : public UserError {
 public:
  UnknownValue(std::string_view place, std::string_view fact, std::string_view remedy,
               std::vector<std::string> inputs)
      : UserError(place, fact, remedy), inputs_(std::move(inputs)) {}
  // Names of the inputs it depends on, to be given as ImportOptions::inputs.
  const std::vector<std::string>& inputs() const { return inputs_; }

 private:
  std::vector<std::string> inputs_;
};

// "name=size", or "input=[size,size]" for an input's whole shape. Throws UserError; --set-dim is
// what the text came from.
void set_dim(ImportOptions& options, std::string_view text);

// "name=value" with a value such as 5, -1.5, true, [2,3] or [[1,2],[3,4]]: integers i64, others
// f32; converted to the input's type when the model is read. Throws UserError; --set-input
// NAME=VALUE is what the text came from.
void set_input(ImportOptions& options, std::string_view text);

// Both, of every text.
ImportOptions parse_import_options(const std::vector<std::string>& dims,
                                   const std::vector<std::string>& inputs);

}  // namespace spmd
