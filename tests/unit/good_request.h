// Requests of the protocol that are as they have to be, to be made worse by a test.
#ifndef COSCHED_TESTS_UNIT_GOOD_REQUEST_H
#define COSCHED_TESTS_UNIT_GOOD_REQUEST_H

#include "common/protocol.h"

#include <string.h>

static inline struct protocol_request good_register(void)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_REGISTER, 7);
    strcpy(request.register_.job_id, "job.1-a_B");
    request.register_.width = 1;
    request.register_.rank = 3;
    request.register_.ranks = 4;
    return request;
}

// The same of any command.
static inline struct protocol_request good_request(enum protocol_command command)
{
    struct protocol_request request = protocol_request_new(command, 1);
    if (command == PROTOCOL_REGISTER)
        return good_register();
    if (command == PROTOCOL_QUERY)
        request.query.kind = PROTOCOL_QUERY_NODE;
    if (command >= PROTOCOL_SUSPEND && command <= PROTOCOL_KILL)
        strcpy(request.target.job_id, "a");
    if (command == PROTOCOL_CLOCK)
        request.clock.nodes = 2;
    return request;
}

#endif
