#include "classd/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUCKETS = 4096 };

struct table {
    struct job **jobs;
    size_t job_count;
    size_t job_room;
    size_t process_count;
    uint64_t last_job;
    uint64_t last_serial;
    struct process *buckets[BUCKETS];
};

table_t *table_new(void)
{
    return calloc(1, sizeof(struct table));
}

void table_free(table_t *table)
{
    if (table == NULL)
        return;
    while (table->job_count > 0) {
        struct job *job = table->jobs[table->job_count - 1];
        while (job->process_count > 0)
            table_remove_process(table, job->processes[job->process_count - 1]);
        table_remove_job(table, job);
    }
    free(table->jobs);
    free(table);
}

// The array with room for one more pointer, perhaps moved; null when memory is short.
static void *with_room(void *array, size_t count, size_t *room)
{
    if (count < *room)
        return array;
    size_t wanted = *room > 0 ? 2 * *room : 8;
    void *grown = realloc(array, wanted * sizeof(void *));
    if (grown != NULL)
        *room = wanted;
    return grown;
}

struct job *table_add_job(table_t *table, uid_t uid, const char *job_id)
{
    struct job **jobs = with_room(table->jobs, table->job_count, &table->job_room);
    if (jobs == NULL)
        return NULL;
    table->jobs = jobs;
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return NULL;
    job->id = ++table->last_job;
    job->uid = uid;
    job->page_fd = -1;
    job->demand = DEMAND_OF_A_NEWCOMER;
    snprintf(job->job_id, sizeof job->job_id, "%s", job_id);
    table->jobs[table->job_count++] = job;
    return job;
}

void table_remove_job(table_t *table, struct job *job)
{
    size_t at = 0;
    while (at < table->job_count && table->jobs[at] != job)
        at++;
    if (at == table->job_count)
        return;
    table->job_count--;
    memmove(&table->jobs[at], &table->jobs[at + 1], (table->job_count - at) * sizeof *table->jobs);
    free(job->processes);
    worlds_free(&job->worlds);
    free(job);
}

struct job *table_find_job(const table_t *table, uid_t uid, const char *job_id)
{
    for (size_t i = 0; i < table->job_count; i++) {
        struct job *job = table->jobs[i];
        if (job->uid == uid && strcmp(job->job_id, job_id) == 0)
            return job;
    }
    return NULL;
}

struct job *table_job_with_id(const table_t *table, engine_job_t id)
{
    for (size_t i = 0; i < table->job_count; i++) {
        if (table->jobs[i]->id == id)
            return table->jobs[i];
    }
    return NULL;
}

size_t table_job_count(const table_t *table)
{
    return table->job_count;
}

struct job *table_job_at(const table_t *table, size_t index)
{
    return index < table->job_count ? table->jobs[index] : NULL;
}

static size_t bucket_of(pid_t pid)
{
    return (size_t)pid % BUCKETS;
}

struct process *table_add_process(table_t *table, struct job *job, pid_t pid,
                                  const struct world *world)
{
    struct process **processes = with_room(job->processes, job->process_count, &job->process_room);
    if (processes == NULL)
        return NULL;
    job->processes = processes;
    struct process *process = calloc(1, sizeof *process);
    if (process == NULL || worlds_enter(&job->worlds, world) < 0) {
        free(process);
        return NULL;
    }
    process->pid = pid;
    process->world = world->key;
    process->pidfd = -1;
    process->serial = table_next_serial(table);
    process->job = job;
    process->slot = job->process_count;
    process->next = table->buckets[bucket_of(pid)];
    table->buckets[bucket_of(pid)] = process;
    job->processes[job->process_count++] = process;
    table->process_count++;
    return process;
}

void table_remove_process(table_t *table, struct process *process)
{
    struct process **at = &table->buckets[bucket_of(process->pid)];
    while (*at != process)
        at = &(*at)->next;
    *at = process->next;
    struct job *job = process->job;
    struct process *last = job->processes[--job->process_count];
    job->processes[process->slot] = last;
    last->slot = process->slot;
    table->process_count--;
    worlds_leave(&job->worlds, process->world);
    if (process->pidfd >= 0)
        close(process->pidfd);
    free(process);
}

void table_move_to_world(struct process *process, const struct world *world)
{
    struct worlds *worlds = &process->job->worlds;
    if (worlds_enter(worlds, world) < 0)
        return;
    worlds_leave(worlds, process->world);
    process->world = world->key;
}

struct process *table_find_process(const table_t *table, pid_t pid)
{
    struct process *process = table->buckets[bucket_of(pid)];
    while (process != NULL && process->pid != pid)
        process = process->next;
    return process;
}

size_t table_process_count(const table_t *table)
{
    return table->process_count;
}

uint64_t table_next_serial(table_t *table)
{
    return ++table->last_serial;
}
