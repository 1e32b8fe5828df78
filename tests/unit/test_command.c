#include "classd/command.h"
#include "common/clock.h"
#include "tests/unit/scheduler_node.h"

static int set_up(void **state)
{
    struct node *node = node_new();
    *state = node;
    node_start(node);
    return 0;
}

// Two answers about one recording, whose packets waited for an hour and not at all, give its events
// the same time of day.
static void a_recording_has_one_time_of_day(void **state)
{
    struct node *node = *state;
    struct commands commands = {.scheduler = node->scheduler, .config = &node->config};
    struct caller root = {.socket_fd = -1};
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, 1);
    int64_t offsets_ns[2];
    int page_fd;
    request.query.kind = PROTOCOL_QUERY_TRACE;
    for (int i = 0; i < 2; i++) {
        struct protocol_reply reply;
        uint64_t came_ns = clock_now_ns() - (i == 0 ? 3600 * NS_PER_SEC : 0);
        assert_true(command_execute(&commands, &root, &request, came_ns, &reply, &page_fd));
        assert_int_equal(reply.header.status, 0);
        offsets_ns[i] = reply.events.wall_offset_ns;
    }
    assert_true(llabs(offsets_ns[1] - offsets_ns[0]) < 60 * (int64_t)NS_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_recording_has_one_time_of_day, set_up, node_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
