// The daemons' own claim to the CPU: they need little of it, but at once.
#ifndef COSCHED_CLASSD_URGENT_H
#define COSCHED_CLASSD_URGENT_H

// Has this process go before all ordinary ones: a request that waits behind the job that it would
// displace helps nobody. By the lowest real-time priority, not for children; where that is not
// allowed (RestrictRealtime=, a kernel that gives this cgroup no real-time), as the most urgent of
// ordinary ones; where that is not allowed either, nothing happens.
void urgent_become(void);

#endif
