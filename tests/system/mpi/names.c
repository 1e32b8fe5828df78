// A program's functions that are named as some of the C library's: the preloaded library must not
// call them. An MPI may, and is given what it expects, so that it works all the same.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef long function(long, long, long, long, long, long);

static function *of_libc(const char *name, const void *caller)
{
    Dl_info info;
    if (dladdr(caller, &info) != 0 && strstr(info.dli_fname, "libcosched_pmpi") != NULL) {
        fprintf(stderr, "%s calls the program's %s\n", info.dli_fname, name);
        __builtin_trap();
    }
    return (function *)dlsym(RTLD_NEXT, name);
}

#define OWN(name)                                                                                  \
    long name(long a, long b, long c, long d, long e, long f)                                      \
    {                                                                                              \
        return of_libc(#name, __builtin_return_address(0))(a, b, c, d, e, f);                      \
    }

OWN(accept)
OWN(bind)
OWN(clock)
OWN(connect)
OWN(fstat)
OWN(link)
OWN(listen)
OWN(pause)
OWN(poll)
OWN(recv)
OWN(recvmsg)
OWN(select)
OWN(send)
OWN(sendmsg)
OWN(shutdown)
OWN(sleep)
OWN(socket)
OWN(stat)
OWN(time)
OWN(unlink)
OWN(wait)
