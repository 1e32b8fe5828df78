#include "cgroup-backend/processes.h"

#include "cgroup-backend/files.h"
#include "common/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUBTREE_DEPTH_MAX = 16 };

void pid_list_free(struct pid_list *list)
{
    free(list->pids);
    *list = (struct pid_list){0};
}

int pid_list_add(struct pid_list *list, pid_t pid, struct error *err)
{
    if (list->count == list->room) {
        size_t room = list->room != 0 ? list->room * 2 : 64;
        pid_t *pids = reallocarray(list->pids, room, sizeof *pids);
        if (pids == NULL)
            return error_errno(err, ENOMEM, "a list of %zu processes", room);
        list->pids = pids;
        list->room = room;
    }
    list->pids[list->count++] = pid;
    return 0;
}

static int compare_pids(const void *left, const void *right)
{
    pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;
    return (a > b) - (a < b);
}

void pid_list_sort(struct pid_list *list)
{
    if (list->count == 0)
        return;
    qsort(list->pids, list->count, sizeof *list->pids, compare_pids);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++)
        if (list->pids[i] != list->pids[kept - 1])
            list->pids[kept++] = list->pids[i];
    list->count = kept;
}

bool pid_list_has(const struct pid_list *list, pid_t pid)
{
    return list->count != 0 &&
           bsearch(&pid, list->pids, list->count, sizeof pid, compare_pids) != NULL;
}

static pid_t pid_of_name(const char *name)
{
    char *end;
    long pid = strtol(name, &end, 10);
    return end != name && *end == '\0' && pid > 0 ? (pid_t)pid : 0;
}

// The children of every thread of `pid`. Processes and threads that are gone have none.
static int add_children(const char *proc, pid_t pid, struct pid_list *list, struct error *err)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%d/task", proc, (int)pid);
    cleanup_closedir DIR *threads = opendir(path);
    if (threads == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        if (pid_of_name(entry->d_name) == 0)
            continue;
        char file[600];
        snprintf(file, sizeof file, "%s/%s/children", path, entry->d_name);
        cleanup_fclose FILE *children = fopen(file, "re");
        int child;
        while (children != NULL && fscanf(children, "%d", &child) == 1)
            if (pid_list_add(list, child, err) != 0)
                return -1;
    }
    return 0;
}

static bool has_children_files(const char *proc, pid_t pid)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%d/task/%d/children", proc, (int)pid, (int)pid);
    return access(path, R_OK) == 0;
}

static int descend_by_children(const char *proc, pid_t pid, struct pid_list *list,
                               struct error *err)
{
    if (add_children(proc, pid, list, err) != 0)
        return -1;
    // The list is its own queue; pids reused meanwhile could close a circle, hence the bound.
    for (size_t next = 0; next < list->count && next < 1u << 22; next++)
        if (add_children(proc, list->pids[next], list, err) != 0)
            return -1;
    return 0;
}

// The parent, or 0 when the process is gone. The name may hold spaces and parentheses: the fields
// start behind the last one.
static pid_t parent_of(const char *proc, const char *name)
{
    char path[512], text[1024];
    snprintf(path, sizeof path, "%s/%s", proc, name);
    int parent;
    if (file_read(path, "stat", text, sizeof text, NULL) != 0)
        return 0;
    const char *fields = strrchr(text, ')');
    return fields != NULL && sscanf(fields, ") %*c %d", &parent) == 1 ? parent : 0;
}

static int descend_by_parents(const char *proc, pid_t pid, struct pid_list *list, struct error *err)
{
    cleanup_pids struct pid_list all = {0}, parents = {0};
    cleanup_closedir DIR *directory = opendir(proc);
    if (directory == NULL)
        return error_errno(err, errno, "cannot read %s", proc);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        pid_t one = pid_of_name(entry->d_name);
        pid_t parent = one != 0 ? parent_of(proc, entry->d_name) : 0;
        if (parent == 0)
            continue;
        if (pid_list_add(&all, one, err) != 0 || pid_list_add(&parents, parent, err) != 0)
            return -1;
    }
    // A parent's pid can be above its child's when numbers have wrapped around: go over it again
    // until nobody is new. A parent taken loses its entry, so each process is found once.
    for (bool found = true; found;) {
        found = false;
        pid_list_sort(list);
        size_t known = list->count;
        for (size_t i = 0; i < all.count; i++) {
            struct pid_list before = {list->pids, known, known};
            if (parents.pids[i] == 0 ||
                (parents.pids[i] != pid && !pid_list_has(&before, parents.pids[i])))
                continue;
            if (pid_list_add(list, all.pids[i], err) != 0)
                return -1;
            parents.pids[i] = 0;
            found = true;
        }
    }
    return 0;
}

int processes_descendants(const char *proc, pid_t pid, struct pid_list *list, bool *exact,
                          struct error *err)
{
    list->count = 0;
    *exact = !has_children_files(proc, pid);
    int rc = *exact ? descend_by_parents(proc, pid, list, err)
                    : descend_by_children(proc, pid, list, err);
    pid_list_sort(list);
    return rc;
}

// *hidden counts those that live in a foreign pid namespace and show as 0.
static int read_group(const char *directory, struct pid_list *list, size_t *hidden,
                      struct error *err)
{
    cleanup_free char *path = path_join(directory, "cgroup.procs");
    if (path == NULL)
        return error_errno(err, ENOMEM, "%s", directory);
    cleanup_fclose FILE *file = fopen(path, "re");
    if (file == NULL)
        return error_errno(err, errno, "cannot open %s", path);
    errno = 0;
    int pid;
    while (fscanf(file, "%d", &pid) == 1) {
        *hidden += pid <= 0;
        if (pid > 0 && pid_list_add(list, pid, err) != 0)
            return -1;
    }
    if (ferror(file) && errno == EOPNOTSUPP)
        return error_errno(err, EOPNOTSUPP,
                           "cannot read %s: somebody made the group threaded, see cgroup.type",
                           path);
    // A group removed between open and read has no members.
    if (ferror(file) && errno != ENODEV)
        return error_errno(err, errno != 0 ? errno : EIO, "cannot read %s", path);
    return 0;
}

int processes_of_group(const char *directory, struct pid_list *list, struct error *err)
{
    size_t hidden = 0;
    return read_group(directory, list, &hidden, err);
}

static int add_subtree(const char *directory, unsigned depth, struct pid_list *list,
                       struct error *err)
{
    struct error fault = {0};
    size_t hidden = 0;
    if (read_group(directory, list, &hidden, &fault) != 0)
        return fault.code == ENOENT || fault.code == ENODEV
                   ? 0
                   : error_set(err, fault.code, "%s", fault.text);
    if (hidden > 0)
        return error_set(err, EXDEV, "%s: %zu processes live in a pid namespace out of sight",
                         directory, hidden);
    cleanup_closedir DIR *groups = opendir(directory);
    if (groups == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(groups)) != NULL;) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        // Nobody could say that there is no stranger below.
        if (depth == 0)
            return error_set(err, ELOOP, "%s: groups are nested too deeply", directory);
        cleanup_free char *below = path_join(directory, entry->d_name);
        if (below == NULL)
            return error_errno(err, ENOMEM, "%s", directory);
        if (add_subtree(below, depth - 1, list, err) != 0)
            return -1;
    }
    return 0;
}

int processes_of_subtree(const char *directory, struct pid_list *list, struct error *err)
{
    return add_subtree(directory, SUBTREE_DEPTH_MAX, list, err);
}

// The value of the line "key:\tvalue"; null when there is none.
static const char *line_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    while (text != NULL && (strncmp(text, key, length) != 0 || text[length] != ':')) {
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    return text != NULL ? text + length + 1 : NULL;
}

// From "status", where the kernel escapes the name: it cannot pass for other lines.
bool processes_look(const char *proc, pid_t pid, struct placement_process *process)
{
    char directory[256], text[2048];
    int parent;
    unsigned uid;
    snprintf(directory, sizeof directory, "%s/%d", proc, (int)pid);
    if (file_read(directory, "status", text, sizeof text, NULL) != 0)
        return false;
    const char *name = line_of(text, "Name"), *up = line_of(text, "PPid"),
               *owner = line_of(text, "Uid");
    if (name == NULL || up == NULL || owner == NULL || sscanf(up, "%d", &parent) != 1 ||
        sscanf(owner, "%u", &uid) != 1)
        return false;
    name += strspn(name, "\t");
    *process = (struct placement_process){.pid = pid, .parent = parent, .uid = uid};
    snprintf(process->name, sizeof process->name, "%.*s", (int)strcspn(name, "\n"), name);
    return true;
}

size_t processes_line(const char *proc, pid_t pid, struct placement_process *chain, size_t limit)
{
    size_t count = 0;
    while (count < limit && pid > 0 && processes_look(proc, pid, &chain[count])) {
        pid = chain[count].parent;
        count++;
    }
    return count;
}

// A line is "id:controllers:path", v1 with a comma between controllers, v2 with none of them.
static const char *path_in_line(char *line, const char *controller)
{
    char *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL)
        return NULL;
    *path++ = '\0';
    controllers++;
    if (*controller == '\0')
        return *controllers == '\0' ? path : NULL;
    char *rest = NULL;
    for (char *one = strtok_r(controllers, ",", &rest); one != NULL;
         one = strtok_r(NULL, ",", &rest))
        if (strcmp(one, controller) == 0)
            return path;
    return NULL;
}

char *process_group_path(const char *proc, pid_t pid, const char *controller)
{
    char name[256];
    snprintf(name, sizeof name, "%s/%d/cgroup", proc, (int)pid);
    cleanup_fclose FILE *file = fopen(name, "re");
    cleanup_free char *line = NULL;
    size_t room = 0;
    while (file != NULL && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        const char *path = path_in_line(line, controller);
        if (path != NULL)
            return strdup(path);
    }
    return NULL;
}
