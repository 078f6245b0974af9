package org.rdmapanama.samples.today;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.rdmapanama.samples.ContextSwitches;
import org.rdmapanama.samples.IoCounts;

/**
 * Counts what a transfer takes in this process. What takes long, reading about all threads, is done outside the measured
 * time, between the preparation and the check. Those threads do nothing for the commands, which the thread of the transfer
 * handles.
 */
final class Counting {
    private final Path ioFile;
    private final Set<String> missing = new LinkedHashSet<>();
    private Map<Path, ContextSwitches> ofOthers;
    private ContextSwitches ofThread;
    private IoCounts.Start start;
    private IoCounts io;

    /** Begins to count the other threads. */
    Counting(Path ioFile) {
        this.ioFile = ioFile;
        try {
            ofOthers = ContextSwitches.ofOtherThreads();
        } catch (IOException e) {
            lacks("/proc/self/task", e);
        }
    }

    private void lacks(String file, IOException why) {
        String text = why.getMessage() == null ? why.toString() : why.getMessage();
        missing.add(text.contains(file) ? text : file + ": " + text);
    }

    /** Begins to count this thread, and the reading and writing of the process. */
    void start() {
        try {
            ofThread = ContextSwitches.ofThread();
        } catch (IOException e) {
            lacks("/proc/thread-self", e);
        }
        try {
            start = IoCounts.start(ioFile);
        } catch (IOException e) {
            lacks(ioFile.toString(), e);
        }
    }

    /** Ends what {@link #start} has begun. */
    void stop() {
        try {
            io = start == null ? null : start.since();
        } catch (IOException e) {
            lacks(ioFile.toString(), e);
        }
        try {
            ofThread = ofThread == null ? null : ContextSwitches.ofThread().minus(ofThread);
        } catch (IOException e) {
            ofThread = null;
            lacks("/proc/thread-self", e);
        }
    }

    /** Ends counting the other threads, and returns all counts. */
    Counts finish() {
        ContextSwitches switches = null;
        try {
            if (ofThread != null && ofOthers != null) {
                switches = ofThread.plus(ContextSwitches.between(ofOthers, ContextSwitches.ofOtherThreads()));
            }
        } catch (IOException e) {
            lacks("/proc/self/task", e);
        }
        return Counts.of(io, switches, String.join("; ", missing));
    }
}
