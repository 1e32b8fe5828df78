// The ranks that speak for their nodes, one for each, when a job looks for more slots: they carry
// out what growth.h says, by messages on the library's communicator and by questions to their
// classds, without ever waiting for an answer.
//
// They look when their own status page has changed (classd sees to it that it does while there is
// something to be had) and, while the job is idle, whenever they look for notices, under the
// carrier's flag: in some call of the program, like notices, and in one thread at a time.
#ifndef COSCHED_PMPI_VARIANT_LEADERS_H
#define COSCHED_PMPI_VARIANT_LEADERS_H

// `leaders` are world ranks, rank 0 first, the same on all of them; the caller's own rank need not
// be one. The carrier must be on.
void leaders_start(const int *leaders, int count, int rank, const char *job_id);

// The next steps, as far as they can be done now.
void leaders_look(void);

// At the end, when all ranks have counted what they sent: nothing is sent any more. Receives what
// is there.
void leaders_drain(void);

// Completes what was sent.
void leaders_stop(void);

#endif
