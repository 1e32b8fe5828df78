// What the programs call their version: that of the release and, where a clone was built, the
// commit, as in "0.1.0+760078d".
#ifndef COSCHED_COMMON_VERSION_H
#define COSCHED_COMMON_VERSION_H

#define COSCHED_VERSION_MAX 16

extern const char cosched_version[COSCHED_VERSION_MAX];

#endif
