// Policy gang in the scheduler: slots as jobs agree about them, clocks that are off or set, and who
// is told to look for more.
#include "classd/command.h"
#include "tests/unit/scheduler_jobs.h"

#include <errno.h>

static void become_gang(struct node *node)
{
    strcpy(node->config.policy, "gang");
    node->config.gang_slot_ns = 200 * NS_PER_MS;
    scheduler_reconfigure(node->scheduler, node->now_ns);
}

// As ranks do at MPI_Init: asks, chooses, reserves, takes.
static uint64_t agree_alone(struct node *node, const struct process *process)
{
    struct slots_offer offer = slots_offer_any();
    struct protocol_offer answer;
    scheduler_offer(node->scheduler, process, &answer, node->now_ns);
    for (unsigned i = 0; i < SLOTS_LEVELS; i++) {
        offer.slots[i] = answer.slots[i];
        offer.most[i] = slots_most(answer.most[i]);
    }
    offer.cut = answer.cut;
    offer.room = slots_most(SLOTS_ROUND - answer.dummies);
    struct slots_choice choice = slots_choose(&offer, 1);
    struct protocol_claim claim = {.slots = choice.slots, .due = choice.due, .term = 3};
    claim.slots = scheduler_claim(node->scheduler, process, &claim, node->now_ns);
    claim.final = 1;
    return scheduler_claim(node->scheduler, process, &claim, node->now_ns);
}

static uint64_t word_of(const struct process *process)
{
    return process->job->page->slots;
}

// The clock says whose slot it is, however late it is asked; pages tell who has which.
static void slots_are_agreed_and_kept_to(void **state)
{
    struct node *node = *state;
    become_gang(node);
    struct process *a = come(node, "a", A);
    assert_int_equal(agree_alone(node, a), SLOTS_ALL);
    struct process *b = come(node, "b", B);
    assert_int_equal(slots_count(agree_alone(node, b)), 30);
    assert_int_equal(slots_of_word(word_of(a)) ^ slots_of_word(word_of(b)), SLOTS_ALL);
    assert_int_equal(slots_term_of_word(word_of(b)), 3);
    for (uint64_t turn = 600; turn < 720; turn++) {
        uint64_t wall_ns = turn * node->config.gang_slot_ns + turn % 3 * 60 * NS_PER_MS;
        node->now_ns += node->config.gang_slot_ns;
        scheduler_switch(node->scheduler, node->now_ns, wall_ns);
        bool own = slots_of_word(word_of(b)) >> turn % SLOTS_ROUND & 1;
        assert_int_equal(flags_of(node, "b") & STATUS_SCHEDULED, own ? STATUS_SCHEDULED : 0);
        assert_int_equal(flags_of(node, "a") & STATUS_SCHEDULED, own ? 0 : STATUS_SCHEDULED);
    }
}

static uint64_t cut_of(struct node *node, const struct process *process)
{
    struct protocol_offer answer;
    scheduler_offer(node->scheduler, process, &answer, node->now_ns);
    return answer.cut;
}

// A job begins in the list that it asks for, or in the first; the next classd knows.
static void jobs_begin_in_a_list(void **state)
{
    static const struct {
        const char *list;
        uint64_t cut;
    } jobs[] = {{"", SLOTS_ALL}, {"long", UINT64_C(0x111111111111111)}, {"nowhere", SLOTS_ALL}};
    struct node *node = *state;
    pid_t pids[sizeof jobs / sizeof *jobs];
    strcpy(node->config.gang_lists, "short:1:10min long:4");
    become_gang(node);
    for (unsigned i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const char id[] = {(char)('a' + i), '\0'};
        pids[i] = sleeper();
        node->list = jobs[i].list;
        assert_int_equal(cut_of(node, come(node, id, pids[i])), jobs[i].cut);
        node->list = NULL;
        adopt_anew(node, false);
        assert_int_equal(cut_of(node, come(node, id, pids[i])), jobs[i].cut);
    }
    for (unsigned i = 0; i < sizeof jobs / sizeof *jobs; i++)
        end(pids[i]);
}

static void slots_narrow_by_what_others_say(void **state)
{
    struct node *node = *state;
    struct protocol_job_record record;
    become_gang(node);
    struct process *a = come(node, "a", A);
    agree_alone(node, a);
    struct protocol_claim claim = {.slots = 0xff, .term = 2};
    uint32_t epoch = status_word_epoch(a->job->page->word);
    scheduler_narrow(node->scheduler, a, &claim);
    assert_int_equal(slots_of_word(word_of(a)), SLOTS_ALL);
    assert_int_equal(status_word_epoch(a->job->page->word), epoch);
    claim.term = 3;
    scheduler_narrow(node->scheduler, a, &claim);
    assert_int_equal(slots_of_word(word_of(a)), 0xff);
    assert_int_equal(status_word_epoch(a->job->page->word), epoch + 1); // for others to be told
    scheduler_narrow(node->scheduler, a, &claim);
    assert_int_equal(status_word_epoch(a->job->page->word), epoch + 1);
    scheduler_describe_job(node->scheduler, 0, true, 0, &record, node->now_ns);
    assert_int_equal(record.slots, 0xff);
    assert_int_equal(record.slots_agreed, 1);
}

// So many slots pass; returns how often the page told job a's processes to look.
static unsigned pass_slots(struct node *node, const struct process *a, uint64_t *turn,
                           unsigned count)
{
    uint32_t epoch = status_word_epoch(a->job->page->word);
    for (unsigned i = 0; i < count; i++) {
        node->now_ns += node->config.gang_slot_ns;
        scheduler_switch(node->scheduler, node->now_ns, ++*turn * node->config.gang_slot_ns);
    }
    return status_word_epoch(a->job->page->word) - epoch;
}

static void suspend_or_resume(struct node *node, const struct process *process, bool suspend)
{
    struct tracking_order order = {.kind = suspend ? TRACKING_SUSPEND : TRACKING_RESUME,
                                   .means = suspend ? PROTOCOL_MEANS_SHARE : 0};
    struct tracking_result result;
    assert_true(scheduler_track(node->scheduler, process->job, &order, node->now_ns, &result));
    assert_int_equal(result.fault.code, 0);
}

// Its other nodes take what was agreed; here it keeps what it has of that, so that all say the
// same of the same agreement.
static void a_suspended_job_is_of_the_agreement(void **state)
{
    struct node *node = *state;
    struct protocol_claim all = {.slots = SLOTS_ALL, .due = 30, .term = 4, .final = 1};
    become_gang(node);
    struct process *a = come(node, "a", A), *b = come(node, "b", B);
    agree_alone(node, a);
    agree_alone(node, b);
    uint64_t before = slots_of_word(word_of(a)), of_b = word_of(b);
    suspend_or_resume(node, a, true);
    assert_int_equal(scheduler_claim(node->scheduler, a, &all, node->now_ns), before);
    assert_int_equal(word_of(a), slots_word(before, 4));
    assert_int_equal(word_of(b), of_b);
    all.slots = 0xff;
    all.term = 5;
    scheduler_claim(node->scheduler, a, &all, node->now_ns);
    assert_int_equal(word_of(a), slots_word(before & 0xff, 5));
    suspend_or_resume(node, a, false);
    assert_int_equal(word_of(a), slots_word(before & 0xff, 5));
}

// Else it would never ask for any.
static void a_job_suspended_before_it_agreed_has_slots_when_it_is_back(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    become_gang(node);
    struct process *a = come(node, "a", A);
    suspend_or_resume(node, a, true);
    assert_int_equal(agree_alone(node, a), 0);
    suspend_or_resume(node, a, false);
    pass_slots(node, a, &turn, 2 * SLOTS_ROUND);
    assert_int_equal(word_of(a), slots_word(SLOTS_ALL, 3));
}

static const struct protocol_clock ahead = {
    .ahead_ns = 3 * (int64_t)NS_PER_SEC, .nodes = 3, .agreeing = 2};

static uint32_t clock_off_jobs(const struct node *node)
{
    struct protocol_node_record record;
    scheduler_describe_node(node->scheduler, &record, node->now_ns);
    return record.clock_off_jobs;
}

// A job's word about the clock costs that job its slots, and nobody else.
static void a_clock_that_is_off_costs_the_job_its_slots(void **state)
{
    struct node *node = *state;
    struct protocol_job_record record;
    become_gang(node);
    struct process *a = come(node, "a", A);
    agree_alone(node, a);
    struct process *b = come(node, "b", B);
    agree_alone(node, b);
    uint64_t others = word_of(a);
    assert_false(scheduler_clock_off(b));
    scheduler_report_clock(node->scheduler, b, &ahead);
    assert_true(scheduler_clock_off(b));
    assert_false(scheduler_clock_off(a));
    assert_int_equal(word_of(b), 0); // nor a term, so that nobody elsewhere takes it for a loss
    assert_int_equal(word_of(a), others);
    scheduler_describe_job(node->scheduler, 0, true, 1, &record, node->now_ns);
    assert_int_equal(record.clock.ahead_ns, ahead.ahead_ns);
    assert_int_equal(record.slots_agreed, 0);
    assert_int_equal(clock_off_jobs(node), 1);
    scheduler_report_clock(node->scheduler, b, &(struct protocol_clock){.nodes = 3, .agreeing = 3});
    assert_false(scheduler_clock_off(b));
    assert_int_equal(clock_off_jobs(node), 0);
}

static struct protocol_reply say(struct node *node, const struct process *process,
                                 struct protocol_request request)
{
    struct commands commands = {.scheduler = node->scheduler, .config = &node->config};
    struct caller caller = {.peer.pid = process->pid, .socket_fd = -1, .serial = process->serial};
    struct protocol_reply reply;
    int page_fd;
    assert_true(command_execute(&commands, &caller, &request, node->now_ns, &reply, &page_fd));
    return reply;
}

// The job's other nodes agree without this one: it is for anything, and takes nothing.
static void where_the_clock_is_off_the_choice_is_left_to_others(void **state)
{
    struct node *node = *state;
    become_gang(node);
    struct process *a = come(node, "a", A);
    agree_alone(node, a);
    struct process *b = come(node, "b", B);
    struct protocol_request clock = protocol_request_new(PROTOCOL_CLOCK, 1);
    struct protocol_request offer = protocol_request_new(PROTOCOL_OFFER, 2);
    struct protocol_request claim = protocol_request_new(PROTOCOL_CLAIM, 3);
    clock.clock = ahead;
    assert_int_equal(say(node, b, clock).header.status, 0);
    struct protocol_reply reply = say(node, b, offer);
    for (unsigned i = 0; i < SLOTS_LEVELS; i++) {
        assert_int_equal(reply.offer.slots[i], SLOTS_ALL);
        assert_int_equal(reply.offer.most[i], SLOTS_ROUND);
    }
    claim.claim = (struct protocol_claim){.slots = 0xf0f, .due = 30, .term = 3};
    assert_int_equal(say(node, b, claim).claimed.slots, 0xf0f);
    claim.claim.final = 1;
    assert_int_equal(say(node, b, claim).claimed.slots, 0);
    assert_int_equal(word_of(b), 0);
    assert_int_equal(slots_of_word(word_of(a)), SLOTS_ALL);

    strcpy(node->config.policy, "yoo-jette");
    assert_int_equal(say(node, b, clock).header.status, EOPNOTSUPP);
}

// It has its turns all the same; without any job that has slots as under yoo-jette.
static void a_job_with_its_clock_off_gets_its_part(void **state)
{
    struct node *node = *state;
    unsigned out = 0;
    become_gang(node);
    struct process *a = come(node, "a", A);
    agree_alone(node, a);
    struct process *b = come(node, "b", B);
    scheduler_report_clock(node->scheduler, b, &ahead);
    for (uint64_t turn = 600; turn < 720; turn++) {
        node->now_ns += node->config.gang_slot_ns;
        scheduler_switch(node->scheduler, node->now_ns, turn * node->config.gang_slot_ns);
        out += (flags_of(node, "b") & STATUS_SCHEDULED) != 0;
    }
    assert_in_range(out, 58, 62);
}

static void adoption_keeps_what_a_job_said_about_the_clock(void **state)
{
    struct node *node = *state;
    pid_t first = sleeper();
    become_gang(node);
    struct process *a = come(node, "a", first);
    scheduler_report_clock(node->scheduler, a, &ahead);
    adopt_anew(node, false);
    assert_int_equal(clock_off_jobs(node), 1);
    a = come(node, "a", first);
    assert_true(scheduler_clock_off(a));
    end(first);
}

static void set_clock(struct node *node, int64_t by_ns)
{
    static int64_t offset_ns = 1700000000 * (int64_t)NS_PER_SEC;
    offset_ns += by_ns;
    scheduler_clock_at(node->scheduler, offset_ns);
}

// Then this node's slots are not those of its jobs' other nodes.
static void a_clock_that_is_set_costs_jobs_of_several_nodes_their_slots(void **state)
{
    struct node *node = *state;
    int64_t tenth_ns = (int64_t)(20 * NS_PER_MS);
    become_gang(node);
    struct process *a = come(node, "a", A), *b = come(node, "b", B);
    b->job->worlds.all->ranks = 2;
    agree_alone(node, a);
    agree_alone(node, b);
    uint64_t here = word_of(a);
    set_clock(node, 0);
    set_clock(node, tenth_ns);
    assert_int_equal(clock_off_jobs(node), 0);
    set_clock(node, 1); // in all
    assert_int_equal(clock_off_jobs(node), 1);
    assert_int_equal(word_of(a), here);
    assert_int_equal(word_of(b), 0);
    struct process *c = come(node, "c", C); // it agrees by the clock as it is now
    c->job->worlds.all->ranks = 2;
    agree_alone(node, c);
    set_clock(node, -tenth_ns);
    assert_false(scheduler_clock_off(c));
    set_clock(node, -(int64_t)(3600 * NS_PER_SEC));
    assert_true(scheduler_clock_off(c));
    assert_int_equal(word_of(a), here);
}

// That it has none at the moment does not make the numbers right that it agrees about later.
static void a_clock_that_is_set_costs_those_their_agreement_who_hold_no_slots(void **state)
{
    struct node *node = *state;
    struct protocol_claim nothing = {.term = 3, .final = 1};
    become_gang(node);
    struct process *a = come(node, "a", A), *b = come(node, "b", B);
    a->job->worlds.all->ranks = b->job->worlds.all->ranks = 2;
    set_clock(node, 0);
    scheduler_claim(node->scheduler, a, &nothing, node->now_ns);
    set_clock(node, (int64_t)NS_PER_SEC);
    assert_true(scheduler_clock_off(a));
    assert_false(scheduler_clock_off(b)); // it is about to agree by the clock as it is now
}

static void set_slot(struct node *node, uint64_t slot_ns)
{
    node->config.gang_slot_ns = slot_ns;
    scheduler_reconfigure(node->scheduler, node->now_ns);
}

// Until its other nodes have been reloaded, too, and then as nobody agrees about slots again.
static void slots_of_another_length_cost_jobs_of_several_nodes_theirs(void **state)
{
    struct node *node = *state;
    become_gang(node);
    struct process *a = come(node, "a", A), *b = come(node, "b", B);
    b->job->worlds.all->ranks = 2;
    agree_alone(node, a);
    agree_alone(node, b);
    uint64_t here = word_of(a);
    set_slot(node, 200 * NS_PER_MS); // as it is
    assert_int_not_equal(word_of(b), 0);
    struct process *c = come(node, "c", C); // it is about to ask
    c->job->worlds.all->ranks = 2;
    set_slot(node, 500 * NS_PER_MS);
    assert_int_equal(word_of(a), here);
    assert_int_equal(word_of(b), 0);
    assert_true(scheduler_clock_off(b));
    assert_true(scheduler_clock_off(c));
    assert_int_equal(clock_off_jobs(node), 0); // the clock is right
    set_slot(node, 200 * NS_PER_MS);
    assert_true(scheduler_clock_off(b));
}

// While some of its processes have still to register it looks like a job of several nodes.
static void slots_of_another_length_cost_a_job_of_one_node_nothing(void **state)
{
    struct node *node = *state;
    become_gang(node);
    struct process *a = come(node, "a", A);
    a->job->worlds.all->ranks = 2;
    set_slot(node, 500 * NS_PER_MS);
    assert_true(scheduler_clock_off(a));
    come(node, "a", A2);
    assert_false(scheduler_clock_off(a));
    agree_alone(node, a);
    assert_int_equal(slots_of_word(word_of(a)), SLOTS_ALL);
}

// It may have been told so while it did not run, or another policy in between.
static void slots_of_another_length_are_seen_at_the_start(void **state)
{
    struct node *node = *state;
    become_gang(node);
    pid_t first = sleeper(), second = sleeper();
    struct process *a = come(node, "a", first), *b = come(node, "b", second);
    b->job->worlds.all->ranks = 2;
    b->job->page->worlds[0].ranks = b->job->page->ranks = 2;
    agree_alone(node, a);
    agree_alone(node, b);
    uint64_t here = word_of(a);
    node->config.gang_slot_ns = 500 * NS_PER_MS;
    adopt_anew(node, false);
    a = come(node, "a", first);
    world_of_who_comes.ranks = 2;
    b = come(node, "b", second);
    world_of_who_comes.ranks = 1;
    assert_int_equal(word_of(a), here);
    assert_false(scheduler_clock_off(a));
    assert_int_equal(word_of(b), 0);
    assert_true(scheduler_clock_off(b));
    end(first);
    end(second);
}

static void under_other_policies_a_clock_may_be_set(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    a->job->worlds.all->ranks = 2;
    set_clock(node, 0);
    set_clock(node, (int64_t)NS_PER_SEC);
    assert_false(scheduler_clock_off(a));
}

// timerd is dead, and classd switches at every second slice: by the clock that would be the same
// job's each time.
static void nobody_starves_without_timerd(void **state)
{
    struct node *node = *state;
    unsigned out = 0;
    become_gang(node);
    agree_alone(node, come(node, "a", A));
    agree_alone(node, come(node, "b", B));
    scheduler_switch(node->scheduler, node->now_ns, 600 * node->config.gang_slot_ns);
    uint64_t start_ns = node->now_ns;
    for (int i = 0; i < 30; i++) {
        node->now_ns = scheduler_deadline_ns(node->scheduler);
        uint64_t wall_ns = 600 * node->config.gang_slot_ns + node->now_ns - start_ns;
        scheduler_deadline(node->scheduler, node->now_ns, wall_ns);
        out += (flags_of(node, "a") & STATUS_SCHEDULED) != 0;
    }
    assert_in_range(out, 14, 16);
}

// Of two jobs, one of them on other nodes too if `elsewhere`, the other ends. Nobody is told
// anything before.
static struct process *open_halves_of_which_one_ends(struct node *node, bool elsewhere,
                                                     uint64_t *turn)
{
    become_gang(node);
    struct process *a = come(node, "a", A);
    a->job->worlds.all->ranks = elsewhere ? 2 : 1;
    agree_alone(node, a);
    struct process *b = come(node, "b", B);
    agree_alone(node, b);
    pass_slots(node, a, turn, 2 * SLOTS_ROUND);
    assert_int_equal(slots_count(slots_of_word(word_of(a))), 30);
    assert_int_equal(a->job->page->more_slots, 0);
    scheduler_exit(node->scheduler, b, node->now_ns);
    return a;
}

static void a_job_of_this_node_alone_takes_what_is_free(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    struct process *a = open_halves_of_which_one_ends(node, false, &turn);
    pass_slots(node, a, &turn, 2 * SLOTS_ROUND);
    assert_int_equal(slots_of_word(word_of(a)), SLOTS_ALL);
    assert_int_equal(slots_term_of_word(word_of(a)), 3);
    assert_int_equal(pass_slots(node, a, &turn, 5 * SLOTS_ROUND), 0);
    assert_int_equal(a->job->page->more_slots, 0);
}

static void a_job_of_other_nodes_is_told_to_look(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    struct process *a = open_halves_of_which_one_ends(node, true, &turn);
    pass_slots(node, a, &turn, 2 * SLOTS_ROUND);
    assert_int_equal(slots_count(slots_of_word(word_of(a))), 30);
    uint8_t sign = a->job->page->more_slots;
    assert_int_not_equal(sign, 0);
    pass_slots(node, a, &turn, 6 * SLOTS_ROUND);
    assert_int_not_equal(a->job->page->more_slots, sign);
    sign = a->job->page->more_slots;
    assert_int_not_equal(sign, 0);
    // In each slot once, the same thing as a rule: it has looked in vain some times.
    unsigned told = 0;
    for (unsigned i = 0; i < 2 * SLOTS_ROUND; i++) {
        assert_int_equal(pass_slots(node, a, &turn, 1), 1);
        told += a->job->page->more_slots != sign;
        sign = a->job->page->more_slots;
    }
    assert_in_range(told, 0, 1);
    assert_int_equal(agree_alone(node, a), SLOTS_ALL);
    assert_int_equal(a->job->page->more_slots, 0);
    pass_slots(node, a, &turn, 5 * SLOTS_ROUND);
    assert_int_equal(a->job->page->more_slots, 0);
}

// However often it has looked in vain before.
static void a_job_is_told_to_look_soon_after_somebody_came_or_went(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    struct process *a = open_halves_of_which_one_ends(node, true, &turn);
    pass_slots(node, a, &turn, 30 * SLOTS_ROUND);
    for (unsigned i = 0; i < 4; i++) {
        uint8_t sign = a->job->page->more_slots;
        struct process *c = come(node, "c", B);
        c->job->worlds.all->ranks = 2;
        pass_slots(node, a, &turn, 40);
        assert_int_not_equal(a->job->page->more_slots, sign);
        sign = a->job->page->more_slots;
        scheduler_exit(node->scheduler, c, node->now_ns);
        pass_slots(node, a, &turn, 40);
        assert_int_not_equal(a->job->page->more_slots, sign);
    }
}

// Nor where it has lost some, once or several times, whoever else is there.
static void a_job_is_told_to_look_soon_after_it_has_lost_slots(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    struct process *a = open_halves_of_which_one_ends(node, true, &turn);
    for (unsigned i = 0; i < 4; i++) {
        pass_slots(node, a, &turn, 30 * SLOTS_ROUND);
        uint8_t sign = a->job->page->more_slots;
        for (unsigned times = 0; times < 1 + i % 2; times++) {
            uint64_t own = slots_of_word(word_of(a));
            struct protocol_claim lost = {.slots = own & (own - 1), .term = 3};
            scheduler_narrow(node->scheduler, a, &lost);
        }
        pass_slots(node, a, &turn, 30);
        assert_int_not_equal(a->job->page->more_slots, sign);
    }
}

// It has other things to do with the little CPU time that it has then.
static void an_idle_job_is_not_told_to_look(void **state)
{
    struct node *node = *state;
    struct protocol_claim claim = {.slots = 0xff, .term = 3};
    uint64_t turn = 600;
    unsigned idle = 0;
    become_gang(node);
    struct process *a = come(node, "a", A);
    a->job->worlds.all->ranks = 2;
    agree_alone(node, a);
    agree_alone(node, come(node, "b", B));
    scheduler_narrow(node->scheduler, a, &claim);
    pass_slots(node, a, &turn, SLOTS_ROUND);
    assert_int_not_equal(a->job->page->more_slots, 0);
    for (unsigned i = 0; i < SLOTS_ROUND; i++) {
        uint16_t before = flags_of(node, "a");
        unsigned changes = pass_slots(node, a, &turn, 1);
        if ((before & STATUS_SCHEDULED) != 0 || (flags_of(node, "a") & STATUS_SCHEDULED) != 0)
            continue;
        assert_int_equal(changes, 0);
        idle++;
    }
    assert_true(idle > 0);
}

// Its other nodes know of nothing. A job of one node has no others: it was there before the policy
// was this one, say.
static void who_never_agreed_is_given_nothing_elsewhere(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    become_gang(node);
    struct process *a = come(node, "a", A), *b = come(node, "b", B);
    a->job->worlds.all->ranks = 2;
    pass_slots(node, a, &turn, 2 * SLOTS_ROUND);
    assert_int_equal(word_of(a), 0);
    assert_int_equal(slots_of_word(word_of(b)), SLOTS_ALL);
    assert_int_not_equal(slots_term_of_word(word_of(b)), 0);
}

// Without a clock that the nodes share there are no slots to look for, nor under another policy.
static void nobody_looks_without_slots(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    struct process *a = open_halves_of_which_one_ends(node, true, &turn);
    pass_slots(node, a, &turn, 2 * SLOTS_ROUND);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_int_equal(a->job->page->more_slots, 0);
    pass_slots(node, a, &turn, 6 * SLOTS_ROUND);
    assert_int_not_equal(a->job->page->more_slots, 0);
    strcpy(node->config.policy, "yoo-jette");
    scheduler_reconfigure(node->scheduler, node->now_ns);
    pass_slots(node, a, &turn, 1);
    assert_int_equal(a->job->page->more_slots, 0);
    pass_slots(node, a, &turn, SLOTS_ROUND);
    assert_int_equal(a->job->page->more_slots, 0);
}

static void adoption_keeps_the_slots(void **state)
{
    struct node *node = *state;
    struct protocol_job_record jobs[2];
    pid_t first = sleeper(), second = sleeper();
    become_gang(node);
    struct process *a = come(node, "a", first);
    agree_alone(node, a);
    struct process *b = come(node, "b", second);
    agree_alone(node, b);
    uint64_t words[] = {word_of(a), word_of(b)};
    for (int farewell = 0; farewell < 2; farewell++) {
        adopt_anew(node, farewell);
        for (uint32_t i = 0; i < 2; i++) {
            scheduler_describe_job(node->scheduler, 0, true, i, &jobs[i], node->now_ns);
            assert_int_equal(jobs[i].slots, slots_of_word(words[i]));
        }
    }
    // Term and all: what is said of the same agreement still holds.
    b = come(node, "b", second);
    assert_int_equal(word_of(b), words[1]);
    end(first);
    end(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(slots_are_agreed_and_kept_to),
        TEST(jobs_begin_in_a_list),
        TEST(slots_narrow_by_what_others_say),
        TEST(a_suspended_job_is_of_the_agreement),
        TEST(a_job_suspended_before_it_agreed_has_slots_when_it_is_back),
        TEST(a_clock_that_is_off_costs_the_job_its_slots),
        TEST(where_the_clock_is_off_the_choice_is_left_to_others),
        TEST(a_job_with_its_clock_off_gets_its_part),
        TEST(adoption_keeps_what_a_job_said_about_the_clock),
        TEST(a_clock_that_is_set_costs_jobs_of_several_nodes_their_slots),
        TEST(under_other_policies_a_clock_may_be_set),
        TEST(a_clock_that_is_set_costs_those_their_agreement_who_hold_no_slots),
        TEST(slots_of_another_length_cost_a_job_of_one_node_nothing),
        TEST(slots_of_another_length_cost_jobs_of_several_nodes_theirs),
        TEST(slots_of_another_length_are_seen_at_the_start),
        TEST(nobody_starves_without_timerd),
        TEST(a_job_of_this_node_alone_takes_what_is_free),
        TEST(a_job_of_other_nodes_is_told_to_look),
        TEST(a_job_is_told_to_look_soon_after_somebody_came_or_went),
        TEST(a_job_is_told_to_look_soon_after_it_has_lost_slots),
        TEST(an_idle_job_is_not_told_to_look),
        TEST(who_never_agreed_is_given_nothing_elsewhere),
        TEST(nobody_looks_without_slots),
        TEST(adoption_keeps_the_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
