// Lines of the daemons' logs.
#include "classd/log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

// What a line of the log is, with standard error caught; `off` is added to its inode in what
// JOURNAL_STREAM says, which is not set when it is negative.
static void logged_to(int off, const char *text, char *line, size_t size)
{
    int ends[2], kept = dup(STDERR_FILENO);
    struct stat status;
    char stream[64];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fstat(ends[1], &status), 0);
    dup2(ends[1], STDERR_FILENO);
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)status.st_dev,
             (uintmax_t)status.st_ino + (unsigned)off);
    if (off < 0)
        unsetenv("JOURNAL_STREAM");
    else
        setenv("JOURNAL_STREAM", stream, 1);
    log_init("test", "info");
    unsetenv("JOURNAL_STREAM");
    log_line(LOG_ERR, "job of \"%s\"", text);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[1]);
    ssize_t length = read(ends[0], line, size - 1);
    close(ends[0]);
    assert_true(length > 0);
    line[length] = '\0';
}

static void logged(const char *text, char *line, size_t size)
{
    logged_to(-1, text, line, size);
}

static void only_lines_for_the_journal_begin_with_their_priority(void **state)
{
    char line[2048];
    (void)state;
    logged_to(0, "a", line, sizeof line);
    assert_string_equal(line, "<3>job of \"a\"\n");
    logged_to(1, "a", line, sizeof line); // another's, inherited
    assert_string_equal(line, "test: job of \"a\"\n");
}

static void a_line_is_printable_whatever_it_quotes(void **state)
{
    char line[2048];
    (void)state;
    logged("\x1b[2J\nforged: line\x7f\xff\xc2\x9b", line, sizeof line);
    assert_string_equal(line, "test: job of \"?[2J?forged: line????\"\n");
}

static void a_long_line_is_cut(void **state)
{
    char text[3000], line[4096];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    logged(text, line, sizeof line);
    assert_int_equal(strlen(line), 1024);
    assert_int_equal(line[1023], '\n');
}

// A daemon that waited for its reader would leave limits in force for as long.
static void a_reader_that_hangs_is_not_waited_for(void **state)
{
    static char block[4096];
    int ends[2], kept = dup(STDERR_FILENO);
    ssize_t got;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], block, sizeof block) > 0)
        continue;
    assert_int_equal(errno, EAGAIN);
    fcntl(ends[1], F_SETFL, 0);
    dup2(ends[1], STDERR_FILENO);
    log_init("test", "info");
    log_line(LOG_ERR, "lost");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    while ((got = read(ends[0], block, sizeof block)) > 0)
        assert_null(memchr(block, '\n', (size_t)got));
    log_line(LOG_ERR, "heard");
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[1]);
    got = read(ends[0], block, sizeof block - 1);
    close(ends[0]);
    assert_true(got > 0);
    block[got] = '\0';
    assert_string_equal(block, "test: heard\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_lines_for_the_journal_begin_with_their_priority),
        cmocka_unit_test(a_line_is_printable_whatever_it_quotes),
        cmocka_unit_test(a_long_line_is_cut),
        cmocka_unit_test(a_reader_that_hangs_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
