// The daemons' own claim to the CPU: they need little of it, but at once.
#ifndef COSCHED_CLASSD_URGENT_H
#define COSCHED_CLASSD_URGENT_H

// Has this process go before all ordinary ones when it wakes up: a request that waits behind the
// job that it would displace helps nobody. Where that is not allowed, nothing happens.
void urgent_become(void);

#endif
