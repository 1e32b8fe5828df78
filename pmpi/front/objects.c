#include "pmpi/front/objects.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct files {
    char *text; // one after the other, each with its null
    size_t size;
    bool (*wanted)(const char *file);
};

// Called with locks of the linker held: nothing may be opened here.
static int note(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    struct files *files = data;
    const char *slash = strrchr(object->dlpi_name, '/');
    size_t length = strlen(object->dlpi_name) + 1;
    if (length == 1 ||
        (files->wanted != NULL && !files->wanted(slash != NULL ? slash + 1 : object->dlpi_name)))
        return 0;
    char *text = realloc(files->text, files->size + length);
    if (text == NULL)
        return 1;
    memcpy(text + files->size, object->dlpi_name, length);
    files->text = text;
    files->size += length;
    return 0;
}

static bool is_own(const void *address)
{
    Dl_info info, own;
    return dladdr((void *)objects_find, &own) == 0 || dladdr(address, &info) == 0 ||
           info.dli_fbase == own.dli_fbase;
}

// What is found stays as long as its user keeps it.
static void *find_in(const char *file, const char *symbol)
{
    void *handle = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL)
        return NULL;
    void *found = dlsym(handle, symbol);
    dlclose(handle);
    return found != NULL && !is_own(found) ? found : NULL;
}

void *objects_find(const char *symbol, bool (*wanted)(const char *file))
{
    struct files files = {.wanted = wanted};
    void *found = NULL;
    dl_iterate_phdr(note, &files);
    for (size_t at = 0; at < files.size && found == NULL; at += strlen(files.text + at) + 1)
        found = find_in(files.text + at, symbol);
    free(files.text);
    return found;
}

static const char *file_of(const void *address)
{
    Dl_info info;
    struct link_map *map = NULL;
    return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL ? map->l_name
                                                                                       : "";
}

void *objects_find_from(const void *address, const char *symbol)
{
    const char *file = file_of(address);
    return file[0] != '\0' ? find_in(file, symbol) : NULL;
}

void *objects_handle(const void *address)
{
    const char *file = file_of(address);
    return file[0] != '\0' ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}
