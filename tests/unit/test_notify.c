// What a daemon tells systemd, which may hang: nobody stays limited for that long.
#include "classd/notify.h"

#include "common/units.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    char folder[32];
    struct sockaddr_un address;
    socklen_t size;
    int fd;
} manager; // systemd, as far as it matters here

static void listen_at(const char *name)
{
    manager.address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(manager.address.sun_path, name, strlen(name));
    if (name[0] == '@')
        manager.address.sun_path[0] = '\0';
    manager.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    manager.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(manager.fd >= 0);
    assert_int_equal(bind(manager.fd, (struct sockaddr *)&manager.address, manager.size), 0);
    setenv("NOTIFY_SOCKET", name, 1);
}

static int set_up(void **state)
{
    char path[64];
    (void)state;
    strcpy(manager.folder, "/tmp/cosched-test-XXXXXX");
    if (mkdtemp(manager.folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/notify", manager.folder);
    listen_at(path);
    return 0;
}

static int clean_up(void **state)
{
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "%s/notify", manager.folder);
    unsetenv("NOTIFY_SOCKET");
    close(manager.fd);
    unlink(path);
    return rmdir(manager.folder);
}

static void assert_heard(const char *expected)
{
    char text[64] = "";
    assert_true(recv(manager.fd, text, sizeof text - 1, 0) > 0);
    assert_string_equal(text, expected);
}

static void assert_nothing_heard(void)
{
    char byte;
    assert_int_equal(recv(manager.fd, &byte, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
}

static void say_all(void)
{
    notify_ready();
    notify_watchdog();
    notify_stopping();
}

static void assert_all_heard(void)
{
    assert_heard("READY=1");
    assert_heard("READY=1\nWATCHDOG=1"); // the first may have been lost
    assert_heard("STOPPING=1");
    assert_nothing_heard();
}

static void systemd_hears_it(void **state)
{
    (void)state;
    say_all();
    assert_all_heard();
}

static void so_it_does_by_an_abstract_name(void **state)
{
    char name[64];
    (void)state;
    close(manager.fd);
    snprintf(name, sizeof name, "@cosched-test-%d", (int)getpid());
    listen_at(name);
    say_all();
    assert_all_heard();
}

// Each by a sender of its own, who would run out of room himself.
static unsigned fill(void)
{
    for (unsigned count = 0;; count++) {
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(fd >= 0);
        ssize_t sent = sendto(fd, "x", 1, 0, (struct sockaddr *)&manager.address, manager.size);
        int code = errno;
        close(fd);
        if (sent == 1)
            continue;
        assert_int_equal(code, EAGAIN);
        return count;
    }
}

static void a_full_queue_is_not_waited_for(void **state)
{
    (void)state;
    unsigned others = fill();
    say_all();
    for (unsigned i = 0; i < others; i++)
        assert_heard("x");
    assert_nothing_heard();
    notify_watchdog();
    assert_heard("READY=1\nWATCHDOG=1");
}

static void names_that_are_none_are_left_alone(void **state)
{
    static const char *const names[] = {"", "/", "@", "notify", "vsock:2:1"};
    char longest[sizeof manager.address.sun_path + 1];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv("NOTIFY_SOCKET", names[i], 1);
        say_all();
    }
    memset(longest, '/', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    setenv("NOTIFY_SOCKET", longest, 1);
    say_all();
    unsetenv("NOTIFY_SOCKET");
    say_all();
    assert_nothing_heard();
}

static void the_watchdog_is_fed_in_time_if_one_is_lost(void **state)
{
    (void)state;
    unsetenv("WATCHDOG_PID");
    setenv("WATCHDOG_USEC", "3000000", 1);
    assert_int_equal(notify_watchdog_interval_ns(), NS_PER_SEC);
    unsetenv("WATCHDOG_USEC");
    assert_int_equal(notify_watchdog_interval_ns(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(systemd_hears_it, set_up, clean_up),
        cmocka_unit_test_setup_teardown(so_it_does_by_an_abstract_name, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_full_queue_is_not_waited_for, set_up, clean_up),
        cmocka_unit_test_setup_teardown(names_that_are_none_are_left_alone, set_up, clean_up),
        cmocka_unit_test(the_watchdog_is_fed_in_time_if_one_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
