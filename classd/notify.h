// What a daemon tells systemd. Without systemd (no NOTIFY_SOCKET) nothing happens. A systemd that
// does not listen is not waited for: what it has no room for is lost.
#ifndef COSCHED_CLASSD_NOTIFY_H
#define COSCHED_CLASSD_NOTIFY_H

#include <stdint.h>

// The daemon serves from now on. Waits for room, a second at most.
void notify_ready(void);

// The daemon is about to end.
void notify_stopping(void);

// The daemon is alive; to be called every notify_watchdog_interval_ns().
void notify_watchdog(void);

// A third of the unit's WatchdogSec=, so that one may be lost, or 0 when there is no watchdog.
uint64_t notify_watchdog_interval_ns(void);

#endif
