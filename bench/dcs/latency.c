// Latency: two ranks hand a token of 128 bytes to each other, again and again, and time each round
// trip (Sobalvarro et al., section 4.1.2).
//
//     latency ROUNDTRIPS
//
// Further ranks wait at the end.
#include "bench/dcs/program.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TOKEN_BYTES = 128, TAG = 1, BINS = 32 };

struct token {
    uint64_t number;
    char rest[TOKEN_BYTES - sizeof(uint64_t)];
};

// Round trips by their length: bin b has those below 2^b microseconds that the bin before has not.
struct histogram {
    long count[BINS];
    double longest_s;
};

static void count_roundtrip(struct histogram *histogram, double seconds)
{
    int bin = 0;
    for (double limit_s = 1e-6; bin < BINS - 1 && seconds >= limit_s; limit_s *= 2)
        bin++;
    histogram->count[bin]++;
    if (seconds > histogram->longest_s)
        histogram->longest_s = seconds;
}

static void print_histogram(const struct histogram *histogram)
{
    for (int bin = 0; bin < BINS; bin++) {
        if (histogram->count[bin] > 0)
            printf("  below %10.0f us: %ld\n", (double)(UINT64_C(1) << bin), histogram->count[bin]);
    }
    printf("  longest %.3f ms\n", histogram->longest_s * 1e3);
}

static void send_token(const struct token *token, int to)
{
    MPI_Send(token, sizeof *token, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
}

static void receive_token(struct token *token, int from)
{
    MPI_Recv(token, sizeof *token, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Each rank raises the token's number by one, so rank 0 knows what must come back.
static bool hold_the_clock(int roundtrips, struct histogram *histogram)
{
    struct token token = {0};
    bool correct = true;
    double before_s = MPI_Wtime();
    for (int i = 0; i < roundtrips; i++) {
        token.number++;
        send_token(&token, 1);
        receive_token(&token, 1);
        correct = correct && token.number == 2 * ((uint64_t)i + 1);
        double now_s = MPI_Wtime();
        count_roundtrip(histogram, now_s - before_s);
        before_s = now_s;
    }
    return correct;
}

static void hand_back(int roundtrips)
{
    struct token token;
    for (int i = 0; i < roundtrips; i++) {
        receive_token(&token, 0);
        token.number++;
        send_token(&token, 0);
    }
}

int main(int argc, char **argv)
{
    int roundtrips = 0;
    struct histogram histogram = {0};
    bool correct = true;
    struct program program =
        program_begin(&argc, &argv, "latency", "ROUNDTRIPS", 1, 1, &roundtrips);
    program_start(&program);
    if (program.ranks > 1 && program.rank == 0)
        correct = hold_the_clock(roundtrips, &histogram);
    else if (program.rank == 1)
        hand_back(roundtrips);
    if (program.rank == 0)
        print_histogram(&histogram);
    return program_end(&program, correct && program.ranks > 1);
}
