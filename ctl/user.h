// Users by their names.
#ifndef COSCHED_CTL_USER_H
#define COSCHED_CTL_USER_H

#include <stdint.h>

#define USER_NAME_MAX 33 // terminating zero included

// Writes the user's name, or his number where nobody here is called so, or by too long a name.
void user_name(uint32_t uid, char name[USER_NAME_MAX]);

#endif
