# Everything from outside. What is required and missing is reported at once, by Debian package name.

# Boost's headers alone may come without its own CMake files: FindBoost finds both. (Set before the
# macros below, which keep the policies of their definition.)
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 OLD)
endif()

set(spmd_missing "")
set(spmd_missing_packages "")

macro(spmd_note_missing name package)
  string(APPEND spmd_missing "  ${name}: ${package}\n")
  string(APPEND spmd_missing_packages " ${package}")
endmacro()

# spmd_require(<name> <debian package> [<find_package arguments>...])
macro(spmd_require name package)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    spmd_note_missing(${name} ${package})
  endif()
endmacro()

# spmd_find_library(<target> <header> <library or ""> [<include path suffix>...])
# For libraries without CMake files of their own: makes the imported target spmd::<target>, if found.
function(spmd_find_library target header library)
  find_path(SPMD_${target}_INCLUDE ${header} PATH_SUFFIXES ${ARGN})
  mark_as_advanced(SPMD_${target}_INCLUDE)
  if(library)
    find_library(SPMD_${target}_LIBRARY ${library})
    mark_as_advanced(SPMD_${target}_LIBRARY)
  endif()
  if(NOT SPMD_${target}_INCLUDE OR (library AND NOT SPMD_${target}_LIBRARY))
    return()
  endif()
  add_library(spmd::${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(spmd::${target} SYSTEM INTERFACE ${SPMD_${target}_INCLUDE})
  if(library)
    target_link_libraries(spmd::${target} INTERFACE ${SPMD_${target}_LIBRARY})
  endif()
endfunction()

# --- Required -------------------------------------------------------------------------------------
spmd_require(Threads libc6-dev)
spmd_require(Protobuf "libprotobuf-dev protobuf-compiler")
spmd_require(Boost libboost-dev 1.74)
spmd_require(MPI libopenmpi-dev COMPONENTS C)
spmd_require(yaml-cpp libyaml-cpp-dev)
spmd_require(CLI11 libcli11-dev)
spmd_require(fmt libfmt-dev)
spmd_require(spdlog libspdlog-dev)
spmd_require(nlohmann_json nlohmann-json3-dev)
spmd_require(ZLIB zlib1g-dev)
if(BUILD_TESTING)
  spmd_require(GTest libgtest-dev)
endif()

spmd_find_library(xxhash xxhash.h "")
spmd_find_library(zstd zstd.h zstd)
foreach(library IN ITEMS xxhash zstd)
  if(NOT TARGET spmd::${library})
    spmd_note_missing(${library} lib${library}-dev)
  endif()
endforeach()

# Boost.Graph's headers may be packaged apart from Boost's.
find_path(SPMD_BOOST_GRAPH_INCLUDE boost/graph/compressed_sparse_row_graph.hpp
          HINTS ${Boost_INCLUDE_DIRS})
mark_as_advanced(SPMD_BOOST_GRAPH_INCLUDE)
if(NOT SPMD_BOOST_GRAPH_INCLUDE)
  spmd_note_missing("Boost.Graph" libboost-graph-dev)
endif()

if(spmd_missing)
  message(FATAL_ERROR "spmd needs, and did not find (library: Debian package):\n${spmd_missing}"
                      "Run scripts/install_deps.sh, or: apt-get install${spmd_missing_packages}\n")
endif()

# We call MPI's C interface; its headers would otherwise bring in the removed C++ one.
target_compile_definitions(MPI::MPI_C INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

# --- Optional -------------------------------------------------------------------------------------
# Each sets SPMD_HAVE_<X> to 0 or 1, for CMake and for `#if` in the code.
set(SPMD_MATH_LIBRARIES "")

set(CMAKE_MESSAGE_LOG_LEVEL WARNING)  # its own search for OpenCL is of no interest
find_package(dnnl QUIET CONFIG)  # libdnnl-dev
unset(CMAKE_MESSAGE_LOG_LEVEL)
set(SPMD_HAVE_DNNL 0)
if(TARGET DNNL::dnnl)
  set(SPMD_HAVE_DNNL 1)
  list(APPEND SPMD_MATH_LIBRARIES DNNL::dnnl)
endif()

spmd_find_library(openblas cblas.h openblas openblas-pthread openblas)  # libopenblas-dev
set(SPMD_HAVE_OPENBLAS 0)
if(TARGET spmd::openblas)
  set(SPMD_HAVE_OPENBLAS 1)
  # It is loaded when a product wants it (runtime/device/cpu/openblas.h).
  set_target_properties(spmd::openblas PROPERTIES INTERFACE_LINK_LIBRARIES "")
  target_compile_definitions(spmd::openblas
                             INTERFACE SPMD_OPENBLAS_LIBRARY="${SPMD_openblas_LIBRARY}")
  list(APPEND SPMD_MATH_LIBRARIES spmd::openblas)
endif()

find_package(benchmark QUIET CONFIG)  # libbenchmark-dev
set(SPMD_HAVE_BENCHMARK 0)
if(TARGET benchmark::benchmark_main)
  set(SPMD_HAVE_BENCHMARK 1)
endif()

set(SPMD_CUDA AUTO CACHE STRING "CUDA: AUTO (use it when found), ON (required) or OFF")
set_property(CACHE SPMD_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SPMD_HAVE_CUDA 0)
if(SPMD_CUDA)
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND)
    set(SPMD_HAVE_CUDA 1)
    # Headers only: libraries are loaded when a GPU is used.
    add_library(spmd::cuda_headers INTERFACE IMPORTED GLOBAL)
    target_include_directories(spmd::cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  elseif(NOT SPMD_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "SPMD_CUDA=${SPMD_CUDA}, but no CUDA Toolkit was found: set CUDAToolkit_ROOT "
                        "to where it lies, or configure with -DSPMD_CUDA=OFF")
  endif()
endif()

set(SPMD_CUDNN AUTO CACHE STRING
    "cuDNN for attention and convolutions: AUTO (use it when found), ON or OFF")
set_property(CACHE SPMD_CUDNN PROPERTY STRINGS AUTO ON OFF)
set(SPMD_HAVE_CUDNN 0)
if(SPMD_CUDNN AND SPMD_HAVE_CUDA)
  # Headers only, like those of CUDA. cudnn-frontend is header-only: CMAKE_INCLUDE_PATH says where.
  find_path(SPMD_cudnn_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_path(SPMD_cudnn_frontend_INCLUDE cudnn_frontend.h)
  mark_as_advanced(SPMD_cudnn_INCLUDE SPMD_cudnn_frontend_INCLUDE)
  if(SPMD_cudnn_INCLUDE AND SPMD_cudnn_frontend_INCLUDE)
    set(SPMD_HAVE_CUDNN 1)
  elseif(NOT SPMD_CUDNN STREQUAL "AUTO")
    message(FATAL_ERROR "SPMD_CUDNN=${SPMD_CUDNN}, but cudnn.h or cudnn_frontend.h was not found: set "
                        "CMAKE_INCLUDE_PATH to their folders, or configure with -DSPMD_CUDNN=OFF")
  endif()
endif()

add_compile_definitions(SPMD_HAVE_DNNL=${SPMD_HAVE_DNNL} SPMD_HAVE_OPENBLAS=${SPMD_HAVE_OPENBLAS}
                        SPMD_HAVE_CUDA=${SPMD_HAVE_CUDA})
