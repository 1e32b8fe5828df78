// What arrives at the socket: packets of several connections, well-formed and not, of processes of
// several users that come, go and die in between.
#include "tests/fuzz/node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct node node;
    node_open(&node, &input);
    node_start(&node);
    node_run(&node, &input);
    node_close(&node);
    return 0;
}
