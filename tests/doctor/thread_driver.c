/* thread_driver.c: a library that behaves as a vendor's driver does once it is started: it has threads of
 * its own, which sleep. fork_state_test.c loads it. */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

/* Exported under the file's own conventions; the test looks both up. */
int thread_driver_start(int count);
int thread_driver_wait(void);
void thread_driver_release(void);

static sem_t work;

/* Not inlined: it is the frame of this library that the thread stands in. */
static __attribute__((noinline)) int wait_for_work(void)
{
    int result;
    while ((result = sem_wait(&work)) != 0)
        continue;
    return result;
}

static void *body(void *user)
{
    (void)user;
    return (void *)(intptr_t)wait_for_work();
}

int thread_driver_start(int count)
{
    sem_init(&work, 0, 0);
    for (int i = 0; i < count; i++) {
        pthread_t made;
        const int code = pthread_create(&made, NULL, body, NULL);
        if (code != 0)
            return code;
        pthread_detach(made);
    }
    return 0;
}

/* Blocks a thread of the caller's inside this library. */
int thread_driver_wait(void)
{
    return wait_for_work() + 0 * (int)(intptr_t)&work;
}

void thread_driver_release(void)
{
    sem_post(&work);
}
