/* How a program reads the clock, for arch/x86/um/vdso/um_vdso.c, whose own functions call the kernel. */
#include "clock.h"

/*
 * Sets the seconds, and the rest in a unit of so many nanoseconds. False if the clock is another, or does not run yet: then
 * a system call tells.
 */
static int read_clock(int clock, long *seconds, long *rest, long unit)
{
	/* This function is in the same page. */
	volatile struct vdso_clock *now = (void *)(((unsigned long)read_clock & -4096UL) + CLOCK_OFFSET);
	unsigned long since, nanoseconds;
	unsigned int updates;

	if ((clock != 0 && clock != 1) || !now->rate)
		return 0;
	/* The kernel updates all at once, while no program runs. */
	do {
		updates = now->updates;
		since = read_cycles() - now->cycles;
		if ((long)since < 0)
			since = 0;
		nanoseconds = now->nanoseconds[clock] + (since * now->rate >> CLOCK_SHIFT);
	} while (now->updates != updates);
	*seconds = nanoseconds / 1000000000;
	*rest = nanoseconds % 1000000000 / unit;
	return 1;
}

static int call_clock_gettime(clockid_t clock, struct __kernel_old_timespec *ts);
static int call_gettimeofday(struct __kernel_old_timeval *tv, struct timezone *tz);

int __vdso_clock_gettime(clockid_t clock, struct __kernel_old_timespec *ts)
{
	return read_clock(clock, &ts->tv_sec, &ts->tv_nsec, 1) ? 0 : call_clock_gettime(clock, ts);
}

int __vdso_gettimeofday(struct __kernel_old_timeval *tv, struct timezone *tz)
{
	return tv && !tz && read_clock(0, &tv->tv_sec, &tv->tv_usec, 1000) ? 0 : call_gettimeofday(tv, tz);
}
