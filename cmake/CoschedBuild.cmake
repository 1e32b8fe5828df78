# What every target of the house is built with, and the libraries it may use.
option(COSCHED_WERROR "Treat warnings as errors" OFF)
option(COSCHED_DAEMONS "Build the daemons, the tests and the benchmarks, not only the preloaded library, which needs none of their libraries" ON)
option(COSCHED_TESTS "Build the tests and the benchmarks, too, for which the daemons are needed" ON)
if(NOT COSCHED_DAEMONS)
  set(COSCHED_TESTS OFF)
endif()
option(COSCHED_FUZZ "Build the fuzz targets with libFuzzer; needs clang" OFF)
set(COSCHED_SANITIZE "" CACHE STRING "Sanitizers for daemons and tests, e.g. address,undefined or thread")

add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wshadow -Wpointer-arith -Wvla -Wformat=2
                    "$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>"
                    "$<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>"
                    -fvisibility=hidden)
if(COSCHED_WERROR)
  add_compile_options(-Werror)
endif()
if(COSCHED_SANITIZE)
  add_compile_options(-fsanitize=${COSCHED_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${COSCHED_SANITIZE})
endif()
if(COSCHED_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-recover=all)
endif()
include_directories(${PROJECT_SOURCE_DIR})

if(COSCHED_DAEMONS)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(INIH REQUIRED IMPORTED_TARGET inih)
  pkg_check_modules(CGROUP REQUIRED IMPORTED_TARGET libcgroup)
  pkg_check_modules(CAPNG REQUIRED IMPORTED_TARGET libcap-ng)
  pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
  pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
  find_library(LIBEV ev REQUIRED)
endif()
if(COSCHED_TESTS)
  pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
  if(NOT CMOCKA_FOUND)
    message(WARNING "CMocka was not found: no unit test in C is built")
  endif()
else()
  set(CMOCKA_FOUND FALSE)
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# What follows one of an option's letters in a command line, such as "-I", joined to it or not.
function(cosched_option_values letters line values)
  separate_arguments(words UNIX_COMMAND "${line}") # wrappers quote folders
  set(found)
  set(expected FALSE)
  foreach(word IN LISTS words)
    if(expected)
      list(APPEND found "${word}")
      set(expected FALSE)
    elseif(word STREQUAL letters)
      set(expected TRUE)
    elseif(word MATCHES "^${letters}(.+)$")
      list(APPEND found "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  set(${values} "${found}" PARENT_SCOPE)
endfunction()

# The two MPI families, as Debian installs them side by side. Each has a C compiler wrapper of its
# own; its flags are asked for once, so that both variants can be built in one tree.
function(cosched_find_mpi family wrapper)
  find_program(COSCHED_MPICC_${family} NAMES ${wrapper})
  if(NOT COSCHED_MPICC_${family})
    message(STATUS "MPI family ${family}: ${wrapper} not found, its variant is not built")
    return()
  endif()
  if(family STREQUAL "mpich")
    execute_process(COMMAND ${COSCHED_MPICC_${family}} -compile_info OUTPUT_VARIABLE line
                    RESULT_VARIABLE failed ERROR_VARIABLE ignored OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${COSCHED_MPICC_${family}} -link_info OUTPUT_VARIABLE link
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
  else()
    execute_process(COMMAND ${COSCHED_MPICC_${family}} --showme:compile OUTPUT_VARIABLE line
                    RESULT_VARIABLE failed ERROR_VARIABLE ignored OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${COSCHED_MPICC_${family}} --showme:link OUTPUT_VARIABLE link
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  cosched_option_values("-I" "${line}" includes)
  find_path(COSCHED_MPI_H_${family} mpi.h HINTS ${includes})
  if(failed OR NOT COSCHED_MPI_H_${family})
    message(STATUS "MPI family ${family}: ${COSCHED_MPICC_${family}} does not tell where mpi.h is, its variant is not built")
    return()
  endif()
  cosched_option_values("-L" "${link}" dirs)
  cosched_option_values("-l" "${link}" libs)
  list(FILTER libs INCLUDE REGEX "^mpi")
  list(FILTER libs EXCLUDE REGEX "fort|cxx|mpifh|usempi") # other languages' bindings
  if(family STREQUAL "mpich")
    list(PREPEND libs mpich)
  endif()
  # Headers only: for the preloaded library, which must not be linked to an MPI.
  add_library(mpi_${family}_headers INTERFACE)
  target_include_directories(mpi_${family}_headers SYSTEM INTERFACE ${includes})
  # MPICH's relatives may have no library of these names, or a wrapper that does not tell it.
  if(libs)
    find_library(COSCHED_MPI_LIBRARY_${family} NAMES ${libs} HINTS ${dirs})
  endif()
  if(NOT COSCHED_MPI_LIBRARY_${family})
    message(STATUS "MPI family ${family}: its library (${libs}) was not found, only the variant is built")
    return()
  endif()
  add_library(mpi_${family} INTERFACE)
  target_link_libraries(mpi_${family} INTERFACE mpi_${family}_headers
                                               ${COSCHED_MPI_LIBRARY_${family}})
endfunction()

# Of which family the one MPI is whose wrapper has the usual name.
function(cosched_plain_mpi mpich_names openmpi_names)
  set(mpich mpicc.mpich)
  set(openmpi mpicc.openmpi)
  find_program(COSCHED_PLAIN_MPICC NAMES mpicc)
  if(COSCHED_PLAIN_MPICC)
    execute_process(COMMAND ${COSCHED_PLAIN_MPICC} --showme:version OUTPUT_VARIABLE version
                    ERROR_VARIABLE ignored RESULT_VARIABLE other)
    if(other EQUAL 0 AND version MATCHES "Open MPI")
      list(APPEND openmpi mpicc)
    else()
      list(APPEND mpich mpicc)
    endif()
  endif()
  set(${mpich_names} "${mpich}" PARENT_SCOPE)
  set(${openmpi_names} "${openmpi}" PARENT_SCOPE)
endfunction()

cosched_plain_mpi(MPICH_WRAPPERS OPENMPI_WRAPPERS)
cosched_find_mpi(mpich "${MPICH_WRAPPERS}")
cosched_find_mpi(openmpi "${OPENMPI_WRAPPERS}")
if(NOT TARGET mpi_mpich_headers AND NOT TARGET mpi_openmpi_headers AND NOT COSCHED_DAEMONS)
  message(FATAL_ERROR "no MPI was found: give the C compiler wrapper of yours, "
                      "-DCOSCHED_MPICC_mpich=FILE for MPICH and its relatives, -DCOSCHED_MPICC_openmpi=FILE for Open MPI")
endif()

# Programs in Python, run by ctest: cosched_unit_script(name seconds) is tests/unit/test_<name>.py, which may take so
# long; cosched_system_script(name seconds [BESIDE_OTHERS [LAB]]) is tests/system/test_<name>.py, which gets the build, and the
# machine to itself unless it may run BESIDE_OTHERS; of those that make a LAB one at a time. One that needs root, or something else that is missing, ends with 77.
function(cosched_unit_script name seconds)
  if(NOT COSCHED_TESTS)
    return()
  endif()
  add_test(NAME unit/${name}
           COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tests/unit/test_${name}.py)
  set_tests_properties(unit/${name} PROPERTIES LABELS unit TIMEOUT ${seconds})
endfunction()

function(cosched_system_script name seconds)
  cmake_parse_arguments(T "BESIDE_OTHERS;LAB" "" "" ${ARGN})
  add_test(NAME system/${name}
           COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tests/system/test_${name}.py)
  set_tests_properties(system/${name} PROPERTIES
    ENVIRONMENT COSCHED_BUILD_DIR=${PROJECT_BINARY_DIR}
    LABELS system TIMEOUT ${seconds} SKIP_RETURN_CODE 77)
  if(NOT T_BESIDE_OTHERS)
    set_tests_properties(system/${name} PROPERTIES RUN_SERIAL TRUE)
    return()
  endif()
  set_tests_properties(system/${name} PROPERTIES COST 50) # before unit tests: a long one that came last would run alone
  if(T_LAB)
    set_tests_properties(system/${name} PROPERTIES RESOURCE_LOCK lab)
  endif()
endfunction()

# What only tests use is not optimised as what is installed is, which would be a good part of the time that a build takes.
set(COSCHED_TEST_OPTIONS "$<$<CONFIG:Release>:-O1>")

# cosched_unit_test(name SOURCES ... LIBRARIES ...): a CMocka program, run by ctest as unit/<name>.
function(cosched_unit_test name)
  if(NOT CMOCKA_FOUND)
    return()
  endif()
  cmake_parse_arguments(T "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(test_${name} ${T_SOURCES})
  target_compile_options(test_${name} PRIVATE ${COSCHED_TEST_OPTIONS})
  target_link_libraries(test_${name} PRIVATE ${T_LIBRARIES} PkgConfig::CMOCKA)
  add_test(NAME unit/${name} COMMAND test_${name})
  set_tests_properties(unit/${name} PROPERTIES TIMEOUT 120 LABELS unit)
endfunction()
