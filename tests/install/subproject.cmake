# Another project that adds this one gets the library alone, and needs what the library needs.
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/CMakeLists.txt [[
cmake_minimum_required(VERSION 3.25)
project(other LANGUAGES CXX)
add_subdirectory(${GEMWRIGHT} gemwright)
if(NOT TARGET gemwright::gemwright)
  message(FATAL_ERROR "there is no library")
endif()
foreach(target gemwright_command bench_support gemwright_test_support)
  if(TARGET ${target})
    message(FATAL_ERROR "${target} is built as well")
  endif()
endforeach()
]])
# A package that is REQUIRED and disabled is an error.
execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${WORK} -B ${WORK}/build -DGEMWRIGHT=${SOURCE}
                        -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON
                        -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON
                RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${out}")
endif()
