# Packages of the distribution. What is optional switches a family on or off.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CLI11 REQUIRED)

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)

find_path(CUDA_INCLUDE_DIR cuda.h
          HINTS $ENV{CUDA_HOME} /usr/local/cuda PATH_SUFFIXES include targets/x86_64-linux/include)
set(CUDA_HEADER_VERSION 0)
if(CUDA_INCLUDE_DIR)
  file(STRINGS ${CUDA_INCLUDE_DIR}/cuda.h version_line REGEX "^#define CUDA_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+" CUDA_HEADER_VERSION "${version_line}")
endif()
if(GEMWRIGHT_CUDA STREQUAL "AUTO")
  # Context-independent loading and TMA came with CUDA 12.0.
  if(CUDA_HEADER_VERSION GREATER_EQUAL 12000)
    set(GEMWRIGHT_CUDA ON)
  else()
    set(GEMWRIGHT_CUDA OFF)
  endif()
endif()
message(STATUS "CUDA half: ${GEMWRIGHT_CUDA} (headers: ${CUDA_HEADER_VERSION})")

find_package(dnnl CONFIG QUIET)
if(dnnl_FOUND)
  message(STATUS "oneDNN: ${dnnl_VERSION}")
endif()
