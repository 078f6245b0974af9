package org.rdmapanama.ffm.internal;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Checks whether this process can open more files. Callers check before operations that remember a failure for the life
 * of the process: libibverbs loads its drivers once, librdmacm considers a device that it cannot open dead, and a class
 * whose initializer fails is never initialized again. They check again after a failure, because both libraries report a
 * lack of descriptors as something else: "no such device", "function not implemented".
 *
 * <p>Another thread may take the descriptors between the check and the operation. This class uses only plain Java
 * files, so that a check needs neither a native library nor a class that could fail to initialize. Any thread may call
 * it.
 */
public final class FreeDescriptors {
    /** More than libibverbs and librdmacm use at a time while they list devices, load drivers, or start. */
    public static final int TO_START = 16;

    /** More than Java uses at a time while it resolves a name, or opens a pipe for the first time. */
    public static final int FEW = 4;

    /** More than an open device uses, including those needed only while it is opened. */
    public static final int FOR_A_DEVICE = 4;

    /** The cure to report when too few descriptors are free. */
    public static final String CURE =
            "the process has too many open files: close some, or raise the limit with 'ulimit -n'";

    private static final File DEVICE = new File("/dev/null");
    private static final File OPEN = new File("/proc/self/fd");
    private static final File LIMITS = new File("/proc/self/limits");

    /** Matches the soft limit. */
    private static final Pattern LIMIT = Pattern.compile("Max open files +([0-9]+) ");

    /** Of so many times the descriptors in question, at the end of the range, each is looked at before all are listed. */
    private static final int PROBES = 4;

    private FreeDescriptors() {}

    /**
     * Checks whether this many more files can be opened now. Counting the open files briefly uses one descriptor
     * itself.
     *
     * @param count how many files, 1 or more
     * @return 0 if they can be opened, or if that cannot be determined; else the negated EMFILE
     */
    public static int check(int count) {
        long limit = limit();
        if (limit >= 0 && hasAtTheEnd(count, limit)) {
            return 0;
        }
        String[] numbers = limit < 0 ? null : OPEN.list();
        if (numbers == null) {
            return tryAll(count);
        }
        long used = 0;
        for (String each : numbers) {
            // Descriptors at or above a limit that was lowered do not count.
            used += Integer.parseInt(each) < limit ? 1 : 0;
        }
        // The listing itself used one.
        return limit - (used - 1) < count ? -Errno.EMFILE : 0;
    }

    /**
     * Whether so many of the highest numbers are free. The system gives out the lowest that is, so they mostly are, and the
     * list of those in use may be long.
     */
    private static boolean hasAtTheEnd(int count, long limit) {
        // Otherwise all would seem to be free.
        if (!OPEN.canExecute()) {
            return false;
        }
        int free = 0;
        long last = Math.max(0, limit - (long) PROBES * count);
        for (long number = limit - 1; number >= last && free < count; number--) {
            free += new File(OPEN, Long.toString(number)).exists() ? 0 : 1;
        }
        return free == count;
    }

    /** Returns the limit of open files, or -1 if it cannot be read. */
    private static long limit() {
        try (FileInputStream limits = new FileInputStream(LIMITS)) {
            Matcher line = LIMIT.matcher(new String(limits.readAllBytes(), StandardCharsets.US_ASCII));
            return line.find() ? Long.parseLong(line.group(1)) : -1;
        } catch (IOException e) {
            return -1;
        }
    }

    /**
     * Opens files, for when they cannot be counted because no descriptor is left or there is no /proc. One thread at a
     * time.
     */
    private static synchronized int tryAll(int count) {
        List<FileInputStream> opened = new ArrayList<>(count);
        int result = 0;
        try {
            while (opened.size() < count) {
                opened.add(new FileInputStream(DEVICE));
            }
        } catch (IOException e) {
            result = DEVICE.canRead() ? -Errno.EMFILE : 0;
        } finally {
            opened.forEach(FreeDescriptors::close);
        }
        return result;
    }

    private static void close(FileInputStream opened) {
        try {
            opened.close();
        } catch (IOException e) {
            throw new AssertionError("closing " + DEVICE, e);
        }
    }

    /**
     * Returns the true reason of a failure.
     *
     * @param result the reported result, zero or more for success
     * @param count how many descriptors the operation may have needed
     * @return the negated EMFILE if the operation failed and fewer descriptors are free; else the reported result
     */
    public static int reason(int result, int count) {
        return result < 0 && check(count) < 0 ? -Errno.EMFILE : result;
    }
}
