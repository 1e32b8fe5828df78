// By its name and this function a launcher of Open MPI 4: ends with errno as main found it.
#include <errno.h>

int orte_init(void)
{
    return 0;
}

int main(void)
{
    return errno;
}
