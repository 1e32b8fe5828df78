// Google Benchmark around the table of pieces; "each" is the time of one, in seconds.
#include "bench/micro/pieces.h"

#include <benchmark/benchmark.h>

static void run(benchmark::State &state, const struct piece *piece)
{
    const size_t batch = 1000;
    for (auto _ : state)
        piece->run(batch);
    state.counters["each"] =
        benchmark::Counter(static_cast<double>(batch) * static_cast<double>(state.iterations()),
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

int main(int argc, char **argv)
{
    for (const struct piece *piece = pieces; piece->name != nullptr; piece++)
        benchmark::RegisterBenchmark(piece->name, run, piece);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
