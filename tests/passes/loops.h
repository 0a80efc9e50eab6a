// A counted loop for tests.
#pragma once

#include <string>

namespace spmd::testing {

// A function body with a loop of `trips` iterations over a counter %i and carries; `carries` are
// "%name = %init", `types` their types, `body` computes what `next` returns for them. The loop's
// results are %loop#1, ... in the order of the carries.
inline std::string counted_loop(int trips, const std::string& carries, const std::string& types,
                                const std::string& body, const std::string& next, size_t count) {
  return "%start = stablehlo.constant dense<0> : tensor<i32>\n%loop:" + std::to_string(count + 1) +
         " = stablehlo.while(%i = %start, " + carries + ") : tensor<i32>, " + types +
         "\ncond {\n%limit = stablehlo.constant dense<" + std::to_string(trips) +
         "> : tensor<i32>\n%go = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, "
         "tensor<i32>) -> tensor<i1>\nstablehlo.return %go : tensor<i1>\n} do {\n%one = "
         "stablehlo.constant dense<1> : tensor<i32>\n%next = stablehlo.add %i, %one : "
         "tensor<i32>\n" +
         body + "\nstablehlo.return %next, " + next + " : tensor<i32>, " + types + "\n}\n";
}

}  // namespace spmd::testing
