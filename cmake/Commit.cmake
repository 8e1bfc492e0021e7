# Writes OUTPUT, a source file with the commit of the working tree at SOURCE, when it has changed.
execute_process(COMMAND git rev-parse HEAD WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
else()
  # Results and documents may differ: they are what a run writes.
  execute_process(COMMAND git diff --quiet HEAD -- CMakeLists.txt cmake include src kernels
                          bench ":!bench/results"
                  WORKING_DIRECTORY ${SOURCE} ERROR_QUIET RESULT_VARIABLE dirty)
  if(dirty)
    string(APPEND commit "-dirty")
  endif()
endif()
set(text "#include \"cli/commit.hpp\"\n\nstd::string gemwright::cli::commit() { return \"${commit}\"; }\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} previous)
endif()
if(NOT "${previous}" STREQUAL "${text}")
  file(WRITE ${OUTPUT} "${text}")
endif()
