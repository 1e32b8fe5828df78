// In Open MPI's launchers: the user's list of variables is found where these find it, and extended
// without loss; files that list some are seen.
#include "pmpi/front/forwarding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define LIST "mca_base_env_list"

enum { ARGUMENTS = 8 };

// Where the value stands; -1: nowhere.
static long place(enum forwarding_launcher launcher, char *arguments[ARGUMENTS])
{
    char **value = forwarding_argument(launcher, arguments, LIST);
    return value != NULL ? value - arguments : -1;
}

#define PLACE(...)       place(FORWARDING_ORTE, (char *[ARGUMENTS]){"mpirun", __VA_ARGS__})
#define PLACE_LATER(...) place(FORWARDING_PRRTE, (char *[ARGUMENTS]){"prte", __VA_ARGS__})

static void lists_on_the_command_line_are_found(void **state)
{
    (void)state;
    assert_int_equal(PLACE("-mca", LIST, "A=1", "./a"), 3);
    assert_int_equal(PLACE("--mca", LIST, "A=1", "./a"), 3);
    assert_int_equal(PLACE("-n", "4", "-gmca", LIST, "A=1"), 5);
    assert_int_equal(PLACE("--gmca", LIST, "", "./a"), 3);
    assert_int_equal(PLACE("-mca", "btl", "self", "-mca", LIST, "A=1"), 6);
}

static void nothing_else_is_taken_for_one(void **state)
{
    (void)state;
    assert_int_equal(PLACE(NULL), -1);
    assert_int_equal(PLACE("-n", "4", "./a"), -1);
    assert_int_equal(PLACE("-mca", LIST), -1);
    assert_int_equal(PLACE("---mca", LIST, "A=1"), -1);
    assert_int_equal(PLACE("mca", LIST, "A=1"), -1);
    assert_int_equal(PLACE("-mca", LIST "_delimiter", ","), -1);
    // mpirun itself looks no further
    assert_int_equal(PLACE("./a", ":", "-mca", LIST, "A=1"), -1);
}

static void lists_are_found_as_a_later_launcher_does(void **state)
{
    (void)state;
    assert_int_equal(PLACE_LATER("--mca", LIST, "A=1", "./a"), 3);
    assert_int_equal(PLACE_LATER("-gmca", LIST, "A=1", "./a"), 3);
    assert_int_equal(PLACE_LATER("--omca", LIST, "A=1", "./a"), 3);
    assert_int_equal(PLACE_LATER("--gomca", LIST, "A=1", "./a"), 3);
    assert_int_equal(PLACE("--omca", LIST, "A=1", "./a"), -1);
    assert_int_equal(PLACE_LATER("./a", ":", "-mca", LIST, "A=1", "./b"), 5);
    assert_int_equal(PLACE_LATER("--prtemca", LIST, "A=1", "./a"), -1);
    assert_int_equal(PLACE_LATER("-mca", LIST), -1);
}

static void files_on_the_command_line_are_found(void **state)
{
    char *one[] = {"mpirun", "-n", "2", "-tune", "t", "./a", NULL};
    char *two[] = {"mpirun", "--tune", "t", NULL};
    char *none[] = {"mpirun", "./a", ":", "-tune", "t", NULL};
    char *last[] = {"mpirun", "-tune", NULL};
    (void)state;
    assert_ptr_equal(forwarding_option(one, "tune"), one + 4);
    assert_ptr_equal(forwarding_option(two, "tune"), two + 2);
    assert_null(forwarding_option(two, "am"));
    assert_null(forwarding_option(none, "tune"));
    assert_null(forwarding_option(last, "tune"));
}

static void assert_joined(const char *list, char delimiter, const char *expected)
{
    char *joined =
        forwarding_join(list, delimiter, (const char *const[]){"LD_PRELOAD", "COSCHED_WAIT", NULL});
    if (expected == NULL)
        assert_null(joined);
    else
        assert_string_equal(joined, expected);
    free(joined);
}

static void lists_get_what_they_lack(void **state)
{
    (void)state;
    assert_joined("", ';', "LD_PRELOAD;COSCHED_WAIT");
    assert_joined("A=1;B", ';', "A=1;B;LD_PRELOAD;COSCHED_WAIT");
    assert_joined("A=1;B", ',', "A=1;B,LD_PRELOAD,COSCHED_WAIT");
    assert_joined("COSCHED_WAIT=spin;A", ';', "COSCHED_WAIT=spin;A;LD_PRELOAD");
    assert_joined("MY_LD_PRELOAD;LD_PRELOADS", ';',
                  "MY_LD_PRELOAD;LD_PRELOADS;LD_PRELOAD;COSCHED_WAIT");
    assert_joined("A;LD_PRELOAD;COSCHED_WAIT=block", ';', NULL);
    assert_null(forwarding_join("A", ';', (const char *const[]){NULL}));
}

static void a_users_value_counts(void **state)
{
    (void)state;
    char *joined = forwarding_join("LD_PRELOAD=x;A", ';',
                                   (const char *const[]){"LD_PRELOAD=y", "COSCHED_WAIT=a=b", NULL});
    assert_string_equal(joined, "LD_PRELOAD=x;A;COSCHED_WAIT=a=b");
    free(joined);
}

static void assert_joined_anew(const char *list, const char *preload, const char *expected)
{
    char *joined = forwarding_join_anew(list, (const char *const[]){preload, NULL});
    assert_string_equal(joined, expected);
    // The same again changes nothing.
    char *again = forwarding_join_anew(joined, (const char *const[]){preload, NULL});
    assert_string_equal(again, expected);
    free(joined);
    free(again);
}

// What an outer launcher's environment had, an inner one does not hand on.
static void what_was_added_before_gives_way(void **state)
{
    (void)state;
#define MARK "COSCHED_FORWARDED=1"
    assert_joined_anew("", "LD_PRELOAD=b", MARK ";LD_PRELOAD=b");
    assert_joined_anew(MARK ";LD_PRELOAD=a;COSCHED_WAIT=spin", "LD_PRELOAD=b",
                       MARK ";LD_PRELOAD=b");
    assert_joined_anew("A=1;" MARK ";LD_PRELOAD=a", "LD_PRELOAD=b", "A=1;" MARK ";LD_PRELOAD=b");
    assert_joined_anew("LD_PRELOAD=c;B;" MARK, "LD_PRELOAD=b", "LD_PRELOAD=c;B;" MARK);
    assert_joined_anew("MY_" MARK, "LD_PRELOAD=b", "MY_" MARK ";" MARK ";LD_PRELOAD=b");
#undef MARK
}

static void lines_that_list_are_seen(void **state)
{
    static const char *const listing[] = {
        "mca_base_env_list = A=1\n",
        "  mca_base_env_list=A\n",
        "mca_base_env_list_delimiter = ,\n",
        "-mca mca_base_env_list \"A\"\n",
        "--mca mca_base_env_list A\n",
        "-x A\n",
        "\t--x A=1\n",
        "-mca btl self -x A=1\n",
        "-x\tA",
    };
    static const char *const others[] = {
        "",
        "\n",
        "# mca_base_env_list = A\n",
        "btl = ^openib\n",
        "plm_rsh_agent = ssh -x\n",
        "-mca mpi-x 1\n",
        "x",
        "-xA\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof listing / sizeof *listing; i++)
        assert_true(forwarding_line_lists(listing[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(forwarding_line_lists(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_on_the_command_line_are_found),
        cmocka_unit_test(nothing_else_is_taken_for_one),
        cmocka_unit_test(lists_are_found_as_a_later_launcher_does),
        cmocka_unit_test(files_on_the_command_line_are_found),
        cmocka_unit_test(lists_get_what_they_lack),
        cmocka_unit_test(a_users_value_counts),
        cmocka_unit_test(what_was_added_before_gives_way),
        cmocka_unit_test(lines_that_list_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
