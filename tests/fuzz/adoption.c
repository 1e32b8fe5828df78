// What a starting classd finds: classes with members, and page files that need not be what a former
// classd wrote.
#include "classd/job_class.h"
#include "tests/fuzz/node.h"
#include "tests/fuzz/page_file.h"
#include "tests/fuzz/scratch.h"

#include <string.h>

struct found {
    uid_t uid;
    char job_id[PROTOCOL_JOB_ID_MAX];
};

static struct found choose_job(struct node *node, struct input *input)
{
    uint8_t choice = input_byte(input);
    struct found found = {.uid = node_process(node, choice)->uid};
    found.job_id[0] = (char)('a' + choice / NODE_PROCESSES % 6);
    return found;
}

// A name as classd makes it, or any.
static void choose_class_name(char name[BACKEND_NAME_MAX], const struct found *found,
                              struct input *input)
{
    job_class_name(name, found->uid, found->job_id);
    if (input_byte(input) < 0xf0)
        return;
    size_t length = input_byte(input) % BACKEND_NAME_MAX;
    const uint8_t *bytes = input_bytes(input, &length);
    memcpy(name, bytes, length);
    name[length] = '\0';
}

static void plant_class(struct node *node, struct input *input)
{
    char class_name[BACKEND_NAME_MAX], page[PAGE_NAME_MAX];
    class_t *class_ = NULL;
    struct found found = choose_job(node, input);
    choose_class_name(class_name, &found, input);
    if (class_open(node->backend, class_name, &class_, NULL) < 0)
        return;
    for (unsigned members = input_byte(input) % 5; members > 0; members--)
        REQUIRE(class_place(class_, node_process(node, input_byte(input))->pid, NULL) == 0);
    class_close(class_);
    page_name(page, found.uid, found.job_id);
    page_file_write(node->jobs, page, found.uid, found.job_id, NODE_FIRST_PID, input);
}

// A page without a class.
static void plant_page(struct node *node, struct input *input)
{
    char name[PAGE_NAME_MAX] = "x";
    size_t length = input_byte(input) % (PAGE_NAME_MAX - 1);
    const uint8_t *bytes = input_bytes(input, &length);
    if (length > 0 && memchr(bytes, '/', length) == NULL && memchr(bytes, '\0', length) == NULL)
        memcpy(name + 1, bytes, length);
    page_file_write(node->jobs, name, 0, "a", NODE_FIRST_PID, input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct node node;
    node_open(&node, &input);
    for (unsigned classes = input_byte(&input) % 8; classes > 0; classes--)
        plant_class(&node, &input);
    for (unsigned pages = input_byte(&input) % 4; pages > 0; pages--)
        plant_page(&node, &input);
    node_start(&node);
    node_check(&node);
    node_run(&node, &input);
    node_close(&node);
    return 0;
}
