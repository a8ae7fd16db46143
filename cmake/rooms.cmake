# A room is a folder under src/ and one static library; src/layers.txt says what it links, so that the
# declared layers and the links cannot differ. Libraries from Debian are named here, by the one room that
# holds them.

add_library(archlight_options INTERFACE)
target_include_directories(archlight_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(archlight_options INTERFACE -Wall -Wextra -Wshadow -Wimplicit-fallthrough)
if(ARCHLIGHT_WERROR)
  target_compile_options(archlight_options INTERFACE -Werror)
endif()
if(ARCHLIGHT_SANITIZE)
  target_compile_options(archlight_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                                     -fno-omit-frame-pointer)
  target_link_options(archlight_options INTERFACE -fsanitize=address,undefined)
endif()
if(ARCHLIGHT_FUZZ)
  target_compile_options(archlight_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_package(PkgConfig REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)  # with the macros its library was built with
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(simdjson REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Threads REQUIRED)
include(cmake/grammar.cmake)

set(ARCHLIGHT_ROOM_base PkgConfig::YAML PkgConfig::ZSTD fmt::fmt nlohmann_json::nlohmann_json)
set(ARCHLIGHT_ROOM_truth simdjson::simdjson OpenSSL::SSL OpenSSL::Crypto Threads::Threads PkgConfig::TREE_SITTER
                         python_grammar)

# archlight_room(room depends): src/<room>/**/*.cc but for rooms within it, as archlight_<room>.
function(archlight_room room depends)
  string(REPLACE "/" "_" name ${room})
  set(target archlight_${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  foreach(other ${ARCHLIGHT_ROOMS})
    if(other MATCHES "^${room}/")
      list(FILTER sources EXCLUDE REGEX "/src/${other}/")
    endif()
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_library(${target} STATIC ${sources})
  set_property(GLOBAL APPEND PROPERTY ARCHLIGHT_ROOM_TARGETS ${target})
  target_link_libraries(${target} PUBLIC archlight_options PRIVATE ${ARCHLIGHT_ROOM_${name}})
  if(room STREQUAL "base")
    target_link_libraries(archlight_base PUBLIC fmt::fmt nlohmann_json::nlohmann_json)
    target_precompile_headers(archlight_base PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.h)
  else()
    target_precompile_headers(${target} REUSE_FROM archlight_base)
  endif()
  foreach(below ${depends})
    string(REPLACE "/" "_" below ${below})
    if(TARGET archlight_${below})
      target_link_libraries(${target} PUBLIC archlight_${below})
    endif()
  endforeach()
endfunction()

# archlight_links(): links.txt in the build folder says what each target of this folder links; the layer test compares
# it with layers.txt.
function(archlight_links)
  get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  set(text "")
  foreach(target ${targets})
    string(APPEND text "${target}: $<JOIN:$<TARGET_PROPERTY:${target},LINK_LIBRARIES>, > "
                       "$<JOIN:$<TARGET_PROPERTY:${target},INTERFACE_LINK_LIBRARIES>, >\n")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/links.txt CONTENT "${text}")
endfunction()

# Test code is compiled for a short build rather than a short run, with GoogleTest precompiled.
add_library(archlight_tests_options INTERFACE)
target_link_libraries(archlight_tests_options INTERFACE archlight_options)
target_include_directories(archlight_tests_options INTERFACE ${PROJECT_SOURCE_DIR}/tests)
# The EXPECT macros hold an if-else of their own, and their parameter names shadow each other.
target_compile_options(archlight_tests_options INTERFACE -O1 -Wno-dangling-else -Wno-shadow)

# archlight_tests(room libraries...): tests/<room>/**/*.cc as one binary, each test known to ctest by name.
function(archlight_tests room)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${room}/*.cc)
  if(NOT sources OR ARCHLIGHT_FUZZ)
    return()
  endif()
  if(NOT TARGET archlight_tests_pch)
    file(WRITE ${CMAKE_BINARY_DIR}/tests_pch.cc "")
    add_library(archlight_tests_pch OBJECT ${CMAKE_BINARY_DIR}/tests_pch.cc)
    target_link_libraries(archlight_tests_pch PRIVATE archlight_tests_options GTest::gtest fmt::fmt)
    target_precompile_headers(archlight_tests_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.h <gtest/gtest.h>)
  endif()
  add_executable(tests_${room} ${sources})
  target_link_libraries(tests_${room} PRIVATE archlight_tests_options GTest::gtest_main ${ARGN})
  target_precompile_headers(tests_${room} REUSE_FROM archlight_tests_pch)
  # Tests run in the project's folder and name files from there, so that two checkouts compile to the same objects.
  file(RELATIVE_PATH built ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  target_compile_definitions(tests_${room} PRIVATE ARCHLIGHT_SOURCE_DIR="." ARCHLIGHT_BINARY_DIR="${built}")
  if(TARGET archlight_${room})
    target_link_libraries(tests_${room} PRIVATE archlight_${room})
  endif()
  gtest_discover_tests(tests_${room} TEST_PREFIX ${room}. DISCOVERY_TIMEOUT 60
                       WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()
