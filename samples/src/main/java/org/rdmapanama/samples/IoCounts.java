package org.rdmapanama.samples;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the kernel counts of the reading and writing of a process or thread. It counts each call of read and write and of
 * their variants, whether of a file, a pipe or a socket, and counts sendfile once as a read and once as a write. It counts
 * no other system calls: neither recvmsg and sendmsg nor mmap, poll, futex or ioctl.
 *
 * @param reads number of calls that read
 * @param bytesRead number of bytes that they read
 * @param writes number of calls that write
 * @param bytesWritten number of bytes that they wrote
 * @param fromStorage number of bytes that were fetched from storage, by any means
 */
public record IoCounts(long reads, long bytesRead, long writes, long bytesWritten, long fromStorage) {
    /** The counts of this process. */
    public static final Path OF_PROCESS = Path.of("/proc/self/io");

    /** The counts of the thread that reads them. */
    public static final Path OF_THREAD = Path.of("/proc/thread-self/io");

    private static final int MAX_BYTES = 4096;
    private static final Pattern LINE = Pattern.compile("(\\w+): (\\d+)");

    /** The counts until a moment. */
    public static final class Start {
        private final Path file;
        private final IoCounts counts;
        private final int bytes;

        private Start(Path file, String text) throws IOException {
            this.file = file;
            counts = parse(text);
            bytes = text.length();
        }

        /**
         * Returns what has been counted since, without the reading of the counts themselves.
         *
         * @return the counts
         * @throws IOException if the file cannot be read or has other contents
         */
        public IoCounts since() throws IOException {
            IoCounts now = parse(text(file));
            // The kernel counts a call when it ends: the last one is not yet in its own text, but the first one is.
            return new IoCounts(
                    now.reads - counts.reads - 1,
                    now.bytesRead - counts.bytesRead - bytes,
                    now.writes - counts.writes,
                    now.bytesWritten - counts.bytesWritten,
                    now.fromStorage - counts.fromStorage);
        }
    }

    /**
     * Begins to count.
     *
     * @param file {@link #OF_PROCESS} or {@link #OF_THREAD}
     * @return the counts so far
     * @throws IOException if the file is missing, may not be read, or has other contents
     */
    public static Start start(Path file) throws IOException {
        return new Start(file, text(file));
    }

    /** Reads the file by one call, whose count is known for that reason. */
    private static String text(Path file) throws IOException {
        try (FileInputStream in = new FileInputStream(file.toFile())) {
            byte[] bytes = new byte[MAX_BYTES];
            int length = in.read(bytes);
            return new String(bytes, 0, Math.max(0, length), StandardCharsets.US_ASCII);
        }
    }

    /** Parses the contents of such a file. */
    static IoCounts parse(String text) throws IOException {
        return new IoCounts(
                field(text, "syscr"),
                field(text, "rchar"),
                field(text, "syscw"),
                field(text, "wchar"),
                field(text, "read_bytes"));
    }

    private static long field(String text, String name) throws IOException {
        Matcher line = LINE.matcher(text);
        while (line.find()) {
            if (line.group(1).equals(name)) {
                return Long.parseLong(line.group(2));
            }
        }
        throw new IOException("there is no line '" + name + "'");
    }
}
