# Language level, warnings, math flags, sanitizers and build speed. Applies to everything we compile.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "spmd needs g++ 12 or newer (found ${CMAKE_CXX_COMPILER_VERSION})")
endif()

# Without a preset or an explicit type, build what users run.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()
# NDEBUG is never defined: asserts guard our invariants in every build type.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")

option(SPMD_WERROR "Treat warnings as errors" OFF)
add_compile_options(
  -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
  -Wnon-virtual-dtor -Woverloaded-virtual
  -Werror=switch -Werror=return-type  # an op that a family's switch forgets must not compile
  $<$<BOOL:${SPMD_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of g++ 12 and 13 on std::string, std::optional and std::vector when optimising.
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow
                      -Wno-array-bounds -Wno-dangling-pointer -Wno-free-nonheap-object)
endif()

# Strict math: results must not depend on whether the compiler contracts a*b+c into an FMA. A source
# named *_fma.cc is exempt (see spmd_layer): such a kernel states its own tolerance.
add_compile_options(-ffp-contract=off)

# Paths in __FILE__ are relative to the repository, also where ccache has made them relative to the
# build folder.
file(RELATIVE_PATH source_from_build "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
add_compile_options("-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/="
                    "-fmacro-prefix-map=${source_from_build}=")

set(SPMD_SANITIZE "" CACHE STRING "Sanitizers, comma-separated: address,undefined or thread")
if(SPMD_SANITIZE)
  add_compile_options(-fsanitize=${SPMD_SANITIZE} -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SPMD_SANITIZE})
endif()

# Coverage for the fuzzers to be guided by: clang's for libFuzzer, else g++'s for our own driver.
option(SPMD_FUZZ "Build the fuzzers of tests/fuzz instead of the tests" OFF)
if(SPMD_FUZZ AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-fsanitize=fuzzer-no-link)
elseif(SPMD_FUZZ)
  add_compile_options(-fsanitize-coverage=trace-pc)
endif()

# Build speed. No CCACHE_BASEDIR: a precompiled header names the files it was made of, so the objects
# of one checkout must not serve another.
option(SPMD_CCACHE "Use ccache when it is installed" ON)
find_program(SPMD_CCACHE_PROGRAM ccache)
if(SPMD_CCACHE AND SPMD_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros ${SPMD_CCACHE_PROGRAM})
endif()
# Several sources of a layer, or of a test, in one compilation: a clean build takes half the time, the
# build after a change to one source a little longer. Names in anonymous namespaces must differ within
# a layer and within a test.
option(SPMD_UNITY "Compile sources in batches" ON)
set(SPMD_BATCH_SIZE 32)
# g++ collects its garbage while it compiles, by default from 128 MB on: memory for a twentieth of the
# time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("SHELL:--param ggc-min-heapsize=600000")
endif()
# Precompiled headers: half of a file's time is reading the same headers again. Making one takes as
# long as reading it three times, so layers and tests share them.
option(SPMD_PCH "Precompile common headers" ON)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)  # what ccache needs to see through them
endif()

# spmd_precompile(<target> <header>...): sources with compile options of their own keep out.
function(spmd_precompile target)
  if(SPMD_PCH)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <functional> <memory> <optional> <string> <unordered_map> <vector>
      <fmt/format.h> ${ARGN})
  endif()
endfunction()

# spmd_reuse_precompiled(<target> <other>): with the headers of another target of the same options.
function(spmd_reuse_precompiled target other)
  if(SPMD_PCH)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()

# spmd_batches(<target>)
function(spmd_batches target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${SPMD_UNITY} UNITY_BUILD_BATCH_SIZE ${SPMD_BATCH_SIZE})
endfunction()
option(SPMD_MOLD "Link with mold when it is installed" ON)
find_program(SPMD_MOLD_PROGRAM mold)
if(SPMD_MOLD AND SPMD_MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
