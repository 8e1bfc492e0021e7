# Installs into a scratch prefix, then builds and runs examples/linear against the installed package,
# by find_package and by pkg-config. The headers have to be free of the usual warnings.
set(PREFIX ${WORK}/prefix)
set(EXAMPLE ${WORK}/example)
set(WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Werror)
list(JOIN WARNINGS " " CXX_FLAGS)
file(REMOVE_RECURSE ${PREFIX} ${EXAMPLE})

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\n${out}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX})
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/examples/linear -B ${EXAMPLE}
    -DCMAKE_PREFIX_PATH=${PREFIX} -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_CXX_FLAGS=${CXX_FLAGS})
run(${CMAKE_COMMAND} --build ${EXAMPLE})
set(ENV{GEMWRIGHT_STORE} ${WORK}/store.db)
run(${EXAMPLE}/linear)

find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc ${PREFIX}/*/gemwright.pc)
  get_filename_component(pc_folder ${pc} DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${pc_folder})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs gemwright
                  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(flags)
  execute_process(COMMAND ${PKG_CONFIG} --variable=libdir gemwright
                  OUTPUT_VARIABLE libdir OUTPUT_STRIP_TRAILING_WHITESPACE)
  run(${CXX} -std=c++20 ${WARNINGS} ${SOURCE}/examples/linear/main.cpp ${flags} -Wl,-rpath,${libdir}
      -o ${EXAMPLE}/linear_pc)
  run(${EXAMPLE}/linear_pc)
endif()
