// Cartesian and other topologies, and collectives between neighbours. For four ranks.
#include "comms.h"

CASE(cart_shift)
{
    MPI_Comm cart;
    int dims[] = {2, 2}, periods[] = {1, 0}, coordinates[2], me;
    OK(MPI_Cart_create(comm, 2, dims, periods, 0, &cart));
    OK(MPI_Comm_rank(cart, &me));
    OK(MPI_Cart_coords(cart, me, 2, coordinates));
    for (int dimension = 0; dimension < 2; dimension++) {
        int source, dest, got = -1;
        MPI_Status status = fresh_status();
        OK(MPI_Cart_shift(cart, dimension, 1, &source, &dest));
        OK(MPI_Sendrecv(&me, 1, MPI_INT, dest, TAG, &got, 1, MPI_INT, source, TAG, cart, &status));
        if (source == MPI_PROC_NULL) {
            STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_INT, 0);
            EQUAL(-1, got);
        } else {
            STATUS(&status, source, TAG, MPI_INT, 1);
            EQUAL(source, got);
        }
    }
    ring_on(cart);
    OK(MPI_Comm_free(&cart));
}

CASE(cart_sub)
{
    MPI_Comm cart, line;
    int dims[] = {2, 2}, periods[] = {0, 0};
    OK(MPI_Cart_create(comm, 2, dims, periods, 0, &cart));
    for (int dimension = 0; dimension < 2; dimension++) {
        int keep[] = {dimension == 0, dimension == 1}, size;
        OK(MPI_Cart_sub(cart, keep, &line));
        OK(MPI_Comm_size(line, &size));
        EQUAL(2, size);
        ring_on(line);
        OK(MPI_Comm_free(&line));
    }
    OK(MPI_Comm_free(&cart));
}

CASE(graph)
{
    MPI_Comm graph;
    int index[] = {2, 4, 6, 8}, edges[] = {1, 3, 0, 2, 1, 3, 2, 0}, out, got[2] = {-1, -1};
    OK(MPI_Graph_create(comm, 4, index, edges, 0, &graph));
    ring_on(graph);
    out = rank;
    OK(MPI_Neighbor_allgather(&out, 1, MPI_INT, got, 1, MPI_INT, graph));
    EQUAL(edges[2 * rank], got[0]);
    EQUAL(edges[2 * rank + 1], got[1]);
    OK(MPI_Comm_free(&graph));
}

static MPI_Comm make_ring_graph(void)
{
    MPI_Comm ring;
    int from = (rank + ranks - 1) % ranks, to = (rank + 1) % ranks;
    OK(MPI_Dist_graph_create_adjacent(comm, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &ring));
    return ring;
}

CASE(neighbor_collectives)
{
    MPI_Comm ring = make_ring_graph();
    int from = (rank + ranks - 1) % ranks, got = -1, one = 1, zero = 0;
    MPI_Aint no_bytes = 0;
    MPI_Datatype type = MPI_INT;
    OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, ring));
    EQUAL(from, got);
    got = -1;
    OK(MPI_Neighbor_allgatherv(&rank, 1, MPI_INT, &got, &one, &zero, MPI_INT, ring));
    EQUAL(from, got);
    got = -1;
    OK(MPI_Neighbor_alltoall(&rank, 1, MPI_INT, &got, 1, MPI_INT, ring));
    EQUAL(from, got);
    got = -1;
    OK(MPI_Neighbor_alltoallv(&rank, &one, &zero, MPI_INT, &got, &one, &zero, MPI_INT, ring));
    EQUAL(from, got);
    got = -1;
    OK(MPI_Neighbor_alltoallw(&rank, &one, &no_bytes, &type, &got, &one, &no_bytes, &type, ring));
    EQUAL(from, got);
    OK(MPI_Comm_free(&ring));
}

CASE(nonblocking_neighbor_collectives)
{
    MPI_Comm ring = make_ring_graph();
    int from = (rank + ranks - 1) % ranks, got[5] = {-1, -1, -1, -1, -1}, one = 1, zero = 0;
    MPI_Aint no_bytes = 0;
    MPI_Datatype type = MPI_INT;
    MPI_Request requests[5];
    OK(MPI_Ineighbor_allgather(&rank, 1, MPI_INT, &got[0], 1, MPI_INT, ring, &requests[0]));
    OK(MPI_Ineighbor_allgatherv(&rank, 1, MPI_INT, &got[1], &one, &zero, MPI_INT, ring,
                                &requests[1]));
    OK(MPI_Ineighbor_alltoall(&rank, 1, MPI_INT, &got[2], 1, MPI_INT, ring, &requests[2]));
    OK(MPI_Ineighbor_alltoallv(&rank, &one, &zero, MPI_INT, &got[3], &one, &zero, MPI_INT, ring,
                               &requests[3]));
    OK(MPI_Ineighbor_alltoallw(&rank, &one, &no_bytes, &type, &got[4], &one, &no_bytes, &type, ring,
                               &requests[4]));
    OK(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 5; i++)
        EQUAL(from, got[i]);
    ring_on(ring);
    OK(MPI_Comm_free(&ring));
}

CASE(dist_graph_create)
{
    MPI_Comm star;
    int source = 0, degree = rank == 0 ? 3 : 0, to[] = {1, 2, 3}, in = 0, out = 0, weighted,
        got = -1;
    OK(MPI_Dist_graph_create(comm, rank == 0, &source, &degree, to, MPI_UNWEIGHTED, MPI_INFO_NULL,
                             0, &star));
    OK(MPI_Dist_graph_neighbors_count(star, &in, &out, &weighted));
    EQUAL(rank == 0 ? 0 : 1, in);
    EQUAL(rank == 0 ? 3 : 0, out);
    OK(MPI_Neighbor_allgather(&ranks, 1, MPI_INT, &got, 1, MPI_INT, star));
    EQUAL(rank == 0 ? -1 : ranks, got);
    ring_on(star);
    OK(MPI_Comm_free(&star));
}
