// C++: containers as buffers, errors as exceptions, through the C binding.
#include "conform.h"

#include <algorithm>
#include <complex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

CONFORM_MAIN(MPI_THREAD_SINGLE)

namespace
{

constexpr int tag = 19;

struct mpi_error : std::runtime_error {
    int error_class = 0;
    explicit mpi_error(int code) : std::runtime_error(class_name(code))
    {
        MPI_Error_class(code, &error_class);
    }
};

void need(int code)
{
    if (code != MPI_SUCCESS)
        throw mpi_error(code);
}

template <typename T> MPI_Datatype type_of();
template <> MPI_Datatype type_of<double>()
{
    return MPI_DOUBLE;
}
template <> MPI_Datatype type_of<std::complex<double>>()
{
    return MPI_C_DOUBLE_COMPLEX;
}

template <typename T> std::vector<T> exchanged(const std::vector<T> &mine, int peer)
{
    MPI_Request request;
    MPI_Status status;
    int count = 0;
    need(MPI_Isend(mine.data(), static_cast<int>(mine.size()), type_of<T>(), peer, tag, comm,
                   &request));
    need(MPI_Probe(peer, tag, comm, &status));
    need(MPI_Get_count(&status, type_of<T>(), &count));
    std::vector<T> theirs(static_cast<std::size_t>(count));
    need(MPI_Recv(theirs.data(), count, type_of<T>(), peer, tag, comm, MPI_STATUS_IGNORE));
    need(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return theirs;
}

const parameter lengths[] = {{"0", 0}, {"1", 1}, {"130", 130}, {"1100", 1100}, {"40000", 40000}};

} // namespace

CASE_EACH(vectors_of_double, lengths)
{
    std::vector<double> mine(static_cast<std::size_t>(value) + static_cast<std::size_t>(rank));
    std::iota(mine.begin(), mine.end(), rank * 0.5);
    const auto theirs = exchanged(mine, 1 - rank);
    EQUAL(value + 1 - rank, theirs.size());
    for (std::size_t i = 0; i < theirs.size(); i++)
        CHECK(theirs[i] == static_cast<double>(i) + (1 - rank) * 0.5);
}

CASE_EACH(vectors_of_complex, lengths)
{
    const std::vector<std::complex<double>> mine(static_cast<std::size_t>(value), {1.0 * rank, -2});
    const auto theirs = exchanged(mine, 1 - rank);
    EQUAL(value, theirs.size());
    CHECK(std::all_of(theirs.begin(), theirs.end(), [](const auto &number) {
        return number == std::complex<double>(1.0 - rank, -2);
    }));
}

CASE(errors_as_exceptions)
{
    int number = 0;
    bool caught = false;
    try {
        need(MPI_Send(&number, 1, MPI_INT, ranks, tag, comm));
    } catch (const mpi_error &error) {
        caught = error.error_class == MPI_ERR_RANK;
    }
    CHECK(caught);
}

CASE(truncation_as_exception)
{
    return_all_errors();
    bool caught = false;
    if (rank == 0) {
        const std::vector<double> numbers(10);
        need(MPI_Send(numbers.data(), 10, MPI_DOUBLE, 1, tag, comm));
    } else {
        std::vector<double> numbers(10);
        try {
            need(MPI_Recv(numbers.data(), 3, MPI_DOUBLE, 0, tag, comm, MPI_STATUS_IGNORE));
        } catch (const mpi_error &error) {
            caught = error.error_class == MPI_ERR_TRUNCATE;
        }
        CHECK(caught);
    }
    CHECK(exchanged(std::vector<double>(5, rank), 1 - rank) == std::vector<double>(5, 1 - rank));
}

CASE(requests_in_a_vector)
{
    std::vector<MPI_Request> requests;
    std::vector<MPI_Status> statuses(40);
    std::vector<std::string> texts(20), got(20, std::string(40, '-'));
    for (int i = 0; i < 20; i++) {
        texts[i] = "text " + std::to_string(i) + " of " + std::to_string(rank);
        MPI_Request request;
        need(MPI_Irecv(&got[i][0], 40, MPI_CHAR, 1 - rank, i, comm, &request));
        requests.push_back(request);
    }
    for (int i = 0; i < 20; i++) {
        MPI_Request request;
        need(MPI_Isend(texts[i].data(), static_cast<int>(texts[i].size()), MPI_CHAR, 1 - rank, i,
                       comm, &request));
        requests.push_back(request);
    }
    need(MPI_Waitall(40, requests.data(), statuses.data()));
    for (int i = 0; i < 20; i++) {
        int count = 0;
        need(MPI_Get_count(&statuses[i], MPI_CHAR, &count));
        CHECK(got[i].substr(0, count) ==
              "text " + std::to_string(i) + " of " + std::to_string(1 - rank));
        CHECK(got[i].find_first_not_of('-', count) == std::string::npos);
    }
}

CASE(exception_leaves_a_case_clean)
{
    // An exception passes through frames that have just been inside MPI.
    int got = 0;
    for (int i = 0; i < 5; i++) {
        try {
            need(MPI_Sendrecv(&i, 1, MPI_INT, ranks, tag, &got, 1, MPI_INT, 0, tag, comm,
                              MPI_STATUS_IGNORE));
            CHECK(!"reached");
        } catch (const mpi_error &) {
        }
        CHECK(exchanged(std::vector<double>{1.0 * i}, 1 - rank)[0] == i);
    }
}
