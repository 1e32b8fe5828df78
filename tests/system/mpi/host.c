// Opens each plugin for itself, as Python does with extension modules, and has the last one run, or
// all of them (--all), one after the other, the later ones opened for everybody (--global). Says at
// the end whether everybody sees the symbol HOST_LOOKS_FOR.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run(const char *plugin, int argc, char **argv)
{
    int (*function)(int, char **) =
        (int (*)(int, char **))dlsym(dlopen(plugin, RTLD_NOW | RTLD_NOLOAD), "run");
    return function != NULL ? function(argc, argv) : 2;
}

int main(int argc, char **argv)
{
    int global = argc > 1 && strcmp(argv[1], "--global") == 0, rc = 2;
    int all = global || (argc > 1 && strcmp(argv[1], "--all") == 0);
    if (argc <= 1 + all)
        fprintf(stderr, "usage: host [--all|--global] PLUGIN...\n");
    for (int i = 1 + all; i < argc; i++) {
        int scope = global && i > 2 ? RTLD_GLOBAL : RTLD_LOCAL;
        if (dlopen(argv[i], RTLD_NOW | scope) == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        if (all || i == argc - 1)
            rc = run(argv[i], argc - 1, argv + 1);
    }
    const char *symbol = getenv("HOST_LOOKS_FOR");
    if (symbol != NULL)
        printf("%s is %s\n", symbol, dlsym(RTLD_DEFAULT, symbol) != NULL ? "shown" : "not shown");
    return rc;
}
