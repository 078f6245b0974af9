package org.rdmapanama.interleaving;

/** A thread that knows in which run it is. The code under test asks for that at each step, and to look it up takes longer. */
final class ExploringThread extends Thread {
    /** The run, or null. Only this thread uses it. */
    private Schedule schedule;

    ExploringThread(Runnable work) {
        super(work);
        setDaemon(true);
    }

    /** The run in which the calling thread is, or null. */
    static Schedule currentSchedule() {
        return Thread.currentThread() instanceof ExploringThread thread ? thread.schedule : null;
    }

    /** Tells the calling thread, which is such a thread, in which run it is from now on. */
    static void enter(Schedule schedule) {
        ((ExploringThread) Thread.currentThread()).schedule = schedule;
    }
}
