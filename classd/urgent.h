// The daemons' own claim to the CPU: they need little of it, but at once.
#ifndef COSCHED_CLASSD_URGENT_H
#define COSCHED_CLASSD_URGENT_H

// Has this process go before all ordinary ones: a request that waits behind the job that it would
// displace helps nobody. By the lowest real-time priority, not for children; where that is not
// allowed (RestrictRealtime=, a kernel that gives this cgroup no real-time), as the most urgent of
// ordinary ones; where that is not allowed either, nothing happens. In real-time SIGXCPU ends who
// computes for half a minute without having slept: it would keep others from the CPU for ever.
void urgent_become(void);

// The same before those: whoever is to notice that one of them loops for ever must get a CPU.
void urgent_watch(void);

#endif
