// Protects the doors of the protocol: what classd lets in as a request, and a client as a reply.
// Nothing that cannot be, and what only a later version knows is told from rubbish.
#include "common/protocol.h"
#include "common/slots.h"
#include "common/units.h"
#include "tests/unit/good_request.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int check(const struct protocol_request *request, size_t length)
{
    struct protocol_request out;
    struct error err = {0};
    return protocol_check_request(request, length, &out, &err) == 0 ? 0 : err.code;
}

static void good_requests_pass(void **state)
{
    struct protocol_request request = good_register(), out;
    // Nothing may be assumed about the alignment of what was received.
    char shifted[sizeof request + 1];
    (void)state;
    memcpy(shifted + 1, &request, sizeof request);
    assert_int_equal(protocol_check_request(shifted + 1, sizeof request, &out, NULL), 0);
    assert_memory_equal(&request, &out, sizeof out);
    for (int command = PROTOCOL_EXIT; command <= PROTOCOL_SHUTDOWN; command++) {
        request = protocol_request_new((enum protocol_command)command, 1);
        assert_int_equal(check(&request, sizeof request), 0);
    }
}

static void requests_of_the_wrong_form_are_refused(void **state)
{
    struct protocol_request request = good_register();
    (void)state;
    for (size_t length = 0; length < sizeof request; length++)
        assert_int_equal(check(&request, length), EPROTO);
    request.header.magic ^= 1;
    assert_int_equal(check(&request, sizeof request), EPROTO);
    request = good_register();
    request = protocol_request_new(PROTOCOL_RESUME, 1);
    strcpy(request.target.job_id, "a");
    assert_int_equal(check(&request, sizeof request), 0);
    request.target.subtree = 1;
    assert_int_equal(check(&request, sizeof request), 0);
    request.target.subtree = UINT32_MAX; // no process has it
    assert_int_equal(check(&request, sizeof request), EPROTO);
    request.target.subtree = 0;
    request.target.means = PROTOCOL_MEANS_SHARE;
    assert_int_equal(check(&request, sizeof request), EPROTO);
}

// A later client's, which is to be answered.
static void unknown_commands_are_told_from_rubbish(void **state)
{
    struct protocol_request request = good_register(), out;
    struct error err = {0};
    (void)state;
    request.header.command = 0;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    request.header.command = PROTOCOL_CLOCK + 1;
    assert_int_equal(protocol_check_request(&request, sizeof request, &out, &err), -1);
    assert_int_equal(err.code, EOPNOTSUPP);
    assert_int_equal(out.header.command, PROTOCOL_CLOCK + 1);
    assert_int_equal(out.header.sequence, 7);
    request = protocol_request_new(PROTOCOL_QUERY, 1);
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    request.query.kind = PROTOCOL_QUERY_WORLD + 1;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    request.query.world = 1;
    request.query.kind = PROTOCOL_QUERY_WORLD;
    assert_int_equal(check(&request, sizeof request), 0);
    request.query.kind = PROTOCOL_QUERY_JOB;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
}

static void unknown_fields_are_refused(void **state)
{
    struct protocol_request request;
    (void)state;
    for (enum protocol_command command = PROTOCOL_REGISTER; command <= PROTOCOL_CLOCK; command++) {
        request = good_request(command);
        assert_int_equal(check(&request, sizeof request), 0);
        request.bytes[sizeof request.bytes - 1] = 1;
        assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
        request = good_request(command);
        request.header.status = 1;
        assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    }
    request = good_request(PROTOCOL_REGISTER);
    request.register_.reserved = 1;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    request = good_request(PROTOCOL_SUSPEND);
    request.target.reserved = 1;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    request = good_request(PROTOCOL_CLAIM);
    request.claim.reserved = 1;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    request = good_request(PROTOCOL_SCHEDULE);
    request.bytes[0] = 1;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
}

static void claims_of_impossible_slots_are_refused(void **state)
{
    struct protocol_claim good = {.slots = SLOTS_ALL, .term = 15, .due = 60, .final = 1};
    struct protocol_claim bad[] = {good, good, good, good};
    (void)state;
    bad[0].slots = UINT64_C(1) << 60;
    bad[1].term = 16;
    bad[2].due = 61;
    bad[3].final = 2;
    for (int command = PROTOCOL_CLAIM; command <= PROTOCOL_NARROW; command++) {
        struct protocol_request request = protocol_request_new((enum protocol_command)command, 1);
        request.claim = good;
        assert_int_equal(check(&request, sizeof request), 0);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            request.claim = bad[i];
            assert_int_equal(check(&request, sizeof request), EPROTO);
        }
    }
}

static void clocks_that_cannot_be_are_refused(void **state)
{
    struct protocol_clock good = {.ahead_ns = -1, .nodes = 2, .agreeing = 2};
    struct protocol_clock bad[] = {good, good, good, good};
    struct protocol_request request = protocol_request_new(PROTOCOL_CLOCK, 1);
    (void)state;
    bad[0].ahead_ns = INT64_MIN; // has no opposite
    bad[1].nodes = 1;
    bad[2].nodes = PROTOCOL_CLOCK_NODES_MAX + 1;
    bad[3].agreeing = 3;
    request.clock = good;
    assert_int_equal(check(&request, sizeof request), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        request.clock = bad[i];
        assert_int_equal(check(&request, sizeof request), EPROTO);
    }
}

static void another_version_is_told_apart(void **state)
{
    struct protocol_request request = good_register(), out;
    struct error err;
    (void)state;
    request.header.version++;
    // A future request may be longer; the header is what both sides know.
    assert_int_equal(protocol_check_request(&request, sizeof request.header, &out, &err), -1);
    assert_int_equal(err.code, EPROTONOSUPPORT);
    assert_int_equal(out.header.sequence, 7);
}

static void registers_with_impossible_values_are_refused(void **state)
{
    static const char *const bad_ids[] = {"", ".", ".a", "a/b", "a b", "a\nb", "\xff"};
    struct protocol_request request;
    (void)state;
    for (size_t i = 0; i < sizeof bad_ids / sizeof *bad_ids; i++) {
        request = good_register();
        strcpy(request.register_.job_id, bad_ids[i]);
        assert_int_equal(check(&request, sizeof request), EPROTO);
    }
    request = good_register();
    memset(request.register_.job_id, 'a', sizeof request.register_.job_id);
    assert_int_equal(check(&request, sizeof request), EPROTO);
    request = good_register();
    strcpy(request.register_.list, "long");
    assert_int_equal(check(&request, sizeof request), 0);
    strcpy(request.register_.list, "a b");
    assert_int_equal(check(&request, sizeof request), EPROTO);
    memset(request.register_.list, 'a', sizeof request.register_.list);
    assert_int_equal(check(&request, sizeof request), EPROTO);
    request = good_register();
    request.register_.width = 0;
    assert_int_equal(check(&request, sizeof request), EPROTO);
    request = good_register();
    request.register_.rank = request.register_.ranks;
    assert_int_equal(check(&request, sizeof request), EPROTO);
    request = good_register();
    request.register_.ranks = INT_MAX; // what MPI_Comm_size() can say
    assert_int_equal(check(&request, sizeof request), 0);
    request.register_.ranks++;
    assert_int_equal(check(&request, sizeof request), EPROTO);
}

static int check_answer(const struct protocol_request *request, const struct protocol_reply *reply)
{
    struct protocol_reply out;
    struct error err = {0};
    return protocol_check_reply(reply, sizeof *reply, request, &out, &err) == 0 ? 0 : err.code;
}

static struct protocol_reply good_node(const struct protocol_request *request)
{
    struct protocol_reply reply = protocol_reply_new(request, 0);
    reply.node.time_slice_ns = 15 * NS_PER_SEC;
    strcpy(reply.node.policy, "yoo-jette");
    return reply;
}

static void nodes_that_cannot_be_are_refused(void **state)
{
    static const uint64_t slices_ns[] = {0, 100 * NS_PER_MS - 1, 3600 * NS_PER_SEC + 1, UINT64_MAX};
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, 1);
    request.query.kind = PROTOCOL_QUERY_NODE;
    struct protocol_reply reply = good_node(&request);
    (void)state;
    assert_int_equal(check_answer(&request, &reply), 0);
    for (size_t i = 0; i < sizeof slices_ns / sizeof *slices_ns; i++) {
        reply.node.time_slice_ns = slices_ns[i];
        assert_int_equal(check_answer(&request, &reply), EPROTO);
    }
    reply = good_node(&request);
    memset(reply.node.version, 'a', sizeof reply.node.version);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply = good_node(&request);
    memset(reply.node.policy, 'a', sizeof reply.node.policy);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply = good_node(&request);
    memset(reply.node.backend, 'a', sizeof reply.node.backend);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply = good_node(&request);
    reply.node.idle_share_ppm = SHARE_WHOLE_PPM + 1;
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply = good_node(&request);
    reply.bytes[sizeof reply.bytes - 1] = 1; // of a later classd
    assert_int_equal(check_answer(&request, &reply), 0);
}

static void jobs_that_cannot_be_are_refused(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, 1);
    request.query.kind = PROTOCOL_QUERY_JOB;
    struct protocol_reply good = protocol_reply_new(&request, 0);
    strcpy(good.job.job_id, "a");
    struct protocol_reply bad[] = {good, good, good, good, good, good, good};
    (void)state;
    assert_int_equal(check_answer(&request, &good), 0);
    memset(bad[0].job.job_id, 'a', sizeof bad[0].job.job_id);
    strcpy(bad[1].job.job_id, "\033[2J");
    bad[2].job.scheduled = 2;
    bad[3].job.limited = 2;
    bad[4].job.share_ppm = SHARE_WHOLE_PPM + 1;
    bad[5].job.suspended = PROTOCOL_MEANS_SIGNALS + 1;
    bad[6].job.dormant = 2;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(check_answer(&request, &bad[i]), EPROTO);
    bad[0].header.status = ENOENT; // behind the last one: no record
    assert_int_equal(check_answer(&request, &bad[0]), ENOENT);
}

static void recordings_that_cannot_be_are_refused(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, 1);
    struct protocol_reply reply = protocol_reply_new(&request, 0);
    (void)state;
    request.query.kind = PROTOCOL_QUERY_TRACE;
    reply.events.count = PROTOCOL_EVENTS_MAX;
    assert_int_equal(check_answer(&request, &reply), 0);
    reply.events.count++;
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    request.query.kind = PROTOCOL_QUERY_TRACE_JOB;
    reply = protocol_reply_new(&request, 0);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    strcpy(reply.event_job.job_id, "a");
    assert_int_equal(check_answer(&request, &reply), 0);
}

static void slices_that_cannot_be_are_refused(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_SWITCH, 1);
    struct protocol_reply reply = protocol_reply_new(&request, 0);
    (void)state;
    assert_int_equal(check_answer(&request, &reply), 0); // nothing is said
    reply.switched.time_slice_ns = 100 * NS_PER_MS;
    assert_int_equal(check_answer(&request, &reply), 0);
    reply.switched.time_slice_ns--;
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply.switched.time_slice_ns = 3600 * NS_PER_SEC;
    assert_int_equal(check_answer(&request, &reply), 0);
    reply.switched.time_slice_ns++;
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply.switched = (struct protocol_switched){.align = 2};
    assert_int_equal(check_answer(&request, &reply), EPROTO);
}

static void who_is_refused_is_told_why(void **state)
{
    struct protocol_request request = good_request(PROTOCOL_REGISTER);
    struct protocol_reply reply = protocol_reply_new(&request, ENOSPC), out;
    struct error err = {0};
    (void)state;
    assert_int_equal(protocol_check_reply(&reply, sizeof reply, &request, &out, &err), -1);
    assert_non_null(strstr(err.text, "has no room")); // an older classd gives no reason
    strcpy(reply.text, "user 7 has two jobs here already");
    assert_int_equal(protocol_check_reply(&reply, sizeof reply, &request, &out, &err), -1);
    assert_int_equal(err.code, ENOSPC);
    assert_string_equal(err.text, "classd refused: user 7 has two jobs here already");
}

static void texts_without_an_end_are_refused(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_RELOAD, 1);
    struct protocol_reply reply = protocol_reply_new(&request, EINVAL);
    (void)state;
    assert_int_equal(check_answer(&request, &reply), EINVAL);
    memset(reply.text, 'a', sizeof reply.text);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    request = good_request(PROTOCOL_REGISTER);
    reply = protocol_reply_new(&request, 0);
    memset(reply.bytes, 'a', sizeof reply.bytes); // no text: a page
    assert_int_equal(check_answer(&request, &reply), 0);
    reply.header.status = ENOSPC;
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    request = good_request(PROTOCOL_KILL);
    reply = protocol_reply_new(&request, 0);
    assert_int_equal(check_answer(&request, &reply), 0);
    reply.tracked.means = PROTOCOL_MEANS_SIGNALS + 1;
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply = protocol_reply_new(&request, ESRCH);
    memset(reply.tracked.text, 'a', sizeof reply.tracked.text);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_requests_pass),
        cmocka_unit_test(requests_of_the_wrong_form_are_refused),
        cmocka_unit_test(unknown_commands_are_told_from_rubbish),
        cmocka_unit_test(unknown_fields_are_refused),
        cmocka_unit_test(claims_of_impossible_slots_are_refused),
        cmocka_unit_test(clocks_that_cannot_be_are_refused),
        cmocka_unit_test(another_version_is_told_apart),
        cmocka_unit_test(registers_with_impossible_values_are_refused),
        cmocka_unit_test(nodes_that_cannot_be_are_refused),
        cmocka_unit_test(jobs_that_cannot_be_are_refused),
        cmocka_unit_test(recordings_that_cannot_be_are_refused),
        cmocka_unit_test(slices_that_cannot_be_are_refused),
        cmocka_unit_test(who_is_refused_is_told_why),
        cmocka_unit_test(texts_without_an_end_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
