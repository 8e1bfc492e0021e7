# Language level, warnings and sanitizers for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(gemwright_settings INTERFACE)
target_compile_options(gemwright_settings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                       $<$<BOOL:${GEMWRIGHT_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in std::string's operator+ that are not there (GCC bug 105651).
  target_compile_options(gemwright_settings INTERFACE -Wno-restrict)
endif()

# For what is never timed: the headers of CLI11 and GTest compile in two thirds of the time.
add_library(gemwright_untimed INTERFACE)
target_compile_options(gemwright_untimed INTERFACE $<$<CONFIG:Release>:-O1>)

set(GEMWRIGHT_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them")
if(GEMWRIGHT_SANITIZE)
  add_compile_definitions(GEMWRIGHT_SANITIZED)  # tests do less of the same
  add_compile_options(-fsanitize=${GEMWRIGHT_SANITIZE} -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 sees uninitialised values in <regex> once it is instrumented.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(-fsanitize=${GEMWRIGHT_SANITIZE})
endif()
