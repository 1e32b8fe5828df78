#include "classd/notify.h"

#include "common/units.h"

#include <systemd/sd-daemon.h>

void notify_ready(void)
{
    sd_notify(0, "READY=1");
}

void notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

void notify_watchdog(void)
{
    sd_notify(0, "WATCHDOG=1");
}

uint64_t notify_watchdog_interval_ns(void)
{
    uint64_t interval_us = 0;
    if (sd_watchdog_enabled(0, &interval_us) <= 0)
        return 0;
    return interval_us * NS_PER_US / 2;
}
