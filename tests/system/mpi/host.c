// Opens each plugin for itself, as Python does with extension modules, and has the last one run.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = NULL;
    for (int i = 1; i < argc && (i == 1 || plugin != NULL); i++)
        plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    int (*run)(int, char **) = plugin != NULL ? (int (*)(int, char **))dlsym(plugin, "run") : NULL;
    if (run == NULL) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: host PLUGIN...");
        return 2;
    }
    return run(argc - 1, argv + 1);
}
