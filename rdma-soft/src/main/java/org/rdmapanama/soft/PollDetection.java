package org.rdmapanama.soft;

/**
 * Tells whether some thread polls all the time and so handles the packets, and how long the thread of the device naps
 * meanwhile. {@link ProgressEngine} owns it. {@link #isOn}, {@link #countPoll}, {@link #countLook} and {@link #nap} need no
 * lock; {@link #check} and {@link #isBusy} are called by the thread of the device only; the others need the lock of the device.
 */
final class PollDetection {
    /**
     * The shortest nap of the thread; while another thread polls all the time, every nap is twice as long as the one
     * before.
     */
    private static final long NAP_NANOS = 50_000;

    /** The longest nap at first: how long peers may wait when a program stops polling. */
    static final long LONG_NAP_NANOS = 1_000_000;

    /** The longest nap after {@link #MANY_NAPS}, each of which takes a program that polls its processor for a moment. */
    private static final long LONGEST_NAP_NANOS = 4_000_000;

    /** After this many naps, in each of which threads were busy, the thread expects that they go on for long. */
    private static final int MANY_NAPS = 64;

    /**
     * A caller that polls this often while the thread sleeps handles packets itself: packets need not wake the thread.
     */
    private static final int POLLS_TO_WAKE = 8;

    /** After this many naps without a poll, the thread concludes that no thread polls any more. */
    private static final int NAPS_WITHOUT_POLL = 4;

    /** A program that polls or sends a packet this often, or more often, does not sleep in between. */
    private static final long BUSY_NANOS = 50_000;

    /**
     * A polling caller checks all sockets and the timers only once in this many polls; else only the busiest socket.
     */
    private static final int TURNS_OF_BUSIEST = 64;

    /** The number of polls of empty queues. A racy hint. */
    private int polls;

    /** The number of looks for packets by threads that wait for events. A racy hint. */
    private int looks;

    /**
     * Whether some thread polls all the time and so handles the packets: then the thread of the device only checks from
     * time to time. Programs that wait for memory to change instead of polling need the thread at once.
     */
    private volatile boolean polled;

    /** The number of packets that other threads have sent. Guarded by the lock of the device, but read without. */
    private int sent;

    private int pollsSeen;
    private int looksSeen;
    private int sentSeen;
    private int napsWithoutPoll;

    /** The number of consecutive naps in which threads were busy, up to {@link #MANY_NAPS}. */
    private int busyNaps;

    private int pollsWhileSleeping;

    /** The number of turns of waiting threads since they last began to handle the packets. */
    private int turnsOfWaiters;

    private long nap = NAP_NANOS;

    /** Returns whether threads poll all the time, as far as is known. */
    boolean isOn() {
        return polled;
    }

    /**
     * Returns whether threads that poll have been so busy since the last call of {@link #check} that they cannot have slept for
     * long: they polled, or what they posted was sent. Threads that wait for events do not count. Same thread.
     */
    boolean isBusy() {
        int since = polls - pollsSeen;
        return since != 0 && (since + sent - sentSeen) * BUSY_NANOS >= nap;
    }

    /** Counts a packet that a thread other than that of the device sends. */
    void countSent() {
        sent++;
    }

    /** Counts a look for packets by a thread that waits for an event. */
    void countLook() {
        looks++;
    }

    /** Counts a poll of an empty queue. */
    void countPoll() {
        polls++;
    }

    /** Returns whether a polling caller checks all sockets this time. */
    boolean isTurnOfAll() {
        return (polls + looks) % TURNS_OF_BUSIEST == 0;
    }

    /** Called when the thread of the device goes to sleep. */
    void startSleeping() {
        pollsWhileSleeping = 0;
    }

    /** Called for each poll while the thread sleeps. Returns whether the caller handles the packets from now on. */
    boolean begins() {
        if (!polled && ++pollsWhileSleeping == POLLS_TO_WAKE) {
            polled = true;
            return true;
        }
        return false;
    }

    /**
     * Called for each turn of a thread that waits for an event. Such a thread and the thread of the device are both woken up
     * by a packet, so the latter, which only gets in the way then, leaves the packets to it after a few turns.
     *
     * @return whether the caller handles the packets from now on
     */
    boolean beginsByWaiting() {
        if (!polled && ++turnsOfWaiters >= POLLS_TO_WAKE) {
            turnsOfWaiters = 0;
            polled = true;
            return true;
        }
        return false;
    }

    /**
     * Called when a thread that may have polled waits until the thread of the device tells it of an event. Returns whether
     * callers handled the packets until now.
     */
    boolean end() {
        pollsWhileSleeping = 0;
        turnsOfWaiters = 0;
        boolean was = polled;
        polled = false;
        return was;
    }

    /** Returns the length of the next nap, in nanoseconds. */
    long nap() {
        return nap;
    }

    /** Called before each nap: returns whether threads still poll, and sets the length of the nap. */
    boolean check() {
        busyNaps = isBusy() ? Math.min(busyNaps + 1, MANY_NAPS) : 0;
        sentSeen = sent;
        if (polls != pollsSeen || looks != looksSeen) {
            pollsSeen = polls;
            looksSeen = looks;
            napsWithoutPoll = 0;
            long longest = busyNaps < MANY_NAPS ? LONG_NAP_NANOS : LONGEST_NAP_NANOS;
            nap = polled ? Math.min(2 * nap, longest) : NAP_NANOS;
            return polled;
        }
        nap = NAP_NANOS;
        if (polled && ++napsWithoutPoll == NAPS_WITHOUT_POLL) {
            polled = false;
        }
        return polled;
    }
}
