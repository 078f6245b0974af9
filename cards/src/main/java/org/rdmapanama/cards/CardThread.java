package org.rdmapanama.cards;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/** The thread that is the hardware: looks at the queues of all open device files in turn. */
final class CardThread {
    /** After so many rounds without anything to do, the thread sleeps between them. */
    private static final int IDLE_ROUNDS = 200;

    private static final long NAP_NANOS = 20_000;

    private final List<DeviceFile> files = new CopyOnWriteArrayList<>();

    /** Guarded by this, which is held during a round. */
    private boolean paused;

    CardThread() {
        Thread thread = new Thread(this::run, "fake card");
        thread.setDaemon(true);
        thread.start();
    }

    void add(DeviceFile file) {
        files.add(file);
    }

    void remove(DeviceFile file) {
        files.remove(file);
    }

    /** Has the cards do nothing, so that their rings belong to a test; or go on. No round is in progress afterwards. */
    synchronized void pause(boolean on) {
        paused = on;
    }

    private synchronized boolean work() {
        if (paused) {
            return false;
        }
        boolean busy = false;
        for (DeviceFile file : files) {
            file.noteSends();
        }
        for (DeviceFile file : files) {
            busy |= file.takeReceives();
        }
        for (DeviceFile file : files) {
            busy |= file.sendAndComplete();
        }
        return busy;
    }

    private void run() {
        int idle = 0;
        while (true) {
            boolean busy = work();
            idle = busy ? 0 : idle + 1;
            LockSupport.parkNanos(idle < IDLE_ROUNDS ? 1 : NAP_NANOS);
        }
    }
}
