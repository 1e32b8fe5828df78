#include "ctl/track.h"

#include "common/cleanup.h"
#include "ctl/talk.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const means_names[] = {"default", "share", "freezer", "signals"};

static int parse_number(const char *text, unsigned long most, uint32_t *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > most)
        return -1;
    *number = (uint32_t)value;
    return 0;
}

// *uid stays where the job is named without its user.
static int find_user(const char *job, uint32_t *uid, struct error *err)
{
    const char *slash = strchr(job, '/');
    if (slash == NULL)
        return 0;
    cleanup_free char *user = strndup(job, (size_t)(slash - job));
    if (user == NULL)
        return error_errno(err, ENOMEM, "%s", job);
    const struct passwd *entry = getpwnam(user);
    if (entry != NULL)
        *uid = entry->pw_uid;
    else if (parse_number(user, UINT32_MAX - 1, uid) != 0)
        return error_set(err, ENOENT, "there is no user \"%s\"", user);
    return 0;
}

static int parse_means(const char *word, uint32_t *means, struct error *err)
{
    for (uint32_t i = PROTOCOL_MEANS_SHARE; i <= PROTOCOL_MEANS_SIGNALS; i++)
        if (strcmp(word, means_names[i]) == 0) {
            *means = i;
            return 0;
        }
    return error_set(err, EINVAL, "--means %s: there are share, freezer and signals", word);
}

// All but the user, which only this node knows.
static int parse(const struct track_wish *wish, struct protocol_target *target, struct error *err)
{
    *target = (struct protocol_target){.uid = PROTOCOL_NO_UID};
    if (wish->job == NULL)
        return error_set(err, EINVAL, "which job? See coschedctl jobs");
    const char *slash = strchr(wish->job, '/'), *name = slash != NULL ? slash + 1 : wish->job;
    if (strlen(name) < sizeof target->job_id)
        memcpy(target->job_id, name, strlen(name));
    if (!protocol_job_id_valid(target->job_id))
        return error_set(err, EINVAL, "\"%s\" is no job id: see coschedctl jobs", name);
    if (wish->means != NULL && parse_means(wish->means, &target->means, err) != 0)
        return -1;
    if (wish->subtree != NULL &&
        (parse_number(wish->subtree, INT_MAX, &target->subtree) != 0 || target->subtree == 0))
        return error_set(err, EINVAL, "--subtree %s: give a process id", wish->subtree);
    return 0;
}

int track_check(const struct track_wish *wish, struct error *err)
{
    struct protocol_target target;
    return parse(wish, &target, err);
}

int track_run(const struct config *config, const struct track_wish *wish, bool json,
              struct error *err)
{
    struct protocol_target target;
    struct protocol_tracked tracked;
    if (parse(wish, &target, err) != 0 || find_user(wish->job, &target.uid, err) != 0)
        return -1;
    cleanup_close int fd = talk_connect(config, err);
    if (fd < 0 || talk_track(fd, config, wish->command, &target, &tracked, err) != 0)
        return -1;
    const char *what = wish->command == PROTOCOL_SUSPEND  ? "suspended"
                       : wish->command == PROTOCOL_RESUME ? "resumed"
                                                          : "killed";
    const char *means = tracked.means <= PROTOCOL_MEANS_SIGNALS ? means_names[tracked.means] : "?";
    double took_ms = (double)tracked.took_ns / 1e6;
    if (json)
        printf("{\"job_id\": \"%s\", \"done\": \"%s\", \"means\": \"%s\", \"passes\": %u, "
               "\"took_ms\": %.3f}\n",
               target.job_id, what, means, tracked.passes, took_ms);
    else if (wish->command == PROTOCOL_KILL)
        printf("%s is %s\n", target.job_id, what);
    else
        printf("%s is %s, by %s\n", target.job_id, what, means);
    return 0;
}
