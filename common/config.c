#include "common/config.h"

#include "common/cleanup.h"
#include "common/gang_lists.h"
#include "common/group_list.h"
#include "common/units.h"

#include <errno.h>
#include <ini.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

enum key_type { DURATION, SHARE, PORTION, COUNT, INTEGER, CHOICE, TEXT, LISTS, GROUPS, FLAG };

struct key {
    const char *section;
    const char *name;
    enum key_type type;
    size_t offset;
    const char *initial;
    const char *minimum; // for CHOICE: the words allowed
    const char *maximum;
    const char *meaning;
};

static const struct key keys[] = {
#define KEY(section, name, type, field, initial, minimum, maximum, meaning)                        \
    {#section, #name, type, offsetof(struct config, field), initial, minimum, maximum, meaning},
#include "common/config_keys.def"
#undef KEY
};

#define KEY_COUNT (sizeof keys / sizeof *keys)

static void *field_of(struct config *config, const struct key *key)
{
    return (char *)config + key->offset;
}

static const void *const_field_of(const struct config *config, const struct key *key)
{
    return (const char *)config + key->offset;
}

static bool word_in(const char *words, const char *word)
{
    size_t length = strlen(word);
    if (length == 0 || strchr(word, ' ') != NULL)
        return false;
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

static int parse_number(enum key_type type, const char *value, uint64_t *number, struct error *err)
{
    uint32_t share = 0;
    switch (type) {
    case DURATION:
        return units_parse_duration(value, number, err);
    case SHARE:
    case PORTION:
        if (units_parse_share(value, &share, err) < 0)
            return -1;
        *number = share;
        return 0;
    default:
        return units_parse_count(value, number, err);
    }
}

static int set_number(struct config *config, const struct key *key, const char *value,
                      struct error *err)
{
    uint64_t number = 0, minimum = 0, maximum = 0;
    struct error fault = {0};
    if (parse_number(key->type, value, &number, &fault) < 0 && fault.code != ERANGE)
        return error_set(err, fault.code, "%s", fault.text);
    parse_number(key->type, key->minimum, &minimum, NULL);
    parse_number(key->type, key->maximum, &maximum, NULL);
    if (fault.code == ERANGE || number < minimum || number > maximum)
        return error_set(err, ERANGE, "%s is out of range; use %s to %s", value, key->minimum,
                         key->maximum);
    if (key->type == SHARE || key->type == PORTION)
        *(uint32_t *)field_of(config, key) = (uint32_t)number;
    else
        *(uint64_t *)field_of(config, key) = number;
    return 0;
}

static int set_portion(struct config *config, const struct key *key, const char *value,
                       struct error *err)
{
    if (strcmp(value, "fair") != 0) {
        struct error fault;
        return set_number(config, key, value, &fault) == 0
                   ? 0
                   : error_set(err, fault.code, "%s; or use fair", fault.text);
    }
    *(uint32_t *)field_of(config, key) = 0;
    return 0;
}

static int set_integer(struct config *config, const struct key *key, const char *value,
                       struct error *err)
{
    int64_t number = 0, minimum = 0, maximum = 0;
    struct error fault = {0};
    if (units_parse_integer(value, &number, &fault) < 0 && fault.code != ERANGE)
        return error_set(err, fault.code, "%s", fault.text);
    units_parse_integer(key->minimum, &minimum, NULL);
    units_parse_integer(key->maximum, &maximum, NULL);
    if (fault.code == ERANGE || number < minimum || number > maximum)
        return error_set(err, ERANGE, "%s is out of range; use %s to %s", value, key->minimum,
                         key->maximum);
    *(int64_t *)field_of(config, key) = number;
    return 0;
}

// Whether the value means the same wherever it is written: in a file again, or in a log line. What
// begins a comment does so in some places and not in others.
static bool is_plain(const char *value)
{
    for (; *value != '\0'; value++) {
        if ((unsigned char)*value < ' ' || *value == 0x7f || *value == ';' || *value == '#')
            return false;
    }
    return true;
}

static int set_text(struct config *config, const struct key *key, const char *value,
                    struct error *err)
{
    if (key->type == CHOICE && !word_in(key->minimum, value))
        return error_set(err, EINVAL, "\"%s\" is not one of: %s", value, key->minimum);
    if (*value == '\0' && key->type != GROUPS)
        return error_set(err, EINVAL, "the value is empty");
    if (!is_plain(value))
        return error_set(err, EINVAL,
                         "the value has a semicolon, a # or a control character; a comment "
                         "behind a value needs a space before it");
    if (strlen(value) >= CONFIG_TEXT_MAX)
        return error_set(err, EINVAL, "the value is longer than %d characters",
                         CONFIG_TEXT_MAX - 1);
    struct gang_lists lists;
    if (key->type == LISTS && gang_lists_parse(value, &lists, err) < 0)
        return -1;
    strcpy(field_of(config, key), value);
    return 0;
}

static int set_key(struct config *config, const struct key *key, const char *value,
                   struct error *err)
{
    switch (key->type) {
    case DURATION:
    case SHARE:
    case COUNT:
        return set_number(config, key, value, err);
    case PORTION:
        return set_portion(config, key, value, err);
    case INTEGER:
        return set_integer(config, key, value, err);
    case CHOICE:
    case TEXT:
    case LISTS:
    case GROUPS:
        return set_text(config, key, value, err);
    case FLAG:
        if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
            return error_set(err, EINVAL, "\"%s\" is neither yes nor no", value);
        *(bool *)field_of(config, key) = value[0] == 'y';
        return 0;
    }
    return -1;
}

void config_defaults(struct config *config)
{
    memset(config, 0, sizeof *config);
    for (size_t i = 0; i < KEY_COUNT; i++)
        set_key(config, &keys[i], keys[i].initial, NULL);
}

// One pass over a file. inih calls the reader once a line, which is how the line number is known.
// It would take what does not fit its buffer for a line of its own.
struct pass {
    FILE *stream;
    const char *name;
    int line;
    int seen[KEY_COUNT]; // line at which a key was given, 0 when it was not
    struct config *config;
    struct error *err;
    bool failed;
    bool forgiving; // what is wrong is passed over
};

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

static void skip_line(FILE *stream)
{
    int byte;
    do
        byte = getc(stream);
    while (byte != '\n' && byte != EOF);
}

// inih passes over what stands behind a section's name, such as a key.
static bool has_more_than_section(const char *line)
{
    const char *end = line[0] == '[' ? strchr(line, ']') : NULL;
    if (end == NULL)
        return false;
    end += 1 + strspn(end + 1, " \t\r\n");
    return *end != '\0' && *end != ';' && *end != '#';
}

// inih knows a comment behind a value by a semicolon only; this makes one with a # nothing. Both
// need a space before them there.
static void cut_comment(char *line)
{
    for (char *at = line; (at = strchr(at, '#')) != NULL; at++) {
        if (at > line && (at[-1] == ' ' || at[-1] == '\t')) {
            strcpy(at, "\n");
            return;
        }
    }
}

static char *read_line(char *buffer, int size, void *stream)
{
    struct pass *pass = stream;
    memset(buffer, '\n', (size_t)size); // what is longer has its end in the last one
    char *line = pass->failed ? NULL : fgets(buffer, size, pass->stream);
    if (line == NULL)
        return NULL;
    pass->line++;
    bool cut = buffer[size - 1] == '\0' && buffer[size - 2] != '\n';
    bool text = memrchr(buffer, '\0', (size_t)size) == strchr(buffer, '\0');
    if (pass->line == 1 && strncmp(line, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
        memmove(line, line + strlen(BYTE_ORDER_MARK), strlen(line + strlen(BYTE_ORDER_MARK)) + 1);
    // An indented line is one like any other; inih would take it for more of the last value.
    memmove(line, line + strspn(line, " \t"), strlen(line + strspn(line, " \t")) + 1);
    bool whole = text && (strchr(line, '\n') != NULL || feof(pass->stream));
    if (whole && (pass->forgiving || !has_more_than_section(line))) {
        cut_comment(line);
        return line;
    }
    if (pass->forgiving) {
        if (cut)
            skip_line(pass->stream);
        return strcpy(line, "\n");
    }
    pass->failed = true;
    if (whole)
        error_set(pass->err, EINVAL,
                  "%s:%d: there is more behind the section's name; put it on a line of its own",
                  pass->name, pass->line);
    else
        error_set(pass->err, EINVAL, "%s:%d: the line is longer than %d characters, or no text",
                  pass->name, pass->line, size - 2);
    return NULL;
}

static int fail(struct pass *pass, const char *section, const char *name)
{
    if (pass->forgiving)
        return 1;
    pass->failed = true;
    error_context(pass->err, "%s:%d: [%s] %s", pass->name, pass->line, section, name);
    return 0;
}

static int on_key(void *user, const char *section, const char *name, const char *value)
{
    struct pass *pass = user;
    if (pass->failed)
        return 0;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strcmp(section, keys[i].section) != 0 || strcmp(name, keys[i].name) != 0)
            continue;
        if (pass->seen[i] != 0) {
            error_set(pass->err, EINVAL, "given before, at line %d; remove one of them",
                      pass->seen[i]);
            return fail(pass, section, name);
        }
        pass->seen[i] = pass->line;
        if (set_key(pass->config, &keys[i], value, pass->err) < 0)
            return fail(pass, section, name);
        return 1;
    }
    error_set(pass->err, EINVAL, "unknown key; cosched.ini(5) lists all keys");
    return fail(pass, section, name);
}

// Two classes above each other would each take the other's limit for the group's own.
static bool overlap(const char *one, const char *other)
{
    return group_encloses(one, other) || group_encloses(other, one);
}

// The line at which the file gives the key of this field of struct config; 0: it does not.
static int line_of(const struct pass *pass, size_t field)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (keys[i].offset == field)
            return pass->seen[i];
    }
    return 0;
}

// Says in front of the error where the key to change is, or else the other one that it goes with.
// At least one of them is in the file, as defaults go together.
static int fail_together(struct pass *pass, size_t field, size_t other)
{
    int line = line_of(pass, field);
    error_context(pass->err, "%s:%d", pass->name, line != 0 ? line : line_of(pass, other));
    return -1;
}

#define FIELD(name) offsetof(struct config, name)

static int check_groups(struct pass *pass)
{
    const struct config *config = pass->config;
    char group[CONFIG_TEXT_MAX], later[CONFIG_TEXT_MAX];
    const char *at = config->sequential_groups;
    while (group_list_next(&at, group, sizeof group)) {
        if (!group_path_valid(group)) {
            error_set(pass->err, EINVAL,
                      "[sequential] groups: \"%s\" must be relative to the mount point and without "
                      "\"..\", for example user.slice",
                      group);
            return fail_together(pass, FIELD(sequential_groups), FIELD(sequential_groups));
        }
        if (overlap(group, config->cgroup_root)) {
            error_set(pass->err, EINVAL,
                      "[sequential] groups: \"%s\" is [cgroup] root, above it or below it; "
                      "processes that are nobody's job live elsewhere",
                      group);
            return fail_together(pass, FIELD(sequential_groups), FIELD(cgroup_root));
        }
        for (const char *rest = at; group_list_next(&rest, later, sizeof later);) {
            if (!overlap(group, later))
                continue;
            error_set(pass->err, EINVAL,
                      "[sequential] groups: \"%s\" and \"%s\" are one group, or above each other; "
                      "name one of them",
                      group, later);
            return fail_together(pass, FIELD(sequential_groups), FIELD(sequential_groups));
        }
    }
    return 0;
}

static int check_times(struct pass *pass)
{
    const struct config *config = pass->config;
    bool dcs = strcmp(config->policy, "dcs") == 0; // it has a quantum in place of GMET
    if (dcs && config->dcs_quantum_ns > config->time_slice_ns) {
        error_set(pass->err, EINVAL,
                  "[dcs] quantum is longer than time_slice; lower quantum or raise time_slice");
        return fail_together(pass, FIELD(dcs_quantum_ns), FIELD(time_slice_ns));
    }
    if (config_is_gang(config) && !config->timer_align) {
        error_set(pass->err, EINVAL,
                  "policy gang counts its slots by the wall clock; set [timer] align = yes");
        return fail_together(pass, FIELD(timer_align), FIELD(policy));
    }
    if (!dcs && !config_is_gang(config) && config->gmet_ns > config->time_slice_ns) {
        error_set(pass->err, EINVAL,
                  "gmet is longer than time_slice, so no request could ever be granted; lower gmet "
                  "or raise time_slice");
        return fail_together(pass, FIELD(gmet_ns), FIELD(time_slice_ns));
    }
    return 0;
}

static int check_paths(struct pass *pass)
{
    const struct config *config = pass->config;
    if (!group_path_valid(config->cgroup_root)) {
        error_set(pass->err, EINVAL,
                  "[cgroup] root must be relative, without \"..\", \".\" and empty parts, for "
                  "example cosched");
        return fail_together(pass, FIELD(cgroup_root), FIELD(cgroup_root));
    }
    if (group_is_unit(config->cgroup_root)) { // every group below it is taken for a class
        error_set(pass->err, EINVAL,
                  "[cgroup] root: \"%s\" is systemd's; name a group of cosched's own, such as "
                  "cosched",
                  config->cgroup_root);
        return fail_together(pass, FIELD(cgroup_root), FIELD(cgroup_root));
    }
    if (config->runtime_dir[0] != '/') {
        error_set(pass->err, EINVAL, "[daemon] runtime_dir must be an absolute path");
        return fail_together(pass, FIELD(runtime_dir), FIELD(runtime_dir));
    }
    if (strlen(config->runtime_dir) > 80) {
        error_set(pass->err, EINVAL,
                  "[daemon] runtime_dir is too long for a socket; use at most 80 characters");
        return fail_together(pass, FIELD(runtime_dir), FIELD(runtime_dir));
    }
    return 0;
}

// Rules between keys, and those that a value is held to when all are known.
// Who says how long a slice is, and not how long a job keeps it, has a fifteenth, as the defaults
// have.
static uint64_t derived_gmet_ns(const struct config *config)
{
    const uint64_t parts = 15;
    return config->time_slice_ns / parts / NS_PER_MS * NS_PER_MS;
}

static void derive_gmet(struct pass *pass)
{
    if (line_of(pass, FIELD(time_slice_ns)) != 0 && line_of(pass, FIELD(gmet_ns)) == 0)
        pass->config->gmet_ns = derived_gmet_ns(pass->config);
}

static int check_together(struct pass *pass)
{
    derive_gmet(pass);
    return check_times(pass) == 0 && check_paths(pass) == 0 ? check_groups(pass) : -1;
}

int config_load_stream(FILE *stream, const char *name, struct config *config, struct error *err)
{
    struct pass pass = {.stream = stream, .name = name, .config = config, .err = err};
    config_defaults(config);
    int line = ini_parse_stream(read_line, &pass, on_key, &pass);
    if (pass.failed)
        return -1;
    if (ferror(stream))
        return error_set(err, EIO, "%s: cannot be read", name);
    if (line != 0)
        return error_set(err, EINVAL, "%s:%d: not a section, a \"key = value\" line or a comment",
                         name, line > 0 ? line : pass.line);
    return check_together(&pass);
}

int config_load(const char *path, struct config *config, struct error *err)
{
    cleanup_fclose FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return error_errno(err, errno, "%s", path);
    return config_load_stream(stream, path, config, err);
}

void config_salvage(const char *path, struct config *config)
{
    cleanup_fclose FILE *stream = fopen(path, "re");
    struct error ignored = {0};
    struct pass pass = {
        .stream = stream, .name = path, .config = config, .err = &ignored, .forgiving = true};
    config_defaults(config);
    if (stream != NULL)
        ini_parse_stream(read_line, &pass, on_key, &pass);
}

unsigned config_cpus(const struct config *config)
{
    if (config->cpus > 0)
        return (unsigned)config->cpus;
    if (config->held_cpus > 0)
        return config->held_cpus;
    for (size_t bits = CPU_SETSIZE; bits <= 65536; bits *= 2) {
        cpu_set_t *set = CPU_ALLOC(bits);
        if (set == NULL)
            break;
        int rc = sched_getaffinity(0, CPU_ALLOC_SIZE(bits), set);
        int count = rc == 0 ? CPU_COUNT_S(CPU_ALLOC_SIZE(bits), set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return (unsigned)count;
    }
    return 1;
}

void config_hold_cpus(struct config *config, unsigned held)
{
    config->held_cpus = held > 0 ? held : config_cpus(config);
}

uint64_t config_descriptors(const struct config *config)
{
    return 2 * config->max_connections + 6 * config->max_jobs + 320;
}

static void format_value(const struct config *config, const struct key *key, char *buffer,
                         unsigned size)
{
    const void *field = const_field_of(config, key);
    switch (key->type) {
    case DURATION:
        units_format_duration(*(const uint64_t *)field, buffer, size);
        break;
    case SHARE:
        units_format_share(*(const uint32_t *)field, buffer, size);
        break;
    case PORTION:
        if (*(const uint32_t *)field != 0)
            units_format_share(*(const uint32_t *)field, buffer, size);
        else
            snprintf(buffer, size, "fair");
        break;
    case COUNT:
        snprintf(buffer, size, "%llu", (unsigned long long)*(const uint64_t *)field);
        break;
    case INTEGER:
        snprintf(buffer, size, "%lld", (long long)*(const int64_t *)field);
        break;
    case FLAG:
        snprintf(buffer, size, "%s", *(const bool *)field ? "yes" : "no");
        break;
    case CHOICE:
    case TEXT:
    case LISTS:
    case GROUPS:
        snprintf(buffer, size, "%s", (const char *)field);
        break;
    }
}

static bool is_free_text(const struct key *key)
{
    return key->type == TEXT || key->type == LISTS || key->type == GROUPS;
}

// "Values: ..." for people: the words of a choice, the limits of a number.
static void print_values(const struct key *key, FILE *stream)
{
    if (key->type == CHOICE) {
        fputs(" One of: ", stream);
        for (const char *at = key->minimum; *at != '\0'; at++)
            fputs(*at == ' ' ? ", " : (char[]){*at, '\0'}, stream);
        fputc('.', stream);
    } else if (key->type == FLAG) {
        fputs(" yes or no.", stream);
    } else if (key->type == PORTION) {
        fprintf(stream, " fair, or %s to %s.", key->minimum, key->maximum);
    } else if (!is_free_text(key)) {
        fprintf(stream, " %s to %s.", key->minimum, key->maximum);
    }
}

static void print_comment(const char *text, FILE *stream)
{
    int column = 0;
    for (const char *word = text; *word != '\0';) {
        int length = (int)strcspn(word, " ");
        if (column == 0 || column + 1 + length > 78)
            column = fprintf(stream, "%s; ", column == 0 ? "" : "\n") - (column == 0 ? 0 : 1);
        else
            column += fprintf(stream, " ");
        column += fprintf(stream, "%.*s", length, word);
        word += length + (word[length] == ' ');
    }
}

// What follows another key is a comment: it goes on to follow when that one is edited.
static const char *before(const struct key *key, const struct config *config)
{
    bool follows = key->offset == FIELD(gmet_ns) && config->gmet_ns == derived_gmet_ns(config);
    return follows ? "; " : "";
}

void config_print(const struct config *config, FILE *stream)
{
    const char *section = "";
    for (size_t i = 0; i < KEY_COUNT; i++) {
        char value[CONFIG_TEXT_MAX];
        if (strcmp(section, keys[i].section) != 0) {
            section = keys[i].section;
            fprintf(stream, "%s[%s]\n", i == 0 ? "" : "\n", section);
        }
        print_comment(keys[i].meaning, stream);
        fputs(is_free_text(&keys[i]) ? "" : "\n;", stream);
        print_values(&keys[i], stream);
        format_value(config, &keys[i], value, sizeof value);
        fprintf(stream, "\n%s%s =%s%s\n", before(&keys[i], config), keys[i].name,
                *value != '\0' ? " " : "", value);
    }
}

bool config_is_gang(const struct config *config)
{
    return strcmp(config->policy, "gang") == 0;
}

uint64_t config_tracking_limit_ns(const struct config *config)
{
    // Signals mostly get a level of the tree further by one pass.
    const uint64_t passes_ns = 20 * config->retry_interval_ns, least_ns = 2 * NS_PER_SEC;
    return passes_ns > least_ns ? passes_ns : least_ns;
}

uint64_t config_slice_ns(const struct config *config)
{
    return config_is_gang(config) ? config->gang_slot_ns : config->time_slice_ns;
}

uint64_t config_gmet_ns(const struct config *config)
{
    return config_is_gang(config) ? config->gang_slot_ns / 3 : config->gmet_ns;
}

static void print_scdoc_text(const char *text, FILE *stream)
{
    for (; *text != '\0'; text++) {
        if (*text == '_' || *text == '*' || *text == '\\')
            fputc('\\', stream);
        fputc(*text, stream);
    }
}

void config_print_manual(FILE *stream)
{
    const char *section = "";
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strcmp(section, keys[i].section) != 0) {
            section = keys[i].section;
            fprintf(stream, "## [%s]\n\n", section);
        }
        fprintf(stream, "*%s* =%s", keys[i].name, *keys[i].initial != '\0' ? " " : "");
        print_scdoc_text(keys[i].initial, stream);
        fputs("\n\t", stream);
        print_scdoc_text(keys[i].meaning, stream);
        print_values(&keys[i], stream);
        fputs("\n\n", stream);
    }
}
