// Protects what a process tells its scheduler of those who have spawned it: the same of all
// processes of a MPI_COMM_WORLD, and nothing that it has only inherited.
#include "pmpi/variant/origin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void say(const char *variable, const char *value)
{
    if (value != NULL)
        setenv(variable, value, 1);
    else
        unsetenv(variable);
}

static struct origin told(const char *name, const char *server, const char *port, bool spawned)
{
    say("PMIX_NAMESPACE", name);
    say("PMIX_SERVER_URI2", server);
    say("OMPI_PARENT_PORT", port);
    return origin_of(spawned);
}

static void children_know_their_parents(void **state)
{
    (void)state;
    struct origin parents = told("1245052929", "s", NULL, false);
    struct origin children = told("1245052930", "s", "1245052929.0:448666048", true);
    assert_int_not_equal(parents.world, 0);
    assert_int_equal(parents.parent, 0);
    assert_int_equal(children.parent, parents.world);
    assert_int_not_equal(children.world, parents.world);
}

// Open MPI 5 names them after the node, which may have dots, and in ports by the number of the job
// below 2^16, and a hash of the rest above.
static void children_of_a_later_launcher_know_their_parents(void **state)
{
    (void)state;
    static const char *const ports[] = {"prterun-node.site-77@1.12:3", "2852126721.12:3",
                                        "\"2852126721.12:3\"", "1.0:4"};
    struct origin parents = told("prterun-node.site-77@1", "s", NULL, false);
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        struct origin children = told("prterun-node.site-77@2", "s", ports[i], true);
        assert_int_equal(children.parent, parents.world);
        assert_int_not_equal(children.world, parents.world);
    }
    assert_int_not_equal(told("prterun-node.site-77@2", "s", "2852126723.12:3", true).parent,
                         parents.world);
}

// Two launchers may give the same name.
static void launchers_are_told_apart(void **state)
{
    (void)state;
    assert_int_not_equal(told("1", "s", NULL, false).world, told("1", "t", NULL, false).world);
    assert_int_not_equal(told("1", "s", NULL, false).world, told("1", NULL, NULL, false).world);
}

// By a launcher that was itself started by a spawned process.
static void what_is_inherited_does_not_count(void **state)
{
    (void)state;
    assert_int_equal(told("2", "s", "1.0:1", false).parent, 0);
}

static void who_is_told_nothing_tells_nothing(void **state)
{
    (void)state;
    static const char *const ports[] = {NULL, "", ":", "1:1", "1.0", ".:"};
    struct origin origin = told(NULL, "s", NULL, true);
    assert_int_equal(origin.world, 0);
    assert_int_equal(told("", "s", NULL, true).world, 0);
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++)
        assert_int_equal(told("1", "s", ports[i], true).parent, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_know_their_parents),
        cmocka_unit_test(children_of_a_later_launcher_know_their_parents),
        cmocka_unit_test(launchers_are_told_apart),
        cmocka_unit_test(what_is_inherited_does_not_count),
        cmocka_unit_test(who_is_told_nothing_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
