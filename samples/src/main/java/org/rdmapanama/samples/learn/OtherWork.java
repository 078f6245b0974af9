package org.rdmapanama.samples.learn;

import java.io.IOException;
import org.rdmapanama.samples.CpuTime;

/** Says how busy other programs keep the machine, because a lesson that measures then says little. */
final class OtherWork {
    private static final long MILLIS = 300;

    private OtherWork() {}

    /** Looks for a moment, and prints a line. */
    static void say(Board board) throws InterruptedException {
        try {
            long start = System.nanoTime();
            long before = ofOthers();
            Thread.sleep(MILLIS);
            long used = ofOthers() - before;
            board.say(
                    "Other programs keep %4.1f× processors busy. If that is more than 0.3, these figures say little.",
                    Math.max(0, (double) used / (System.nanoTime() - start)));
        } catch (IOException e) {
            board.say("'-' because of %s", e.getMessage());
        }
        board.say("");
    }

    private static long ofOthers() throws IOException {
        return CpuTime.ofMachine() - CpuTime.ofProcess(ProcessHandle.current().pid());
    }
}
