/* pipe.c: see pipe.h. */
#include "platform/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int accel__pipe_open(int ends[2])
{
    int low[2];
    if (pipe2(low, O_CLOEXEC) != 0)
        return errno;
    for (int i = 0; i < 2; i++) {
        ends[i] = low[i] > 2 ? low[i] : fcntl(low[i], F_DUPFD_CLOEXEC, 3);
        const int code = errno;
        if (low[i] <= 2)
            close(low[i]);
        if (ends[i] < 0) {
            close(i == 0 ? low[1] : ends[0]);
            return code;
        }
    }
    return 0;
}
