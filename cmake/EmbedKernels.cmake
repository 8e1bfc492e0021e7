# Script: writes OUTPUT, a C++ file that holds every device source below FOLDER as text.
# A raw string ends at its delimiter, so the text needs no escaping.
file(GLOB_RECURSE sources RELATIVE ${FOLDER} ${FOLDER}/*.cu ${FOLDER}/*.cuh)
list(SORT sources)

set(text "// Generated from the files of kernels/cuda.\n#include \"compile/sources.hpp\"\n\n")
string(APPEND text "namespace gemwright::compile {\n\n")
string(APPEND text "std::span<const EmbeddedFile> embedded_files() {\n")
string(APPEND text "  static constexpr EmbeddedFile kFiles[] = {\n")
foreach(source IN LISTS sources)
  file(READ ${FOLDER}/${source} content)
  string(APPEND text "{\"${source}\", R\"kernel_text(${content})kernel_text\"},\n")
endforeach()
string(APPEND text "  };\n  return kFiles;\n}\n\n}  // namespace gemwright::compile\n")
file(WRITE ${OUTPUT} "${text}")
