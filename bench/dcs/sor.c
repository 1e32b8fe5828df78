// SOR: Laplace's equation in two dimensions, each rank with a strip of rows, which it exchanges
// with its neighbours twice a sweep (Sobalvarro et al., section 4.1.2, the Mixed workload; 128 x
// 128 there).
//
//     sor SIZE REPEAT
//
// Solves it REPEAT times from the beginning, and compares each solution with the known one.
#include "bench/dcs/laplace.h"
#include "bench/dcs/program.h"

#include <mpi.h>
#include <stdio.h>

enum { TAG_UP = 1, TAG_DOWN = 2, SWEEPS_PER_LOOK = 20, SWEEPS_MAX = 1000000 };

static const double settled = 1e-10;  // largest change of a sweep that ends the iteration
static const double tolerance = 1e-6; // largest distance from the solution

static void exchange(const struct laplace *part, const struct program *program)
{
    int up = program->rank > 0 ? program->rank - 1 : MPI_PROC_NULL;
    int down = program->rank < program->ranks - 1 ? program->rank + 1 : MPI_PROC_NULL;
    int count = part->size + 2;
    MPI_Sendrecv(laplace_row(part, 1), count, MPI_DOUBLE, up, TAG_UP,
                 laplace_row(part, part->rows + 1), count, MPI_DOUBLE, down, TAG_UP, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(laplace_row(part, part->rows), count, MPI_DOUBLE, down, TAG_DOWN,
                 laplace_row(part, 0), count, MPI_DOUBLE, up, TAG_DOWN, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static double sweep(struct laplace *part, const struct program *program)
{
    double red = laplace_relax(part, LAPLACE_RED);
    exchange(part, program);
    double black = laplace_relax(part, LAPLACE_BLACK);
    exchange(part, program);
    return red > black ? red : black;
}

static double largest_of_all(double mine)
{
    double largest = 0;
    MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

// How many sweeps it took.
static int solve(struct laplace *part, const struct program *program)
{
    laplace_reset(part);
    for (int count = 1; count <= SWEEPS_MAX; count++) {
        double change = sweep(part, program);
        if (count % SWEEPS_PER_LOOK == 0 && largest_of_all(change) < settled)
            return count;
    }
    return SWEEPS_MAX;
}

static bool solve_all(struct laplace *part, const struct program *program, int repeat)
{
    bool correct = true;
    for (int i = 1; i <= repeat; i++) {
        int sweeps = solve(part, program);
        double error = largest_of_all(laplace_error(part));
        correct = correct && error <= tolerance;
        if (program->rank == 0 && (i == 1 || i == repeat))
            printf("Run %d of %d: %d sweeps, error %.1e\n", i, repeat, sweeps, error);
    }
    return correct;
}

int main(int argc, char **argv)
{
    int numbers[2];
    struct laplace part;
    struct program program = program_begin(&argc, &argv, "sor", "SIZE REPEAT", 2, 2, numbers);
    if (numbers[0] < program.ranks ||
        !laplace_init(&part, numbers[0], program.ranks, program.rank)) {
        fprintf(stderr, "sor: %d rows are too few for %d ranks, or too many for the memory\n",
                numbers[0], program.ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    program_start(&program);
    bool correct = solve_all(&part, &program, numbers[1]);
    laplace_free(&part);
    return program_end(&program, correct);
}
