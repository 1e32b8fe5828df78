// Barrier: all ranks compute, then meet (Sobalvarro et al., section 4.1.2). The root tells
// everybody that the barrier is passed, all compute, and everybody tells the root that he is there.
//
//     barrier BARRIERS STEPS SPREAD
//
// Each rank takes STEPS steps of work before each barrier, drawn anew by up to SPREAD per cent more
// or less (0: all alike, as in the paper's Figure 4).
#include "bench/dcs/delay.h"
#include "bench/dcs/program.h"

#include <mpi.h>
#include <stdio.h>

enum { PASSED = 1, THERE = 2, SPREAD_MAX = 100 };

static bool root_meets(int ranks, int barrier)
{
    bool correct = true;
    for (int rank = 1; rank < ranks; rank++) {
        int there = -1;
        MPI_Recv(&there, 1, MPI_INT, rank, THERE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        correct = correct && there == barrier;
    }
    return correct;
}

static void root_lets_pass(int ranks, int barrier)
{
    for (int rank = 1; rank < ranks; rank++)
        MPI_Send(&barrier, 1, MPI_INT, rank, PASSED, MPI_COMM_WORLD);
}

static bool others_pass(int barrier)
{
    int passed = -1;
    MPI_Recv(&passed, 1, MPI_INT, 0, PASSED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return passed == barrier;
}

int main(int argc, char **argv)
{
    int numbers[3];
    struct program program =
        program_begin(&argc, &argv, "barrier", "BARRIERS STEPS SPREAD", 2, 3, numbers);
    int barriers = numbers[0], spread_pct = numbers[2] < SPREAD_MAX ? numbers[2] : SPREAD_MAX;
    uint64_t chain = 1, dice = (uint64_t)program.rank + 1;
    bool correct = true;
    program_start(&program);
    for (int barrier = 0; barrier < barriers; barrier++) {
        if (program.rank == 0)
            root_lets_pass(program.ranks, barrier);
        else
            correct = others_pass(barrier) && correct;
        chain = delay_steps(chain, delay_draw(&dice, numbers[1], spread_pct));
        if (program.rank == 0)
            correct = root_meets(program.ranks, barrier) && correct;
        else
            MPI_Send(&barrier, 1, MPI_INT, 0, THERE, MPI_COMM_WORLD);
    }
    if (program.rank == 0)
        printf("%d barriers, %d steps each; the chain ends in %d\n", barriers, numbers[1],
               (int)(chain >> 60));
    return program_end(&program, correct);
}
