#include "cgroup-backend/processes.h"

#include "cgroup-backend/files.h"
#include "common/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUBTREE_DEPTH_MAX = 16,
    SUBTREE_GROUPS_MAX = 2048, // a manager makes one for each rank, at most
};

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

// ---- processes by number and start time

void process_list_free(struct process_list *list)
{
    free(list->list);
    *list = (struct process_list){0};
}

int process_list_add(struct process_list *list, const struct process_id *process, struct error *err)
{
    if (list->count == list->room) {
        size_t room = list->room != 0 ? list->room * 2 : 64;
        struct process_id *longer = reallocarray(list->list, room, sizeof *longer);
        if (longer == NULL)
            return error_errno(err, ENOMEM, "a list of %zu processes", room);
        list->list = longer;
        list->room = room;
    }
    list->list[list->count++] = *process;
    return 0;
}

static int compare_processes(const void *left, const void *right)
{
    const struct process_id *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return (a->start_time > b->start_time) - (a->start_time < b->start_time);
}

void process_list_sort(struct process_list *list)
{
    if (list->count > 0)
        qsort(list->list, list->count, sizeof *list->list, compare_processes);
}

bool process_list_has(const struct process_list *list, size_t count,
                      const struct process_id *process)
{
    return count != 0 &&
           bsearch(process, list->list, count, sizeof *process, compare_processes) != NULL;
}

// The name may hold spaces and parentheses: the fields start behind the last one.
static bool read_stat(const char *proc, pid_t pid, pid_t *parent, struct process_id *process)
{
    char directory[256], text[1024];
    snprintf(directory, sizeof directory, "%s/%d", proc, (int)pid);
    if (file_read(directory, "stat", text, sizeof text, NULL) != 0)
        return false;
    const char *fields = strrchr(text, ')');
    *process = (struct process_id){.pid = pid};
    return fields != NULL &&
           sscanf(fields,
                  ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                  "%" SCNu64,
                  parent, &process->start_time) == 2;
}

uint64_t processes_start_time(const char *proc, pid_t pid)
{
    struct process_id process;
    pid_t parent;
    return read_stat(proc, pid, &parent, &process) ? process.start_time : 0;
}

bool processes_is(const char *proc, const struct process_id *process)
{
    return process->start_time != 0 &&
           processes_start_time(proc, process->pid) == process->start_time;
}

// ---- descendants

struct descent {
    const char *proc;
    size_t limit;
    size_t *looks;
    struct process_list *list;
};

static int too_many(const struct descent *descent, struct error *err)
{
    return error_set(err, E2BIG, "more than %zu descendants", descent->limit);
}

static int take_look(const struct descent *descent, struct error *err)
{
    if (*descent->looks == 0)
        return error_set(err, E2BIG, "too many threads and descendants to look at");
    --*descent->looks;
    return 0;
}

// Those that a thread of `pid` names, as far as they are its children when they are looked at.
// Nobody is when they are too many.
static int add_named(const struct descent *descent, FILE *children, pid_t pid, struct error *err)
{
    cleanup_pids struct pid_list named = {0};
    int number;
    while (children != NULL && fscanf(children, "%d", &number) == 1) {
        if (descent->list->count + named.count == descent->limit)
            return too_many(descent, err);
        if (pid_list_add(&named, number, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < named.count; i++) {
        struct process_id child;
        pid_t parent;
        if (take_look(descent, err) != 0)
            return -1;
        if (read_stat(descent->proc, named.pids[i], &parent, &child) && parent == pid &&
            process_list_add(descent->list, &child, err) != 0)
            return -1;
    }
    return 0;
}

// The children of every thread of a process. Processes and threads that are gone have none.
static int add_children(const struct descent *descent, const struct process_id *process,
                        struct error *err)
{
    char path[256];
    size_t before = descent->list->count;
    snprintf(path, sizeof path, "%s/%d/task", descent->proc, (int)process->pid);
    cleanup_closedir DIR *threads = opendir(path);
    if (threads == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        if (pid_of_name(entry->d_name) == 0)
            continue;
        if (take_look(descent, err) != 0)
            return -1;
        char file[600];
        snprintf(file, sizeof file, "%s/%s/children", path, entry->d_name);
        cleanup_fclose FILE *children = fopen(file, "re");
        if (add_named(descent, children, process->pid, err) != 0)
            return -1;
    }
    // Else they may be those of another process, which has the number now.
    if (descent->list->count > before && !processes_is(descent->proc, process))
        descent->list->count = before;
    return 0;
}

static bool has_children_files(const char *proc, pid_t pid)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%d/task/%d/children", proc, (int)pid, (int)pid);
    return access(path, R_OK) == 0;
}

static int descend_by_children(const struct descent *descent, const struct process_id *root,
                               struct error *err)
{
    const struct process_list *list = descent->list;
    if (add_children(descent, root, err) != 0)
        return -1;
    // The list is its own queue.
    for (size_t next = 0; next < list->count; next++) {
        struct process_id process = list->list[next];
        if (add_children(descent, &process, err) != 0)
            return -1;
    }
    return 0;
}

struct born {
    struct process_id process;
    pid_t parent;
    bool taken; // each is found once, whatever circles stale numbers make
};

static int compare_born(const void *left, const void *right)
{
    const struct born *a = left, *b = right;
    return (a->parent > b->parent) - (a->parent < b->parent);
}

static int scan(const struct descent *descent, struct born **all, size_t *count, struct error *err)
{
    const char *proc = descent->proc;
    cleanup_closedir DIR *directory = opendir(proc);
    size_t room = 0;
    if (directory == NULL)
        return error_errno(err, errno, "cannot read %s", proc);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct born one = {.parent = 0};
        pid_t pid = pid_of_name(entry->d_name);
        if (pid == 0)
            continue;
        if (take_look(descent, err) != 0)
            return -1;
        if (!read_stat(proc, pid, &one.parent, &one.process) || one.parent == 0)
            continue;
        if (*count == room) {
            room = room != 0 ? room * 2 : 256;
            struct born *longer = reallocarray(*all, room, sizeof *longer);
            if (longer == NULL)
                return error_errno(err, ENOMEM, "a list of %zu processes", room);
            *all = longer;
        }
        (*all)[(*count)++] = one;
    }
    return 0;
}

static size_t first_born(const struct born *all, size_t count, pid_t parent)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (all[middle].parent < parent)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

// Those whose parent this process is, if it has had its number since before they were looked at.
static int add_born(const struct descent *descent, const struct process_id *process,
                    struct born *all, size_t count, struct error *err)
{
    size_t i = first_born(all, count, process->pid);
    if (i == count || all[i].parent != process->pid || !processes_is(descent->proc, process))
        return 0;
    for (; i < count && all[i].parent == process->pid; i++) {
        if (!all[i].taken && process_list_add(descent->list, &all[i].process, err) != 0)
            return -1;
        all[i].taken = true;
    }
    return descent->list->count <= descent->limit ? 0 : too_many(descent, err);
}

static int descend_by_parents(const struct descent *descent, const struct process_id *root,
                              struct error *err)
{
    const struct process_list *list = descent->list;
    cleanup_free struct born *all = NULL;
    size_t count = 0;
    if (scan(descent, &all, &count, err) != 0)
        return -1;
    if (count > 0)
        qsort(all, count, sizeof *all, compare_born);
    if (add_born(descent, root, all, count, err) != 0)
        return -1;
    for (size_t next = 0; next < list->count; next++) {
        struct process_id process = list->list[next];
        if (add_born(descent, &process, all, count, err) != 0)
            return -1;
    }
    return 0;
}

int processes_descendants(const char *proc, const struct process_id *root, size_t limit,
                          size_t *looks, struct process_list *list, bool *exact, struct error *err)
{
    const struct descent descent = {proc, limit, looks, list};
    int rc;
    list->count = 0;
    // Whoever is gone has no descendants, nor has he such files.
    bool lives = processes_is(proc, root);
    *exact = !lives || !has_children_files(proc, root->pid);
    if (!lives)
        rc = take_look(&descent, err);
    else if (*exact)
        rc = descend_by_parents(&descent, root, err);
    else
        rc = descend_by_children(&descent, root, err);
    process_list_sort(list);
    return rc == 0 ? 0 : error_context(err, "process %d", (int)root->pid);
}

// ---- groups

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

// Who is among the members before and after his start time was read has had the number all the
// time.
int processes_members(const char *directory, size_t limit, struct process_list *list,
                      struct error *err)
{
    cleanup_pids struct pid_list before = {0}, after = {0};
    list->count = 0;
    if (processes_of_group(directory, &before, err) != 0)
        return -1;
    pid_list_sort(&before);
    for (size_t i = 0; i < before.count && list->count < limit; i++) {
        struct process_id one = {before.pids[i], processes_start_time("/proc", before.pids[i])};
        if (one.start_time != 0 && process_list_add(list, &one, err) != 0)
            return -1;
    }
    if (processes_of_group(directory, &after, err) != 0)
        return -1;
    pid_list_sort(&after);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (pid_list_has(&after, list->list[i].pid))
            list->list[kept++] = list->list[i];
    list->count = kept;
    return 0;
}

static int add_subtree(const char *directory, unsigned depth, unsigned *groups,
                       struct pid_list *list, struct error *err)
{
    struct error fault = {0};
    size_t hidden = 0;
    if (++*groups > SUBTREE_GROUPS_MAX)
        return error_set(err, EXDEV, "%s: there are more than %d groups to look at", directory,
                         SUBTREE_GROUPS_MAX);
    if (read_group(directory, list, &hidden, &fault) != 0)
        return fault.code == ENOENT || fault.code == ENODEV
                   ? 0
                   : error_set(err, fault.code == EOPNOTSUPP ? EXDEV : fault.code, "%s",
                               fault.text);
    if (hidden > 0)
        return error_set(err, EXDEV, "%s: %zu processes live in a pid namespace out of sight",
                         directory, hidden);
    cleanup_closedir DIR *below = opendir(directory);
    if (below == NULL && (errno == ENOENT || errno == ENODEV))
        return 0;
    if (below == NULL)
        return error_errno(err, errno, "%s: the groups below it", directory);
    for (struct dirent *entry; (entry = readdir(below)) != NULL;) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        // Nobody could say that there is no stranger below.
        if (depth == 0)
            return error_set(err, EXDEV, "%s: groups are nested too deeply", directory);
        cleanup_free char *path = path_join(directory, entry->d_name);
        if (path == NULL)
            return error_errno(err, ENOMEM, "%s", directory);
        if (add_subtree(path, depth - 1, groups, list, err) != 0)
            return -1;
    }
    return 0;
}

int processes_of_subtree(const char *directory, struct pid_list *list, struct error *err)
{
    unsigned groups = 0;
    return add_subtree(directory, SUBTREE_DEPTH_MAX, &groups, list, err);
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
int processes_look_at(const char *proc, pid_t pid, struct placement_process *process,
                      struct error *err)
{
    char directory[256], text[2048];
    int parent;
    unsigned uid;
    struct error fault = {0};
    snprintf(directory, sizeof directory, "%s/%d", proc, (int)pid);
    if (file_read(directory, "status", text, sizeof text, &fault) != 0)
        return error_set(err, fault.code == ENOENT ? ESRCH : fault.code, "%s", fault.text);
    const char *name = line_of(text, "Name"), *up = line_of(text, "PPid"),
               *owner = line_of(text, "Uid");
    if (name == NULL || up == NULL || owner == NULL || sscanf(up, "%d", &parent) != 1 ||
        sscanf(owner, "%u", &uid) != 1)
        return error_set(err, ESRCH, "process %d is gone", (int)pid);
    name += strspn(name, "\t");
    *process = (struct placement_process){.pid = pid, .parent = parent, .uid = uid};
    snprintf(process->name, sizeof process->name, "%.*s", (int)strcspn(name, "\n"), name);
    return 0;
}

bool processes_look(const char *proc, pid_t pid, struct placement_process *process)
{
    return processes_look_at(proc, pid, process, NULL) == 0;
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
