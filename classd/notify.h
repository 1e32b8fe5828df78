// What a daemon tells systemd. Without systemd (no NOTIFY_SOCKET) nothing happens.
#ifndef COSCHED_CLASSD_NOTIFY_H
#define COSCHED_CLASSD_NOTIFY_H

#include <stdint.h>

// The daemon serves from now on.
void notify_ready(void);

// The daemon is about to end.
void notify_stopping(void);

// The daemon is alive; to be called every notify_watchdog_interval_ns().
void notify_watchdog(void);

// Half of the unit's WatchdogSec=, or 0 when there is no watchdog.
uint64_t notify_watchdog_interval_ns(void);

#endif
