"""What each role stands for. The behaviours themselves are in the variant's modules; only their order
stands here."""

# What happens before and after the call.
BEFORE = {
    "send": "stats_message(); carrier_sending(comm, dest);",
    "isend": "stats_message(); carrier_sending(comm, dest);",
    "sendrecv": "carrier_contact(comm, source); carrier_sending(comm, dest);",
    "isendrecv": "carrier_contact(comm, source); carrier_sending(comm, dest);",
    "send_init": "carrier_contact(comm, dest);",
    "irecv": "carrier_contact(comm, source);",
    "recv": "carrier_contact(comm, source);",
    "recv_init": "carrier_contact(comm, source);",
    "part": "carrier_contact(comm, {peer});",
    "collective": "carrier_collective(comm);",
    "icollective": "carrier_collective(comm);",
    "creation": "carrier_collective({comm});",
    "dup": "carrier_collective(comm);",
    "idup": "carrier_collective(comm);",
    "window": "block_without_sign(); carrier_collective(comm);",
    "look": "carrier_look();",
    "rma_sync": "carrier_look();",
    "comm_free": "bool known = comm != NULL && carrier_forget(*comm);",
}
AFTER = {
    "recv": "carrier_arrived_from(comm, status->MPI_SOURCE);",
    "sendrecv": "carrier_arrived_from(comm, status->MPI_SOURCE);",
    "mrecv": "carrier_arrived();",
    "iprobe": "carrier_looked();",
    "improbe": "carrier_looked();",
    "test": "carrier_looked();",
    "testone": "carrier_looked();",
    "testall": "carrier_looked();",
    "testany": "carrier_looked();",
    "testsome": "carrier_looked();",
    "get_status": "carrier_looked();",
    "wait": "carrier_arrived();",
    "waitall": "carrier_arrived();",
    "waitany": "carrier_arrived();",
    "waitsome": "carrier_arrived();",
    "collective": "carrier_arrived();",
    "rma_sync": "carrier_arrived();",
    "comm_free": "carrier_finish_freed();",
    "creation": "peers_learn(*newcomm);",
    "dup": "peers_learn_duplicate(*newcomm, comm);",
    "idup": "peers_learn_like(*newcomm, comm);",
}
# What may have been done for peers that sleep, and for whom: else for anybody.
OVER = {
    "send": "wait_over_for(comm, dest);",
    "isend": "wait_over_for(comm, dest);",
    "irecv": "wait_over_for(comm, source);",
    "recv": "wait_over_for(comm, rc == MPI_SUCCESS ? status->MPI_SOURCE : source);",
    "testsome": "wait_tested(rc == MPI_SUCCESS && found > 0);",
    **dict.fromkeys(["test", "testone", "testall", "testany", "get_status", "iprobe", "improbe"],
                    "wait_tested(rc == MPI_SUCCESS && *flag);"),
}
# These bring processes of other jobs: see strangers.h.
STRANGERS = {"Comm_spawn", "Comm_spawn_multiple", "Comm_accept", "Comm_connect", "Comm_join"}
# These may introduce them to ranks that were not there when they came.
INTRODUCES = {"Intercomm_create", "Intercomm_create_from_groups"}
# These make intracommunicators of processes that may be of other jobs.
MERGES = {"Intercomm_merge", "Comm_create_from_group"}
BLOCKING = {
    "send", "recv", "mrecv", "sendrecv", "probe", "mprobe", "wait", "waitall", "waitany",
    "waitsome", "collective", "creation", "dup", "rma_sync",
}

# Of these some, or all, are left to the MPI as a whole.
WITHIN = {"collective", "creation", "dup", "comm_free", "window", "rma_sync", "mrecv", "recv", "waitall"}


def unpolled(f):
    """What is set by a call that begins something whose MPI_Waitall is polled in another way, or not, or None. It may be made
    before MPI_Init, for a session, or in a callback."""
    if f.role == "part" or (f.role == "icollective" and f.name.endswith(("_init", "_init_c"))):
        return "wait_whole"
    if f.role in ("send_init", "recv_init"):
        return "wait_persistent"
    return "wait_generalized" if f.name == "Grequest_start" else None


# The header carrier's part. A parcel is what really goes to MPI in place of the user's buffer, count
# and datatype: these themselves where no header travels.
OUT = {"send": "ONCE", "isend": "KEPT", "send_init": "PERSISTENT", "sendrecv": "ONCE", "isendrecv": "JOINED"}
IN = {"recv": "ONCE", "irecv": "KEPT", "recv_init": "PERSISTENT", "sendrecv": "ONCE", "isendrecv": "JOINED",
      "mrecv": "ONCE", "imrecv": "KEPT"}
# The arguments of the calls that complete requests: number, requests, index or indices, statuses.
COMPLETION = {
    "wait": ("ALL", "1", "request", "NULL", "status", "true"),
    "testone": ("ALL", "1", "request", "NULL", "status", "flag != NULL && *flag != 0"),
    "waitall": ("ALL", "count", "array_of_requests", "NULL", "array_of_statuses", "true"),
    "testall": ("ALL", "count", "array_of_requests", "NULL", "array_of_statuses", "flag != NULL && *flag != 0"),
    "waitany": ("ANY", "count", "array_of_requests", "index", "status", "true"),
    "testany": ("ANY", "count", "array_of_requests", "index", "status", "flag != NULL && *flag != 0"),
    "waitsome": ("SOME", "incount", "array_of_requests", "array_of_indices", "array_of_statuses", "true"),
    "testsome": ("SOME", "incount", "array_of_requests", "array_of_indices", "array_of_statuses", "true"),
}
