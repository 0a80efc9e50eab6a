# cmake -P CheckIncludes.cmake <arguments>: fails when a file of a layer includes a layer that it may
# not see. The arguments file (written by spmd_check_layers) sets
#   root     the repository           folder   the layer's folder
#   files    the layer's files        folders  the folders of all layers
#   visible  the folders that this layer may include, its own among them
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_ARGV3}")

# The deepest folder that holds a file is its layer: sharding/spec/mesh.h is not in sharding.
list(SORT folders ORDER DESCENDING)

set(errors "")
foreach(file IN LISTS files)
  if(NOT EXISTS "${root}/${file}")
    continue()  # removed since the last configure
  endif()
  file(STRINGS "${root}/${file}" includes REGEX "^[ \t]*#[ \t]*include[ \t]*\"[^\"]+/")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" header "${line}")
    if(header MATCHES "^(tests|bench)/")
      string(APPEND errors "${root}/${file}: error: includes \"${header}\" from outside the layers\n")
    endif()
    foreach(candidate IN LISTS folders)
      if(header MATCHES "^${candidate}/")
        if(NOT candidate IN_LIST visible)
          string(APPEND errors "${root}/${file}: error: includes \"${header}\"\n")
        endif()
        break()
      endif()
    endforeach()
  endforeach()
endforeach()

if(errors)
  list(JOIN visible ", " visible)
  message(FATAL_ERROR "${errors}${folder} may include only: ${visible} (see CMakeLists.txt)\n")
endif()
