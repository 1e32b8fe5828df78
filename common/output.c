#include "common/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int output_finish(struct error *err)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    // A write that failed earlier has not left its reason.
    return error_errno(err, errno != 0 ? errno : EIO, "write to standard output");
}

int output_end(const char *program)
{
    struct error err = {0};
    if (output_finish(&err) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "%s: %s\n", program, err.text);
    return EXIT_FAILURE;
}
