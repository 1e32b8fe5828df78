// main() of the programs that need no threads.
#include "conform.h"

CONFORM_MAIN(MPI_THREAD_SINGLE)
