#include "pmpi/variant/announcement.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

// What it takes the schedulers of all nodes to take a job in, mostly.
#define UNTIL_KNOWN_NS (50 * NS_PER_MS)

_Static_assert(sizeof(struct announcement) == PROTOCOL_JOB_ID_MAX, "as older libraries have it");

// From here on, steps are no launches of programs, but shells and scripts that may launch several.
#define SLURM_STEPS_MAX UINT64_C(0xfffffff0)

#define STEP "/step_"

// Nor is a step of one task that somebody types in, who may launch several there. What is launched
// from there by srun has the variable, too, and its own number of tasks.
static bool is_one_launch(const char *slurm_step)
{
    char *end;
    uint64_t step = strtoull(slurm_step, &end, 10);
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    return end != slurm_step && *end == '\0' && step < SLURM_STEPS_MAX &&
           (getenv("SLURM_PTY_PORT") == NULL || (tasks != NULL && strtoull(tasks, NULL, 10) > 1));
}

// A batch script may have the variable of the step in which it was submitted (Slurm up to 25.11).
// What it has launched without srun lives in its group, as step_batch, which has no number; not to
// be seen in a namespace of control groups.
static bool in_a_script(const char *membership)
{
    cleanup_fclose FILE *file = fopen(membership, "re");
    char line[4096];
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        const char *step = strstr(line, STEP);
        found = step != NULL && !isdigit((unsigned char)step[strlen(STEP)]);
    }
    return found;
}

static void choose_job_id(char id[PROTOCOL_JOB_ID_MAX], const char *membership)
{
    const char *slurm_job = getenv("SLURM_JOB_ID"), *slurm_step = getenv("SLURM_STEP_ID");
    uint64_t random = 0;
    memset(id, 0, PROTOCOL_JOB_ID_MAX);
    if (slurm_job != NULL && slurm_step != NULL && is_one_launch(slurm_step) &&
        !in_a_script(membership)) {
        snprintf(id, PROTOCOL_JOB_ID_MAX, "slurm-%s.%s", slurm_job, slurm_step);
        if (protocol_job_id_valid(id))
            return;
    }
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = clock_now_ns() ^ (uint64_t)getpid() << 40;
    snprintf(id, PROTOCOL_JOB_ID_MAX, "mpi-%016" PRIx64, random);
}

static bool has_time(const struct announcement *said)
{
    return memchr(said->job_id, '\0', sizeof said->job_id) != NULL;
}

struct announcement announcement_of(const char job_id[PROTOCOL_JOB_ID_MAX], uint64_t now_ns)
{
    struct announcement own;
    memcpy(&own, job_id, sizeof own);
    if (has_time(&own))
        own.starts_ns = now_ns + UNTIL_KNOWN_NS;
    return own;
}

struct announcement announcement_new(uint64_t now_ns, const char *membership)
{
    char id[PROTOCOL_JOB_ID_MAX];
    choose_job_id(id, membership);
    return announcement_of(id, now_ns);
}

uint64_t announcement_read(const struct announcement *said, char job_id[PROTOCOL_JOB_ID_MAX])
{
    memset(job_id, 0, PROTOCOL_JOB_ID_MAX);
    memcpy(job_id, said, has_time(said) ? sizeof said->job_id : sizeof *said);
    return has_time(said) ? said->starts_ns : 0;
}
