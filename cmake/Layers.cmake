# One static library per layer, and the check that no layer includes what it may not see.
#
# Includes are written from the repository root (`#include "ir/module.h"`), generated protobuf
# headers likewise (`#include "ir/module.pb.h"`).

set(SPMD_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
file(MAKE_DIRECTORY "${SPMD_GENERATED_DIR}")
add_custom_target(spmd_protos)  # every generated header

# spmd_glob(<variable> <folder> <exclude list> <pattern>...)
# Files below a folder, relative to the repository root; a new file is noticed by the next build.
function(spmd_glob out folder exclude)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/${folder}/" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" ${patterns})
  foreach(excluded IN LISTS exclude)
    list(FILTER files EXCLUDE REGEX "^${excluded}/")
  endforeach()
  list(SORT files)
  set(${out} "${files}" PARENT_SCOPE)
endfunction()

# spmd_generate_protos(<target> <proto>...): C++ from .proto files named from the repository root.
function(spmd_generate_protos target)
  foreach(proto IN LISTS ARGN)
    string(REGEX REPLACE "\\.proto$" "" stem "${SPMD_GENERATED_DIR}/${proto}")
    # All protos of the layer are inputs: they may import each other.
    list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE inputs)
    add_custom_command(
      OUTPUT ${stem}.pb.cc ${stem}.pb.h
      COMMAND protobuf::protoc --cpp_out=${SPMD_GENERATED_DIR} -I${PROJECT_SOURCE_DIR}
              ${PROJECT_SOURCE_DIR}/${proto}
      DEPENDS ${inputs} protobuf::protoc
      COMMENT "protoc ${proto}" VERBATIM)
    list(APPEND headers ${stem}.pb.h)
    target_sources(${target} PRIVATE ${stem}.pb.cc)
    set_source_files_properties(${stem}.pb.cc PROPERTIES COMPILE_OPTIONS "-w;-O1"
                                SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
  add_custom_target(${target}_protos DEPENDS ${headers})
  add_dependencies(${target} ${target}_protos)
  add_dependencies(spmd_protos ${target}_protos)
endfunction()

# spmd_embed(<output> <file>...): <output>, an include file below the generated headers, defines
# kText_<name>, a const char array, for each file name.inc.
function(spmd_embed output)
  set(text "")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
    file(READ "${PROJECT_SOURCE_DIR}/${file}" content)
    get_filename_component(name "${file}" NAME_WE)
    string(APPEND text "const char kText_${name}[] = R\"text(${content})text\";\n")
  endforeach()
  file(CONFIGURE OUTPUT "${SPMD_GENERATED_DIR}/${output}" @ONLY CONTENT "@text@")
endfunction()

# spmd_layer(<name> FOLDER <dir> [EXCLUDE <dir>...] [DEPENDS <layer>...]
#            [LINK <library>...] [PRIVATE <library>...]
#            [PRECOMPILE <header>... | PRECOMPILED_BY <layer>] [OPTIONS <compile option>...]
#            [FAST <path prefix>...])
#
# Makes spmd::<name> (target spmd_<name>). A folder without sources gives an INTERFACE library, so
# that the layers above can be configured before it is written. Declare layers after what they
# depend on. LINK is seen by dependents too; the headers of PRIVATE libraries stay in this layer.
# PRECOMPILE adds to the precompiled headers; PRECOMPILED_BY uses those of a layer below. OPTIONS do
# not hold for the sources below FAST.
function(spmd_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER;PRECOMPILED_BY"
                        "EXCLUDE;DEPENDS;LINK;PRIVATE;PRECOMPILE;OPTIONS;FAST")
  set(target spmd_${name})
  spmd_glob(sources ${arg_FOLDER} "${arg_EXCLUDE}" *.cc)
  spmd_glob(protos ${arg_FOLDER} "${arg_EXCLUDE}" *.proto)

  set(fast "")
  foreach(prefix IN LISTS arg_FAST)
    set(below ${sources})
    list(FILTER below INCLUDE REGEX "^${prefix}")
    list(APPEND fast ${below})
  endforeach()
  set(others ${sources})
  list(REMOVE_ITEM others ${fast})

  if(sources OR protos)
    add_library(${target} STATIC ${others})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE})
    target_compile_options(${target} PRIVATE ${arg_OPTIONS})
    spmd_batches(${target})
    if(arg_PRECOMPILED_BY)
      spmd_reuse_precompiled(${target} spmd_${arg_PRECOMPILED_BY})
    else()
      spmd_precompile(${target} ${arg_PRECOMPILE})
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(spmd::${name} ALIAS ${target})
  target_include_directories(${target} ${scope} "${PROJECT_SOURCE_DIR}")
  target_include_directories(${target} SYSTEM ${scope} "${SPMD_GENERATED_DIR}")
  list(TRANSFORM arg_DEPENDS PREPEND "spmd::" OUTPUT_VARIABLE layers)
  target_link_libraries(${target} ${scope} ${layers} ${arg_LINK})

  if(protos)
    spmd_generate_protos(${target} ${protos})
  endif()
  # The layer's own precompiled headers would make the two depend on each other.
  if(fast)
    add_library(${target}_fast OBJECT ${fast})
    target_include_directories(${target}_fast PRIVATE "${PROJECT_SOURCE_DIR}")
    target_include_directories(${target}_fast SYSTEM PRIVATE "${SPMD_GENERATED_DIR}")
    target_link_libraries(${target}_fast PRIVATE ${layers} ${arg_LINK} ${arg_PRIVATE})
    spmd_batches(${target}_fast)
    spmd_reuse_precompiled(${target}_fast spmd_support)
    if(protos)
      add_dependencies(${target}_fast ${target}_protos)
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_fast>)
  endif()
  # A pragma for code generation would hold for the rest of a batch.
  foreach(source IN LISTS sources)
    file(STRINGS "${PROJECT_SOURCE_DIR}/${source}" pragmas LIMIT_COUNT 1
         REGEX "^#pragma GCC (optimize|target)")
    if(pragmas)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
                                  SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  list(FILTER sources INCLUDE REGEX "_fma\\.cc$")
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -ffp-contract=fast
                              SKIP_PRECOMPILE_HEADERS ON)

  # For spmd_check_layers.
  set(visible ${arg_FOLDER})
  foreach(layer IN LISTS arg_DEPENDS)
    get_property(folders TARGET spmd_${layer} PROPERTY SPMD_VISIBLE)
    list(APPEND visible ${folders})
  endforeach()
  list(REMOVE_DUPLICATES visible)
  spmd_glob(files ${arg_FOLDER} "${arg_EXCLUDE}" *.cc *.h *.def *.inc)
  set_target_properties(${target} PROPERTIES
    SPMD_FOLDER "${arg_FOLDER}" SPMD_VISIBLE "${visible}" SPMD_FILES "${files}")
  set_property(GLOBAL APPEND PROPERTY SPMD_LAYERS ${target})
endfunction()

# spmd_check_layers(): makes each layer's build start with a check of its includes against DEPENDS.
# Called once, after the last spmd_layer().
function(spmd_check_layers)
  get_property(layers GLOBAL PROPERTY SPMD_LAYERS)
  foreach(layer IN LISTS layers)
    get_property(folder TARGET ${layer} PROPERTY SPMD_FOLDER)
    list(APPEND folders ${folder})
  endforeach()

  set(script "${PROJECT_SOURCE_DIR}/cmake/CheckIncludes.cmake")
  foreach(target IN LISTS layers)
    get_property(folder TARGET ${target} PROPERTY SPMD_FOLDER)
    get_property(visible TARGET ${target} PROPERTY SPMD_VISIBLE)
    get_property(files TARGET ${target} PROPERTY SPMD_FILES)
    if(NOT files)
      continue()
    endif()
    set(arguments "${PROJECT_BINARY_DIR}/layers/${target}.cmake")
    set(stamp "${PROJECT_BINARY_DIR}/layers/${target}.checked")
    file(CONFIGURE OUTPUT "${arguments}" @ONLY CONTENT
"set(root [[@PROJECT_SOURCE_DIR@]])
set(folder [[@folder@]])
set(visible [[@visible@]])
set(folders [[@folders@]])
set(files [[@files@]])
")
    list(TRANSFORM files PREPEND "${PROJECT_SOURCE_DIR}/")
    add_custom_command(
      OUTPUT "${stamp}"
      COMMAND ${CMAKE_COMMAND} -P "${script}" "${arguments}"
      COMMAND ${CMAKE_COMMAND} -E touch "${stamp}"
      DEPENDS ${files} "${arguments}" "${script}"
      COMMENT "includes of ${folder}" VERBATIM)
    add_custom_target(${target}_includes DEPENDS "${stamp}")
    add_dependencies(${target} ${target}_includes)
  endforeach()
endfunction()

# spmd_executable(<name> FOLDER <dir> LINK <library>... [OPTIONS <compile option>...]): skipped while
# the folder has no sources.
function(spmd_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "LINK;OPTIONS")
  spmd_glob(sources ${arg_FOLDER} "" *.cc)
  if(sources)
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE ${arg_LINK})
    target_compile_options(${name} PRIVATE ${arg_OPTIONS})
    spmd_batches(${name})
  endif()
endfunction()
