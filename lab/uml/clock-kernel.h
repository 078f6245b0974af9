/* How the kernel updates the clock, for arch/x86/um/vdso/vma.c. */
#include <linux/timekeeper_internal.h>
#include <linux/time-internal.h>
#include <linux/math64.h>
#include <os.h>
#include "clock.h"

static struct page **vdsop;

static bool no_cycles;

static int __init set_no_cycles(char *ignored)
{
	no_cycles = true;
	return 1;
}
__setup("lab.no_cycles", set_no_cycles);

void update_vsyscall(struct timekeeper *tk)
{
	static unsigned long first_time, first_cycles, rate;
	unsigned long time = os_nsecs(), cycles = read_cycles(), passed;
	struct vdso_clock *clock;

	/* Until the host's clock is in use, the kernel counts its own ticks. */
	if (no_cycles || !vdsop || strcmp(tk->tkr_mono.clock->name, "timer"))
		return;
	passed = time - first_time;
	if (first_time && passed > 100 * NSEC_PER_MSEC)
		rate = div64_u64(passed << CLOCK_SHIFT, cycles - first_cycles);
	/* The product above must not become too large. */
	if (!first_time || passed > 3600 * NSEC_PER_SEC) {
		first_time = time;
		first_cycles = cycles;
	}
	if (!rate)
		return;
	clock = page_address(*vdsop) + CLOCK_OFFSET;
	/* A thousandth less, because the host may let its clock run slower by half of that. */
	clock->rate = rate - (rate >> 10);
	clock->cycles = cycles;
	clock->nanoseconds[0] = tk->xtime_sec * NSEC_PER_SEC + (tk->tkr_mono.xtime_nsec >> tk->tkr_mono.shift) +
		time - tk->tkr_mono.cycle_last * TIMER_MULTIPLIER;
	clock->nanoseconds[1] = clock->nanoseconds[0] + timespec64_to_ns(&tk->wall_to_monotonic);
	clock->updates++;
}

void update_vsyscall_tz(void)
{
}
