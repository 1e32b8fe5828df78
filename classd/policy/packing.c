// Who is scheduled together, who goes first and who may not wait longer: what policies of this kind
// share. The departures (b) and (c) are argued in doc/design/main-job.md.
#include "classd/policy/packing.h"

// (b) Packing: "the scheduled job" of the paper is here a set whose widths fit the CPUs together. A
// job wider than the node is a set of its own.
struct room packing_room(const struct policy_node *node)
{
    struct room set = {0};
    for (size_t i = 0; i < node->count; i++) {
        if (node->jobs[i].next)
            room_add(node, &set, &node->jobs[i]);
    }
    return set;
}

bool packing_fits(const struct policy_node *node, const struct policy_job *job)
{
    struct room set = packing_room(node);
    return room_fits(node, &set, job);
}

// (c) Accounts that differ by less than equal_ns are equal: nodes read them at different moments,
// and noise must not let them choose differently.
static bool clearly_more(uint64_t more, uint64_t less, uint64_t equal_ns)
{
    return more > less && more - less >= equal_ns;
}

// Among equals: who has waited longest. A scheduled job has not waited, so equal jobs rotate; of
// several scheduled ones the last to come has had least of the node. Registration order decides
// what is left: jobs of several nodes start in the same order nearly always.
static bool goes_before(const struct policy_job *one, const struct policy_job *other)
{
    if (one->slices_waited != other->slices_waited)
        return one->slices_waited > other->slices_waited;
    if (one->scheduled && other->scheduled && one->scheduled_since_ns != other->scheduled_since_ns)
        return one->scheduled_since_ns > other->scheduled_since_ns;
    return one < other;
}

enum among { ALL_JOBS, PRESENT_MEMBERS };

// `set`: the next one; null: whether it fits there is not asked.
static bool may_join(const struct policy_node *node, const struct policy_job *job,
                     const struct room *set, enum among among)
{
    return !job->next && (among == ALL_JOBS || job->scheduled) &&
           (set == NULL || room_fits(node, set, job));
}

static uint64_t least_service_ns(const struct policy_node *node, const struct room *set,
                                 enum among among)
{
    uint64_t least_ns = UINT64_MAX;
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *job = &node->jobs[i];
        if (may_join(node, job, set, among) && job->service_ns < least_ns)
            least_ns = job->service_ns;
    }
    return least_ns;
}

// "The local scheduler selects a job which has received the least CPU time as the next job to run
// to maintain fairness" (section 2.1), of those that are not in the next set and fit beside
// it.
static struct policy_job *least_served(struct policy_node *node, const struct room *set,
                                       enum among among, uint64_t equal_ns)
{
    uint64_t least_ns = least_service_ns(node, set, among);
    struct policy_job *best = NULL;
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *job = &node->jobs[i];
        if (may_join(node, job, set, among) && !clearly_more(job->service_ns, least_ns, equal_ns) &&
            (best == NULL || goes_before(job, best)))
            best = job;
    }
    return best;
}

enum leaving { FOR_A_REQUEST, AFTER_A_CHANGE };

// After a change nobody has asked: whom the slice was given to stays.
static bool may_leave(const struct policy_node *node, const struct policy_job *job, uint64_t age_ns,
                      enum leaving leaving)
{
    return job->next && job->scheduled && node->now_ns - job->scheduled_since_ns >= age_ns &&
           (leaving == FOR_A_REQUEST || !job->first);
}

// Of equals, a request has the last in the line go; after a change it is the last to come.
static bool leaves_before(const struct policy_job *one, const struct policy_job *other,
                          enum leaving leaving)
{
    if (leaving == FOR_A_REQUEST)
        return goes_before(other, one);
    return one->scheduled_since_ns != other->scheduled_since_ns
               ? one->scheduled_since_ns > other->scheduled_since_ns
               : one > other;
}

// The other end of the line: the member to be missed first, of those scheduled for at least age_ns.
static struct policy_job *most_served(struct policy_node *node, uint64_t age_ns, uint64_t equal_ns,
                                      enum leaving leaving)
{
    uint64_t most_ns = 0;
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *job = &node->jobs[i];
        if (may_leave(node, job, age_ns, leaving) && job->service_ns > most_ns)
            most_ns = job->service_ns;
    }
    struct policy_job *worst = NULL;
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *job = &node->jobs[i];
        if (may_leave(node, job, age_ns, leaving) &&
            !clearly_more(most_ns, job->service_ns, equal_ns) &&
            (worst == NULL || leaves_before(job, worst, leaving)))
            worst = job;
    }
    return worst;
}

static void fill(struct policy_node *node, enum among among, uint64_t equal_ns)
{
    struct room set = packing_room(node);
    struct policy_job *job;
    while ((job = least_served(node, &set, among, equal_ns)) != NULL) {
        job->next = true;
        room_add(node, &set, job);
    }
}

void packing_fill(struct policy_node *node, uint64_t equal_ns)
{
    fill(node, ALL_JOBS, equal_ns);
}

struct policy_job *packing_least_served(struct policy_node *node, uint64_t equal_ns)
{
    return least_served(node, NULL, ALL_JOBS, equal_ns);
}

// Takes members out of the next set, most served first, until it fits. Members that fit after all,
// because a wider one had to go too, stay: nobody is disturbed for nothing. False when the set
// cannot be made to fit by members that may leave.
static bool make_fit(struct policy_node *node, uint64_t age_ns, uint64_t equal_ns,
                     enum leaving leaving)
{
    while (packing_room(node).over) {
        struct policy_job *job = most_served(node, age_ns, equal_ns, leaving);
        if (job == NULL)
            return false;
        job->next = false;
    }
    fill(node, PRESENT_MEMBERS, equal_ns);
    return true;
}

bool packing_make_room(struct policy_node *node, uint64_t age_ns, uint64_t equal_ns)
{
    return make_fit(node, age_ns, equal_ns, FOR_A_REQUEST);
}

static void forget_the_first(struct policy_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].first = false;
}

void packing_make_fit(struct policy_node *node, uint64_t equal_ns)
{
    if (make_fit(node, 0, equal_ns, AFTER_A_CHANGE))
        return;
    forget_the_first(node);
    make_fit(node, 0, equal_ns, AFTER_A_CHANGE);
}

void packing_give_slice(struct policy_node *node, struct policy_job *job)
{
    forget_the_first(node);
    job->next = job->first = true;
}

// CMDREG and CMDOUT. A newcomer is idle ("a newly created class receives 1% of CPU time
// initially"), but for (b): it takes room that nobody uses. Room that a job leaves goes to the
// least served. A job that grows has no better claim than its fellow members, so the most served
// goes, be it the grown one or not, but never whose slice it is: growing must not be a way to drive
// others out, and a job whose processes register one after the other begins as a newcomer. GMET
// protects from requests only; here the CPUs are overcommitted until somebody goes.
void packing_on_change(struct policy_node *node, uint64_t equal_ns)
{
    packing_make_fit(node, equal_ns);
    packing_fill(node, equal_ns);
}

static int64_t slices_left(const struct policy_job *job, uint32_t rounds)
{
    return (int64_t)rounds * job->most_jobs - job->slices_waited;
}

// (c) Bounded waiting: no job waits more than r n slices, n being the most jobs that the node had
// during its wait and r the number of rounds that the policy allows. The paper's rule alone
// promises nothing: a job that is scheduled but blocked in I/O stays the least served for as long
// as it blocks. One idle job can be served in each later slice for certain (packing only helps), so
// the wait of all is bounded when, for every s, at most s jobs have s or fewer slices left: the
// test of earliest deadline first. Choosing the job with the fewest left always passes it: at most
// n - 1 jobs are idle, each new wait begins with n - 1 slices left, and a choice of any kind only
// takes a job out of the line.
static bool others_can_wait(const struct policy_node *node, const struct policy_job *chosen,
                            uint32_t rounds)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *job = &node->jobs[i];
        if (job->scheduled || job == chosen)
            continue;
        int64_t in_line = 0;
        for (size_t k = 0; k < node->count; k++) {
            const struct policy_job *other = &node->jobs[k];
            if (!other->scheduled && other != chosen &&
                slices_left(other, rounds) <= slices_left(job, rounds))
                in_line++;
        }
        if (in_line > slices_left(job, rounds))
            return false;
    }
    return true;
}

static struct policy_job *longest_waiting(struct policy_node *node, uint32_t rounds)
{
    struct policy_job *longest = NULL;
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *job = &node->jobs[i];
        if (job->scheduled)
            continue;
        if (longest == NULL || slices_left(job, rounds) < slices_left(longest, rounds) ||
            (slices_left(job, rounds) == slices_left(longest, rounds) && goes_before(job, longest)))
            longest = job;
    }
    return longest;
}

void packing_begin_slice(struct policy_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].next = false;
}

// Who has fewest slices left by one number of rounds may have more than another by the other, and
// the greater number is what all are promised.
struct policy_job *packing_choose(struct policy_node *node, struct policy_job *chosen,
                                  uint32_t rounds)
{
    if (!others_can_wait(node, chosen, rounds))
        chosen = longest_waiting(node, rounds);
    if (!others_can_wait(node, chosen, POLICY_ROUNDS_MOST))
        chosen = longest_waiting(node, POLICY_ROUNDS_MOST);
    packing_give_slice(node, chosen);
    return chosen;
}

bool packing_displaces(const struct policy_node *node, uint64_t *least_ns)
{
    bool somebody = false;
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *job = &node->jobs[i];
        if (!job->scheduled || job->next)
            continue;
        if (!somebody || job->service_ns < *least_ns)
            *least_ns = job->service_ns;
        somebody = true;
    }
    return somebody;
}

enum engine_outcome packing_discard(struct policy_node *node, enum engine_outcome outcome)
{
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].next = node->jobs[i].scheduled;
    return outcome;
}
