package org.rdmapanama.samples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * How often threads have left a processor.
 *
 * @param voluntary because the thread had to wait
 * @param involuntary because the kernel gave the processor to another thread
 */
public record ContextSwitches(long voluntary, long involuntary) {
    private static final Path THREADS = Path.of("/proc/self/task");
    private static final Path THIS_THREAD = Path.of("/proc/thread-self");
    private static final Pattern LINE = Pattern.compile("(?m)^(nonvoluntary|voluntary)_ctxt_switches:\\s*(\\d+)$");

    /**
     * Returns the switches of the calling thread so far.
     *
     * @return the switches
     * @throws IOException if the kernel does not tell
     */
    public static ContextSwitches ofThread() throws IOException {
        return read(THIS_THREAD);
    }

    /**
     * Returns the switches so far of each thread of this process but the calling one.
     *
     * @return the switches by thread
     * @throws IOException if the kernel does not tell
     */
    public static Map<Path, ContextSwitches> ofOtherThreads() throws IOException {
        Path own = THIS_THREAD.toRealPath().getFileName();
        List<Path> threads;
        try (Stream<Path> all = Files.list(THREADS)) {
            threads = all.filter(thread -> !thread.getFileName().equals(own)).toList();
        }
        Map<Path, ContextSwitches> switches = new HashMap<>();
        for (Path thread : threads) {
            try {
                switches.put(thread, read(thread));
            } catch (IOException e) {
                if (Files.exists(thread)) {
                    throw e;
                }
                // The thread has ended.
            }
        }
        return switches;
    }

    /**
     * Returns the switches between two results of {@link #ofOtherThreads}. Those of threads that have ended in between are
     * not included.
     *
     * @param before the earlier result
     * @param after the later result
     * @return the sum over the threads
     */
    public static ContextSwitches between(Map<Path, ContextSwitches> before, Map<Path, ContextSwitches> after) {
        ContextSwitches none = new ContextSwitches(0, 0);
        return after.entrySet().stream()
                .map(each -> each.getValue().minus(before.getOrDefault(each.getKey(), none)))
                .reduce(none, ContextSwitches::plus);
    }

    /**
     * Adds.
     *
     * @param other more switches
     * @return the sum
     */
    public ContextSwitches plus(ContextSwitches other) {
        return new ContextSwitches(voluntary + other.voluntary, involuntary + other.involuntary);
    }

    /**
     * Subtracts.
     *
     * @param before an earlier result for the same threads
     * @return the difference
     */
    public ContextSwitches minus(ContextSwitches before) {
        return new ContextSwitches(voluntary - before.voluntary, involuntary - before.involuntary);
    }

    private static ContextSwitches read(Path thread) throws IOException {
        return parse(Files.readString(thread.resolve("status")));
    }

    /** Parses the contents of a thread's file {@code status}. */
    static ContextSwitches parse(String status) throws IOException {
        long voluntary = -1;
        long involuntary = -1;
        Matcher line = LINE.matcher(status);
        while (line.find()) {
            long count = Long.parseLong(line.group(2));
            if (line.group(1).equals("voluntary")) {
                voluntary = count;
            } else {
                involuntary = count;
            }
        }
        if (voluntary < 0 || involuntary < 0) {
            throw new IOException("it has no lines about context switches");
        }
        return new ContextSwitches(voluntary, involuntary);
    }
}
