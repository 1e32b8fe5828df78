# Run at each build, cmake -DROOT=DIR -DVERSION=X.Y.Z -DOUT=FILE.c -P: what the programs call their version. In a clone
# the commit is part of it, so that two builds can be told apart on a cluster's nodes; elsewhere there is none to tell.
# safe.directory: root may build what lies in a user's clone.
execute_process(COMMAND git -c safe.directory=* -C ${ROOT} rev-parse --short=7 HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
execute_process(COMMAND git -c safe.directory=* -C ${ROOT} rev-parse --show-prefix OUTPUT_VARIABLE below ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT failed AND below STREQUAL "") # else the sources lie in somebody else's clone
  string(SUBSTRING "${commit}" 0 7 commit)
  string(APPEND VERSION "+${commit}")
endif()
set(text "#include \"common/version.h\"\n\nconst char cosched_version[COSCHED_VERSION_MAX] = \"${VERSION}\";\n")
set(before "")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUT} "${text}")
endif()
