# The grammar by which forward sources are read: an npm package whose C source is compiled here. The lockfile beside it
# pins the package by SHA-512; npm fetches it into build/grammar the first time, and no script of it is run.
pkg_check_modules(TREE_SITTER REQUIRED IMPORTED_TARGET tree-sitter)

function(archlight_fetch_grammar folder)
  file(SHA256 ${PROJECT_SOURCE_DIR}/cmake/grammar/package-lock.json wanted)
  file(MAKE_DIRECTORY ${folder})
  file(LOCK ${folder}/.lock GUARD FUNCTION TIMEOUT 600)
  if(EXISTS ${folder}/.fetched)
    file(READ ${folder}/.fetched fetched)
    if(fetched STREQUAL wanted)
      return()
    endif()
  endif()
  find_program(NPM npm)
  if(NOT NPM)
    message(FATAL_ERROR "npm is missing, which fetches the grammar of cmake/grammar; install it, or start with ./run")
  endif()
  file(COPY ${PROJECT_SOURCE_DIR}/cmake/grammar/package.json ${PROJECT_SOURCE_DIR}/cmake/grammar/package-lock.json
       DESTINATION ${folder})
  execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund WORKING_DIRECTORY ${folder}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    message(FATAL_ERROR "npm ci in ${folder} failed (${status}):\n${output}")
  endif()
  file(WRITE ${folder}/.fetched ${wanted})
endfunction()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/grammar/package-lock.json)
archlight_fetch_grammar(${PROJECT_SOURCE_DIR}/build/grammar)
set(PYTHON_GRAMMAR ${PROJECT_SOURCE_DIR}/build/grammar/node_modules/tree-sitter-python/src)
add_library(python_grammar STATIC ${PYTHON_GRAMMAR}/parser.c ${PYTHON_GRAMMAR}/scanner.c)
target_include_directories(python_grammar PRIVATE ${PYTHON_GRAMMAR})
target_compile_options(python_grammar PRIVATE -O1 -w)
