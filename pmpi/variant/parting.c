#include "pmpi/variant/parting.h"

#include "common/clock.h"
#include "pmpi/variant/patience.h"
#include "pmpi/variant/session.h"

#include <time.h>

enum { TAKEN_MAX = 100000 };

#define NAP_NS             NS_PER_MS
#define TOGETHER_NS        (10 * NS_PER_MS) // an exchange that takes longer was not one of running ranks
#define LINGER_NS          (15 * NS_PER_MS)
#define IN_TURNS_LINGER_NS (35 * NS_PER_MS)
#define PARTED_LINGER_NS   (80 * NS_PER_MS) // beside the job whose turn it is, with half of the CPU
#define CROWDED_LINGER_NS  (80 * NS_PER_MS)
#define LATE_LINGER_NS     NS_PER_SEC       // by the idle share: ten periods of it
#define LEAVE_NS           (30 * NS_PER_MS) // what running ranks need to leave; crowded ones linger on
#define TAKE_ONE_NS        (100 * NS_PER_MS)
#define ROUNDS_MOST        2
#define WAIT_MOST_NS       (2 * NS_PER_SEC)

struct parting_place parting_place_now(void)
{
    uint64_t word = session_word();
    const struct status_page *page = session_page();
    struct parting_place place = {.contended = session_word_contended(word),
                                  .scheduled = !session_word_idle(word),
                                  .slice_left_ns = UINT64_MAX};
    if (page == NULL || !place.contended)
        return place;
    place.slice_ns = page->time_slice_ns;
    place.degree = page->degree;
    if (session_turn() != 0 && place.slice_ns != 0)
        place.slice_left_ns = place.slice_ns - clock_wall_ns() % place.slice_ns;
    return place;
}

// Short slices must do with a half of them.
bool parting_runs(const struct parting_place *place)
{
    uint64_t enough_ns = place->slice_ns / 2 < LEAVE_NS ? place->slice_ns / 2 : LEAVE_NS;
    return !place->contended || (place->scheduled && place->slice_left_ns >= enough_ns);
}

static uint64_t patience_of(const struct parting_place *place)
{
    uint64_t round_ns = place->slice_ns * ((uint64_t)place->degree + 1);
    return ROUNDS_MOST * round_ns < WAIT_MOST_NS ? ROUNDS_MOST * round_ns : WAIT_MOST_NS;
}

// Naps until this process's turn.
static void wait_for_turn(uint64_t deadline_ns)
{
    struct parting_place place = parting_place_now();
    while (!parting_runs(&place) && clock_now_ns() < deadline_ns) {
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        place = parting_place_now();
    }
}

// The first exchange may have taken as long as the program's ranks are apart.
static enum parting_state own_state(uint64_t took_ns, uint64_t deadline_ns)
{
    struct parting_place place = parting_place_now();
    if (!place.contended)
        return PARTING_ALONE;
    if (clock_now_ns() >= deadline_ns)
        return parting_runs(&place) ? PARTING_TOGETHER : PARTING_LATE;
    return parting_runs(&place) && took_ns <= TOGETHER_NS ? PARTING_TOGETHER : PARTING_APART;
}

static bool exchange(MPI_Comm comm, int own, int *greatest)
{
    MPI_Request request = MPI_REQUEST_NULL;
    return mpi_next[1].Iallreduce(&own, greatest, 1, MPI_INT, MPI_MAX, comm, &request) ==
               MPI_SUCCESS &&
           patience_wait(&request, PATIENCE_FOR_EVER);
}

enum parting_state parting_meet(MPI_Comm comm, bool answers)
{
    struct parting_place place = parting_place_now();
    uint64_t deadline_ns = clock_now_ns() + patience_of(&place), took_ns = UINT64_MAX;
    int own = PARTING_ALONE, greatest = PARTING_ALONE;
    do {
        if (answers) {
            wait_for_turn(deadline_ns);
            own = (int)own_state(took_ns, deadline_ns);
        }
        uint64_t begin_ns = clock_now_ns();
        if (!exchange(comm, own, &greatest))
            return PARTING_APART;
        took_ns = clock_now_ns() - begin_ns;
    } while (greatest == PARTING_APART);
    return (enum parting_state)greatest;
}

// Without room for anything: that this is an error is not told to the program.
static bool take_one(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;
    if (mpi_next[1].Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message,
                            MPI_STATUS_IGNORE) != MPI_SUCCESS ||
        !flag)
        return false;
    if (mpi_next[1].Imrecv(NULL, 0, MPI_BYTE, &message, &request) == MPI_SUCCESS)
        patience_wait(&request, TAKE_ONE_NS);
    return true;
}

static bool silence(MPI_Comm comm, MPI_Errhandler *handler)
{
    return mpi_next[1].Comm_get_errhandler(comm, handler) == MPI_SUCCESS &&
           mpi_next[1].Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS;
}

static void restore(MPI_Comm comm, MPI_Errhandler *handler)
{
    mpi_next[1].Comm_set_errhandler(comm, *handler);
    mpi_next[1].Errhandler_free(handler);
}

// From 4.2 on what is found out in a call without a communicator is told to MPI_COMM_SELF's
// handler, before to MPI_COMM_WORLD's.
void parting_take_unreceived(void)
{
    MPI_Errhandler of_world, of_self;
    if (!silence(MPI_COMM_WORLD, &of_world))
        return;
    if (silence(MPI_COMM_SELF, &of_self)) {
        for (int i = 0; i < TAKEN_MAX && take_one(); i++)
            ;
        restore(MPI_COMM_SELF, &of_self);
    }
    restore(MPI_COMM_WORLD, &of_world);
}

void parting_linger(int size, enum parting_state state, bool crowded, bool parted)
{
    uint64_t linger_ns = LINGER_NS;
    if (state >= PARTING_LATE)
        linger_ns = LATE_LINGER_NS;
    else if (crowded)
        linger_ns = CROWDED_LINGER_NS;
    else if (state == PARTING_TOGETHER)
        linger_ns = parted ? PARTED_LINGER_NS : IN_TURNS_LINGER_NS;
    if (size > 1)
        core_linger((uint32_t)size, linger_ns);
}
