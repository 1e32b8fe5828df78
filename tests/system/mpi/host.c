// Opens a plugin for itself, as Python does with an extension module, and has it run.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(int, char **) = plugin != NULL ? (int (*)(int, char **))dlsym(plugin, "run") : NULL;
    if (run == NULL) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: host PLUGIN");
        return 2;
    }
    return run(argc - 1, argv + 1);
}
