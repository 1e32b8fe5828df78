#include "tests/fuzz/page_file.h"

#include "common/units.h"
#include "tests/fuzz/scratch.h"

#include <string.h>

union file {
    struct status_page page;
    uint8_t bytes[STATUS_PAGE_FILE_BYTES];
};

// Of the bits of a number that is used for something else: so inputs keep their meaning.
static struct status_turns choose_turns(uint64_t bits)
{
    return (struct status_turns){
        .registered_ns = bits & 1 ? bits : bits % NS_PER_SEC,
        .scheduled_since_ns = bits & 2 ? bits : bits / 3 % NS_PER_SEC,
        .scheduled_total_ns = bits,
        .switches = bits / 5,
        .slices_waited = (uint32_t)(bits & 4 ? bits >> 32 : bits >> 8 & 7),
        .most_jobs = (uint32_t)(bits & 8 ? bits >> 16 : bits >> 11 & 7),
        .scheduled = (uint32_t)(bits >> 4 & 3),
    };
}

static void fill(struct status_page *page, uid_t uid, const char *job_id, pid_t first_pid,
                 struct input *input)
{
    page->magic = STATUS_PAGE_MAGIC;
    page->version = STATUS_PAGE_VERSION;
    page->bytes = STATUS_PAGE_BYTES;
    page->uid = uid;
    snprintf(page->job_id, sizeof page->job_id, "%s", job_id);
    page->service_ns = input_number(input, 8);
    page->turns = choose_turns(page->service_ns);
    page->member_count = input_byte(input) % 16;
    for (uint32_t i = 0; i < page->member_count; i++) {
        page->members[i].pid = first_pid + input_byte(input) % 16;
        page->members[i].start_time = input_byte(input) % 4;
        page->members[i].width = input_byte(input);
    }
}

static void change(union file *file, struct input *input)
{
    for (unsigned changes = input_byte(input) % 8; changes > 0; changes--) {
        size_t at = input_number(input, 2) % sizeof file->bytes;
        size_t length = input_byte(input) % 64;
        const uint8_t *bytes = input_bytes(input, &length);
        if (length > sizeof file->bytes - at)
            length = sizeof file->bytes - at;
        if (length > 0)
            memcpy(file->bytes + at, bytes, length);
    }
}

void page_file_write(int directory, const char *name, uid_t uid, const char *job_id,
                     pid_t first_pid, struct input *input)
{
    static union file file;
    uint8_t kind = input_byte(input);
    memset(&file, 0, sizeof file);
    fill(&file.page, uid, job_id, first_pid, input);
    change(&file, input);
    size_t size = kind < 0xf0 ? sizeof file.bytes : input_number(input, 2) % sizeof file.bytes;
    scratch_write(directory, name, file.bytes, size);
}
