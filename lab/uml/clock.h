/*
 * The clock that programs read without a system call, which would be half of all system calls of a JVM that starts. The
 * kernel writes this into the page of the vDSO, behind its code, whenever it brings its own clock up to date, which is a
 * thousand times a second while a program runs.
 */
#define CLOCK_OFFSET 0xf00
#define CLOCK_SHIFT 20

struct vdso_clock {
	unsigned int updates;
	/* Nanoseconds for each cycle, shifted; 0 as long as that is not known. A little too few: time never runs backwards. */
	unsigned int rate;
	unsigned long cycles;
	/* At that cycle, since 1970 and since the start: CLOCK_REALTIME and CLOCK_MONOTONIC. */
	unsigned long nanoseconds[2];
};

static inline unsigned long read_cycles(void)
{
	unsigned int low, high;

	asm volatile("lfence; rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (unsigned long)high << 32 | low;
}
