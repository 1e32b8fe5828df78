# Read by cpack. A later commit must be a later version, or nobody's node would be upgraded to it: its time is part of it.
execute_process(COMMAND ${CMAKE_COMMAND} -E env TZ=UTC git -C ${CPACK_COSCHED_ROOT} log -1 --format=%cd+%h --abbrev=7 --date=format-local:%Y%m%d%H%M%S
                OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
set(CPACK_DEBIAN_PACKAGE_VERSION ${CPACK_PACKAGE_VERSION})
if(NOT failed)
  string(APPEND CPACK_DEBIAN_PACKAGE_VERSION "+${commit}")
endif()
