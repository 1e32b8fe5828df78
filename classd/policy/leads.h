// The accounts of owners whose last jobs were ahead of the others. A job that leaves and comes
// back, under whatever name, would else begin with the mean of the present ones each time, and what
// (e) refuses to who is too far ahead would never be refused to it.
//
// Accounts only grow, so nothing has to expire: an account that the others have reached means
// nothing any more.
#ifndef COSCHED_CLASSD_POLICY_LEADS_H
#define COSCHED_CLASSD_POLICY_LEADS_H

#include <stdint.h>

enum { LEADS_OWNERS = 64 }; // the furthest ahead are remembered

struct leads {
    struct lead {
        uint64_t owner; // 0: none
        uint64_t account_ns;
    } of[LEADS_OWNERS];
};

// A job of the owner is gone, with this account; owner 0 is nobody.
void leads_note(struct leads *leads, uint64_t owner, uint64_t account_ns);

// What the owner's next job begins with, where others would with `account_ns`.
uint64_t leads_account_ns(const struct leads *leads, uint64_t owner, uint64_t account_ns);

// Accounts begin anew.
void leads_clear(struct leads *leads);

#endif
