package org.rdmapanama.ffm.internal;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Whether this process can open more files. Asked before something that would remember for the life of the process that it
 * could not: libibverbs loads its drivers once, librdmacm takes a device that it cannot open for dead, a class whose
 * initializer fails is never tried again. And asked after a failure, for both libraries report one for want of a
 * descriptor as another: "no such device", "function not implemented".
 *
 * <p>Another thread may take the descriptors between the question and what follows it. Nothing but plain files of Java is
 * used here, so that asking needs neither a native library nor a class that would be lost.
 */
public final class FreeDescriptors {
    /** More than libibverbs and librdmacm have open at a time while they list devices, load drivers, or start. */
    public static final int TO_START = 16;

    /** More than Java has open at a time while it looks for the address of a name, or makes a pipe for the first time. */
    public static final int FEW = 4;

    /** What an open device takes, and opening it for a moment more. */
    public static final int FOR_A_DEVICE = 4;

    /** What to do when there are too few. */
    public static final String CURE = "too many files are open: see 'ulimit -n'";

    private static final File DEVICE = new File("/dev/null");

    private FreeDescriptors() {}

    /**
     * Whether this many more files can be opened now. One thread at a time finds out, so that they do not find each other's.
     *
     * @param count how many, from 1
     * @return 0 when they can, or where that cannot be found out; else the negated EMFILE
     */
    public static synchronized int check(int count) {
        List<FileInputStream> opened = new ArrayList<>(count);
        int result = 0;
        try {
            while (opened.size() < count) {
                opened.add(new FileInputStream(DEVICE));
            }
        } catch (IOException e) {
            result = DEVICE.canRead() ? -Errno.EMFILE : 0;
        }
        for (FileInputStream each : opened) {
            try {
                each.close();
            } catch (IOException e) {
                throw new AssertionError("closing " + DEVICE, e);
            }
        }
        return result;
    }

    /**
     * Why something really failed.
     *
     * @param result what was reported, zero or more for success
     * @param count how many descriptors it may have needed
     * @return the negated EMFILE when it failed and there are not so many; else what was reported
     */
    public static int reason(int result, int count) {
        return result < 0 && check(count) < 0 ? -Errno.EMFILE : result;
    }
}
