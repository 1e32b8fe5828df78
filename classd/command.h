// What each command of the protocol does. A request that arrives here is well-formed; whether its
// sender may ask for it is decided here.
#ifndef COSCHED_CLASSD_COMMAND_H
#define COSCHED_CLASSD_COMMAND_H

#include "classd/log.h"
#include "classd/peer.h"
#include "classd/scheduler.h"
#include "common/config.h"
#include "common/protocol.h"

#include <stdbool.h>
#include <stdint.h>

struct commands {
    scheduler_t *scheduler;
    struct config *config;           // what RELOAD changes
    const char *config_file;         // and from where
    uid_t service_uid;               // may do what root may
    struct log_valve refusals_valve; // of REGISTER, which clients cause at will
    uint32_t refused;                // REGISTER commands of who was still there
    bool told_hidden;                // that /proc hides clients, said once
    bool shutdown; // set by SHUTDOWN: the daemon is to end and to leave no classes
};

// The sender of a request, as long as its connection lives.
struct caller {
    struct peer peer;
    int socket_fd;
    uint64_t serial; // of its registration; 0: none
    bool untold;     // that has made it a member, and whether it has heard of it is not known
    uint64_t waits;  // for the end of this work of tracking, as tracking_result.number; 0: none
    struct protocol_request request; // that asked for it
};

// RELOAD, also by SIGHUP. On error everything is as it was.
int command_reload(struct commands *commands, uint64_t now_ns, struct error *err);

// The reply to a SWITCH: what is in force now.
struct protocol_reply command_switched(const struct commands *commands,
                                       const struct protocol_request *request);

// True for root and the service user.
bool command_privileged(const struct commands *commands, uid_t uid);

// The caller has gone without having taken the last reply. If that was to say that it is a member
// now, it takes itself for none: its job goes on without a scheduler, and no EXIT will ever come.
// So it is none. False when there was nothing to do.
bool command_withdraw(struct commands *commands, struct caller *caller, uint64_t now_ns);

// The reply to a SUSPEND, RESUME or KILL.
struct protocol_reply command_tracked(const struct protocol_request *request,
                                      const struct tracking_result *result);

// Carries out a request. Returns true when *reply is to be sent; *page_fd is then the descriptor to
// go with it, which stays the scheduler's, or -1. False: there is none, or not yet (caller->waits).
bool command_execute(struct commands *commands, struct caller *caller,
                     const struct protocol_request *request, uint64_t now_ns,
                     struct protocol_reply *reply, int *page_fd);

#endif
