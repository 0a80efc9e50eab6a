# spmd_cuda_kernels(<target> <source.cu> <embedder.cc>): compiles the kernels of a .cu file for every
# architecture that spmd runs on, and lets <embedder.cc>, a source of the target, include the code by
# the name SPMD_CUDA_CODE.
function(spmd_cuda_kernels target source embedder)
  get_filename_component(stem "${source}" NAME_WE)
  get_filename_component(folder "${source}" DIRECTORY)
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cuh"
       "${PROJECT_SOURCE_DIR}/${folder}/*.h")
  set(code "${PROJECT_BINARY_DIR}/${stem}.fatbin")
  # sm_80 code serves 8.x and sm_90 code 9.0; newer GPUs compile the PTX. One virtual architecture:
  # each one more is another pass of the compiler's front end.
  add_custom_command(
    OUTPUT "${code}"
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -fatbin -std=c++17 -O3 -ccbin ${CMAKE_CXX_COMPILER}
            -gencode arch=compute_80,code=[sm_80,sm_90,compute_80]
            -I${PROJECT_SOURCE_DIR} -o "${code}" "${PROJECT_SOURCE_DIR}/${source}"
    DEPENDS "${PROJECT_SOURCE_DIR}/${source}" ${headers}
    COMMENT "nvcc ${source}" VERBATIM)
  add_custom_target(${target}_cuda_code DEPENDS "${code}")
  add_dependencies(${target} ${target}_cuda_code)
  set_source_files_properties(${embedder} PROPERTIES
    OBJECT_DEPENDS "${code}" COMPILE_DEFINITIONS SPMD_CUDA_CODE="${code}"
    SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
