// The configuration file. What is taken must be within its limits, and must be the same again when
// it is printed and read back.
#include "common/config.h"

#include "common/cleanup.h"
#include "common/gang_lists.h"
#include "common/units.h"
#include "tests/fuzz/target.h"

#include <string.h>

static int load(const void *bytes, size_t size, struct config *config, struct error *err)
{
    cleanup_fclose FILE *stream = fmemopen((void *)(uintptr_t)bytes, size, "r");
    REQUIRE(stream != NULL);
    return config_load_stream(stream, "input", config, err);
}

static void check_limits(const struct config *config)
{
    REQUIRE(config->time_slice_ns >= 100 * NS_PER_MS && config->time_slice_ns <= 3600 * NS_PER_SEC);
    bool dcs = strcmp(config->policy, "dcs") == 0;
    REQUIRE((dcs ? config->dcs_quantum_ns : config_gmet_ns(config)) <= config_slice_ns(config));
    REQUIRE(config->gang_slot_ns >= 100 * NS_PER_MS && config->gang_slot_ns <= 60 * NS_PER_SEC);
    REQUIRE(!config_is_gang(config) || config->timer_align);
    REQUIRE(config->gang_servants >= 1 && config->gang_servants <= 16);
    struct gang_lists lists;
    REQUIRE(gang_lists_parse(config->gang_lists, &lists, NULL) == 0 && lists.count > 0);
    REQUIRE(config->dcs_exponent >= -16 && config->dcs_exponent <= 16);
    REQUIRE(config->idle_share_ppm >= 1000 && config->idle_share_ppm <= 100000);
    REQUIRE(config->idle_total_ppm >= 1000 && config->idle_total_ppm <= 500000);
    REQUIRE(config->cpus <= 65536 && config_cpus(config) >= 1);
    REQUIRE(config->period_ns >= NS_PER_MS && config->period_ns <= NS_PER_SEC);
    REQUIRE(config->runtime_dir[0] == '/' && config->cgroup_root[0] != '/');
    REQUIRE(config->max_jobs >= 1 && config->max_processes >= 1 && config->max_connections >= 16);
}

static void check_printed(const struct config *config)
{
    struct config again;
    struct error err = {0};
    cleanup_free char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    REQUIRE(stream != NULL);
    config_print(config, stream);
    fclose(stream);
    int rc = load(text, size, &again, &err);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.text);
    REQUIRE(rc == 0 && memcmp(config, &again, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config config;
    struct error err = {0};
    if (size == 0)
        return 0;
    if (load(data, size, &config, &err) < 0) {
        REQUIRE(err.code != 0 && err.text[0] != '\0');
        return 0;
    }
    check_limits(&config);
    check_printed(&config);
    return 0;
}
