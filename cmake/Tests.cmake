# Tests and benchmarks, found by folder.

include(GoogleTest)

# Tests compile without optimisation, which halves their time; what they test is optimised.
set(SPMD_TEST_OPTIONS -O0)

# Linked into every test: GoogleTest with its main(), and SPMD_SOURCE_DIR for test data.
# spmd_test_programs, the helpers of tests/support, goes only to tests whose layers see ir.
if(BUILD_TESTING)
  add_library(spmd_test_support INTERFACE)
  target_include_directories(spmd_test_support INTERFACE "${PROJECT_SOURCE_DIR}")
  target_include_directories(spmd_test_support SYSTEM INTERFACE "${SPMD_GENERATED_DIR}")
  target_compile_definitions(spmd_test_support INTERFACE SPMD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(spmd_test_support INTERFACE GTest::gtest GTest::gtest_main)

  spmd_glob(sources tests/support "" *.cc)
  if(sources)
    add_library(spmd_test_programs STATIC ${sources})
    target_link_libraries(spmd_test_programs PUBLIC spmd_test_support spmd::ir)
    target_compile_options(spmd_test_programs PRIVATE ${SPMD_TEST_OPTIONS})
    spmd_precompile(spmd_test_programs <gtest/gtest.h> "${PROJECT_SOURCE_DIR}/ir/builder.h")
  endif()
endif()

# spmd_tests(<folder> [EXCLUDE <folder>...] LINK <layer>...)
#
# tests/<folder>/**/*.cc becomes one GoogleTest executable, test_<folder> (a/b gives test_a_b). Each
# tests/<folder>/*.sh is one test: bash runs it with SPMD_RUN, SPMD_OPT and SPMD_SOURCE_DIR set and
# scripts/env.sh read; exit code 77 means skipped. Both get the top folder as CTest label.
function(spmd_tests folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXCLUDE;LINK")
  string(REPLACE "/" "_" name "${folder}")
  string(REGEX REPLACE "/.*" "" label "${folder}")

  list(TRANSFORM arg_EXCLUDE PREPEND "tests/")
  spmd_glob(sources tests/${folder} "${arg_EXCLUDE}" *.cc)
  if(sources)
    add_executable(test_${name} ${sources})
    target_link_libraries(test_${name} PRIVATE spmd_test_support ${arg_LINK})
    target_compile_options(test_${name} PRIVATE ${SPMD_TEST_OPTIONS})
    spmd_batches(test_${name})
    set(sees_ir FALSE)
    foreach(layer IN LISTS arg_LINK)
      string(REPLACE "spmd::" "spmd_" target "${layer}")
      get_property(visible TARGET ${target} PROPERTY SPMD_VISIBLE)
      if("ir" IN_LIST visible AND TARGET spmd_test_programs)
        target_link_libraries(test_${name} PRIVATE spmd_test_programs)
        set(sees_ir TRUE)
      endif()
    endforeach()
    # A header of one's own pays from the third compilation on.
    list(LENGTH sources count)
    if(sees_ir)
      spmd_reuse_precompiled(test_${name} spmd_test_programs)
    elseif(count GREATER 2 AND NOT SPMD_UNITY)
      spmd_precompile(test_${name} <gtest/gtest.h>)
    endif()
    # PRE_TEST: the cases are listed when ctest runs, not after each link.
    gtest_discover_tests(test_${name} TEST_PREFIX "${label}/" DISCOVERY_MODE PRE_TEST
                         DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${label} TIMEOUT 300)
  endif()

  file(GLOB scripts CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/tests/${folder}"
       "${PROJECT_SOURCE_DIR}/tests/${folder}/*.sh")
  foreach(script IN LISTS scripts)
    string(REGEX REPLACE "\\.sh$" "" stem "${script}")
    set(test "${label}/${stem}.sh")
    add_test(NAME ${test} COMMAND bash -c ". ./scripts/env.sh && exec bash tests/${folder}/${script}"
             WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    # Sanitizers: MPI's plug-ins are unloaded at the end, so their leaks cannot be told from ours, and
    # they were built without the thread sanitizer, which cannot see how they synchronise.
    # TIMEOUT ends what hangs, on the busiest machine too: a script starts a hundred processes.
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 1200 SKIP_RETURN_CODE 77
      ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:protect_shadow_gap=0;\
TSAN_OPTIONS=ignore_noninstrumented_modules=1:allocator_may_return_null=1;\
SPMD_RUN=${PROJECT_BINARY_DIR}/spmd-run;\
SPMD_OPT=${PROJECT_BINARY_DIR}/spmd-opt;SPMD_SOURCE_DIR=${PROJECT_SOURCE_DIR};\
SPMD_BINARY_DIR=${PROJECT_BINARY_DIR}")
  endforeach()
endfunction()

# spmd_fake_cuda(<folder>): stand-ins for the NVIDIA driver, cuBLASLt, NCCL and cuDNN, which run on the
# host, and for a machine that starts no further thread, in the folder fake_cuda
# of the build. With SPMD_CUDA_LIBRARY_PATH set to it, --device cuda runs where there is no GPU; plans
# must have no compiled kernels (--codegen off).
function(spmd_fake_cuda folder)
  add_library(spmd_fake_driver SHARED ${folder}/driver.cc ${folder}/kernels.cc
                                      ${folder}/scheduler.cc)
  add_library(spmd_fake_cublas_lt SHARED ${folder}/cublas_lt.cc)
  add_library(spmd_fake_nccl SHARED ${folder}/nccl.cc)
  add_library(spmd_fake_cudnn SHARED ${folder}/cudnn.cc)
  target_compile_definitions(spmd_fake_cudnn PRIVATE SPMD_HAVE_CUDNN=${SPMD_HAVE_CUDNN})
  if(SPMD_HAVE_CUDNN)
    target_include_directories(spmd_fake_cudnn SYSTEM PRIVATE ${SPMD_cudnn_INCLUDE})
  endif()
  foreach(target IN ITEMS spmd_fake_cublas_lt spmd_fake_nccl spmd_fake_cudnn)
    target_link_libraries(${target} PRIVATE spmd_fake_driver)
  endforeach()
  # Not by the driver's own name, by which NVRTC would find it too; the link has that.
  add_custom_command(TARGET spmd_fake_driver POST_BUILD
                     COMMAND ${CMAKE_COMMAND} -E create_symlink libspmd_fake_driver.so
                             "${PROJECT_BINARY_DIR}/fake_cuda/libcuda.so.1" VERBATIM)
  set_target_properties(spmd_fake_cublas_lt PROPERTIES OUTPUT_NAME cublasLt
                        SOVERSION ${CUDAToolkit_VERSION_MAJOR})
  set_target_properties(spmd_fake_nccl PROPERTIES OUTPUT_NAME nccl SOVERSION 2)
  add_library(spmd_fake_threads SHARED ${folder}/threads.cc)
  set_target_properties(spmd_fake_cudnn PROPERTIES OUTPUT_NAME cudnn SOVERSION 9)
  foreach(target IN ITEMS spmd_fake_driver spmd_fake_cublas_lt spmd_fake_nccl spmd_fake_cudnn
                          spmd_fake_threads)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} PRIVATE spmd::cuda_headers)
    target_compile_options(${target} PRIVATE -O1 -w)  # kernels are written for another compiler
    set_target_properties(${target} PROPERTIES
                          LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fake_cuda")
  endforeach()
endfunction()

# spmd_benchmarks(<folder> LINK <library>...): each source is one program. The target `bench` builds
# them all; plain builds do not.
function(spmd_benchmarks folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  add_custom_target(bench)
  if(NOT SPMD_HAVE_BENCHMARK)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cc")
  foreach(source IN LISTS sources)
    get_filename_component(stem "${source}" NAME_WE)
    add_executable(bench_${stem} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(bench_${stem} PRIVATE ${arg_LINK} benchmark::benchmark_main)
    add_dependencies(bench bench_${stem})
  endforeach()
endfunction()

# spmd_fuzzers(<folder> LINK <layer>...), with SPMD_FUZZ: the target `fuzzers` builds fuzz_<reader>
# out of each <folder>/<reader>.cc that defines <reader>_target(), with libFuzzer or drivers/driver.cc,
# and write_seeds. See scripts/fuzz.sh.
function(spmd_fuzzers folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  if(NOT SPMD_FUZZ)
    return()
  endif()
  spmd_glob(sources ${folder} "${folder}/drivers" *.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_library(spmd_fuzz_targets STATIC ${sources})
  target_compile_definitions(spmd_fuzz_targets PRIVATE SPMD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(spmd_fuzz_targets PUBLIC ${arg_LINK})

  add_executable(write_seeds ${folder}/drivers/write_seeds.cc)
  target_link_libraries(write_seeds PRIVATE spmd_fuzz_targets)
  add_custom_target(fuzzers DEPENDS write_seeds)
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" definition REGEX "^FuzzTarget [a-z_]+_target\\(\\) {")
    if(NOT definition)
      continue()
    endif()
    string(REGEX REPLACE "^FuzzTarget ([a-z_]+)_target.*" "\\1" reader "${definition}")
    add_executable(fuzz_${reader} ${folder}/drivers/entry.cc)
    target_compile_definitions(fuzz_${reader} PRIVATE SPMD_FUZZ_TARGET=${reader}_target)
    target_link_libraries(fuzz_${reader} PRIVATE spmd_fuzz_targets)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      target_link_options(fuzz_${reader} PRIVATE -fsanitize=fuzzer)
    else()
      target_sources(fuzz_${reader} PRIVATE ${folder}/drivers/driver.cc)
      set_source_files_properties(${folder}/drivers/driver.cc PROPERTIES
                                  COMPILE_OPTIONS -fno-sanitize-coverage=trace-pc)
    endif()
    add_dependencies(fuzzers fuzz_${reader})
  endforeach()
endfunction()
