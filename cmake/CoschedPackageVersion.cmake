# Read by cpack. A later commit must be a later version, or nobody's node would be upgraded to it: its time is part of it.
# safe.directory: root may build what lies in a user's clone.
execute_process(COMMAND ${CMAKE_COMMAND} -E env TZ=UTC git -c safe.directory=* -C ${CPACK_COSCHED_ROOT} log -1 --format=%cd+%h --abbrev=7 --date=format-local:%Y%m%d%H%M%S
                OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
execute_process(COMMAND git -c safe.directory=* -C ${CPACK_COSCHED_ROOT} rev-parse --show-prefix OUTPUT_VARIABLE below ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE)
set(CPACK_DEBIAN_PACKAGE_VERSION ${CPACK_PACKAGE_VERSION})
if(NOT failed AND below STREQUAL "") # else the sources lie in somebody else's clone
  string(APPEND CPACK_DEBIAN_PACKAGE_VERSION "+${commit}")
endif()
