# The package of a build, by the target "package": of the daemons and the library, or of the library alone where that
# is all that is built. Debian's form.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The authors of cosched <cosched@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_STRIP_FILES ON)
# The configuration is in /etc, whatever the prefix.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
# The version is read when a package is made.
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/CoschedPackageVersion.cmake)
set(CPACK_COSCHED_ROOT ${PROJECT_SOURCE_DIR})

set(control ${PROJECT_SOURCE_DIR}/etc/debian)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # of no MPI: the library is linked to none
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(COSCHED_DAEMONS)
  set(CPACK_PACKAGE_NAME cosched)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS procps) # /bin/kill, by which the unit reloads
  set(CPACK_DEBIAN_PACKAGE_CONFLICTS libcosched-pmpi)
  set(CPACK_DEBIAN_PACKAGE_REPLACES libcosched-pmpi)
  set(CPACK_DEBIAN_PACKAGE_PROVIDES libcosched-pmpi)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${control}/postinst ${control}/prerm ${control}/postrm ${control}/conffiles
                                         ${control}/triggers)
else()
  set(CPACK_PACKAGE_NAME libcosched-pmpi)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${control}/triggers)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_PACKAGE_NAME} RENAME copyright)
include(CPack)
