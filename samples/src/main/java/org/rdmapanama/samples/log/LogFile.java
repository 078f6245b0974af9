package org.rdmapanama.samples.log;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * The file of a node, mapped into memory: what the node has promised, and its records. Over RDMA, peers write and
 * read it, so it is looked at as if anything could be in it.
 *
 * <p>The first {@value #FIRST} bytes are the header; see the constants. Records follow, each with a header of {@value
 * RECORD_HEADER} bytes: length of the payload and checksum (4 bytes each), term and index (8 bytes each), little endian. The
 * payload follows, padded to 8 bytes. The checksum covers all of it and the checksum of the record before, so two files that
 * have the same checksum at the same place have the same records up to there, and what is left of an old log behind a new
 * record does not check. The log ends at the first record that does not check. A writer puts 8 bytes of zeros there.
 *
 * <p>Threads: any; what changes the log is the caller's to order.
 */
final class LogFile implements AutoCloseable {
    /** Where the first record is. */
    static final int FIRST = 4096;

    /** The bytes of a record before its payload. */
    static final int RECORD_HEADER = 24;

    /** What a writer puts behind the last record. */
    static final int END_MARK = 8;

    static final int MAX_PAYLOAD = 1 << 20;

    /** The smallest capacity: room for a few records. */
    static final long MIN_CAPACITY = 2 * FIRST;

    /** Where the index of the last record is that is known to be committed; a primary writes it to its replicas. */
    static final int COMMIT = 256;

    private static final long MAGIC = 0x314C_4152_4D44_5250L;
    private static final int VERSION = 1;
    private static final int VERSION_AT = 8;
    private static final int NODE_AT = 16;
    private static final int CAPACITY_AT = 24;

    /** Promises: term, primary, and a checksum. They are written in turns, so that a torn one leaves the one before. */
    private static final int[] PROMISES = {64, 128};

    private static final int PROMISE_BYTES = 16;

    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT.withOrder(java.nio.ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG.withOrder(java.nio.ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle SHARED_LONG = LONG.varHandle();

    private static final int RESERVED_AT_ONCE = 1 << 16;

    /** Follows the name of a file that is being made. */
    static final String UNFINISHED = ".unfinished";

    private final Path path;
    private final FileChannel channel;
    private final MemorySegment memory;

    /** Guards the fields below. Not the file, which peers write. */
    private final Object lock = new Object();

    /** The end of each record; the one with index i is at place i - 1. */
    private long[] ends = new long[1024];

    private int count;
    private int lastChecksum;
    private long lastTerm;
    private final byte[] copy = new byte[MAX_PAYLOAD];

    private LogFile(Path path, FileChannel channel, MemorySegment memory) {
        this.path = path;
        this.channel = channel;
        this.memory = memory;
    }

    /**
     * Opens the file of a node, which is then locked, or makes it.
     *
     * @param path the file
     * @param capacity its size in bytes if it is made, a multiple of 8; 0 if it must exist
     * @param arena where it is mapped
     * @return the file; its log is what checks
     */
    static LogFile open(Path path, long capacity, Arena arena) throws IOException {
        if (isMissing(path)) {
            make(path, capacity);
        }
        FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
        try {
            lock(path, channel);
            LogFile file =
                    new LogFile(path, channel, channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size(), arena));
            file.check();
            return file;
        } catch (IOException | RuntimeException | Error e) {
            channel.close();
            throw e;
        }
    }

    private static boolean isMissing(Path path) throws IOException {
        return !Files.exists(path) || (Files.isRegularFile(path) && Files.size(path) == 0);
    }

    /**
     * Makes the file of a node under another name and gives it its own when it is complete: a node that is killed meanwhile
     * leaves no file that the next start would refuse.
     */
    private static void make(Path path, long capacity) throws IOException {
        if (capacity == 0) {
            throw new LogException(
                    "there is no log at " + path + ": name the file of a node, or give a size to make one");
        }
        if (capacity < MIN_CAPACITY || capacity % Long.BYTES != 0) {
            throw new LogException("the size of a log must be a multiple of 8 of at least " + MIN_CAPACITY
                    + " bytes, not " + capacity);
        }
        try {
            // An empty file is none yet, and its real path follows links.
            FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)
                    .close();
            makeAt(path.toRealPath(), capacity);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (NoSuchFileException e) {
            throw new LogException("cannot make " + path + ": there is no folder for it", e);
        } catch (IOException e) {
            throw new LogException("cannot make " + path + " with " + capacity + " bytes: " + e.getMessage(), e);
        }
    }

    private static void makeAt(Path path, long capacity) throws IOException {
        Path unfinished = path.resolveSibling(path.getFileName() + UNFINISHED);
        try (Arena arena = Arena.ofConfined();
                FileChannel channel = FileChannel.open(
                        unfinished, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            lock(path, channel);
            if (!isMissing(path)) {
                // Another node has made it since this one looked.
                Files.deleteIfExists(unfinished);
                return;
            }
            try {
                channel.truncate(0);
                reserve(channel, capacity);
            } catch (IOException e) {
                // The disk may be full. The name stays: only who holds the lock may change what it names.
                if (channel.isOpen()) {
                    channel.truncate(0);
                }
                throw e;
            }
            writeHeader(channel.map(FileChannel.MapMode.READ_WRITE, 0, capacity, arena));
            Files.move(unfinished, path, StandardCopyOption.ATOMIC_MOVE);
            forceNames(path.getParent());
        }
    }

    /** Has the names in a folder be on the disk. */
    private static void forceNames(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** Opens a file to look at it, also one that a node is using. */
    static LogFile read(Path path, Arena arena) throws IOException {
        if (!Files.isRegularFile(path)) {
            throw new LogException("there is no file " + path + ": name the file of a node");
        }
        FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
        try {
            LogFile file =
                    new LogFile(path, channel, channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena));
            file.check();
            return file;
        } catch (IOException | RuntimeException | Error e) {
            channel.close();
            throw e;
        }
    }

    private static void lock(Path path, FileChannel channel) throws IOException {
        boolean locked;
        try {
            locked = channel.tryLock() != null;
        } catch (OverlappingFileLockException e) {
            locked = false;
        }
        if (!locked) {
            throw new LogException("another node uses " + path + ": stop it first, or name another file");
        }
    }

    /**
     * Fills a new file with zeros, so that it has all its room on the disk: without room, a later access to the mapped memory
     * would be a fault.
     */
    private static void reserve(FileChannel channel, long capacity) throws IOException {
        ByteBuffer zeros = ByteBuffer.allocateDirect(RESERVED_AT_ONCE);
        for (long at = 0; at < capacity; ) {
            zeros.clear().limit((int) Math.min(RESERVED_AT_ONCE, capacity - at));
            at += channel.write(zeros, at);
        }
    }

    private static void writeHeader(MemorySegment memory) {
        memory.set(LONG, 0, MAGIC);
        memory.set(LONG, NODE_AT, new SecureRandom().nextLong() | 1);
        memory.set(LONG, CAPACITY_AT, memory.byteSize());
        memory.set(INT, VERSION_AT, VERSION);
        memory.force();
    }

    private void check() {
        if (memory.byteSize() < MIN_CAPACITY || memory.get(LONG, 0) != MAGIC) {
            throw new LogException(path + " is not the file of a log: name another file, or remove it");
        }
        if (memory.get(INT, VERSION_AT) != VERSION) {
            throw new LogException(
                    path + " has format " + memory.get(INT, VERSION_AT) + ", and this program reads " + VERSION);
        }
        if (memory.get(LONG, CAPACITY_AT) != memory.byteSize()) {
            throw new LogException(path + " was made with " + memory.get(LONG, CAPACITY_AT) + " bytes and now has "
                    + memory.byteSize() + ": restore it, or remove it and let the node catch up");
        }
        extend(capacity());
    }

    Path path() {
        return path;
    }

    MemorySegment memory() {
        return memory;
    }

    /** Returns a part of the file as a buffer. */
    ByteBuffer buffer(long offset, long length) {
        return memory.asSlice(offset, length).asByteBuffer();
    }

    long capacity() {
        return memory.byteSize();
    }

    /** Returns the number by which this node is known, not 0. */
    long node() {
        return memory.get(LONG, NODE_AT);
    }

    /** Returns the highest term that this node has promised to follow. */
    long promisedTerm() {
        int slot = promise();
        return slot < 0 ? 0 : memory.get(LONG, slot);
    }

    /** Returns the node to which the term was promised. */
    long promisedPrimary() {
        int slot = promise();
        return slot < 0 ? 0 : memory.get(LONG, slot + Long.BYTES);
    }

    /** Promises to follow a primary and no other of this or a lower term. It is on disk when this returns. */
    void promise(long term, long primary) {
        int slot = promise() == PROMISES[0] ? PROMISES[1] : PROMISES[0];
        memory.set(LONG, slot, term);
        memory.set(LONG, slot + Long.BYTES, primary);
        memory.set(INT, slot + PROMISE_BYTES, checksumOfPromise(slot));
        memory.asSlice(0, FIRST).force();
    }

    /** The valid promise with the highest term; -1 if there is none. */
    private int promise() {
        int best = -1;
        for (int slot : PROMISES) {
            if (memory.get(INT, slot + PROMISE_BYTES) == checksumOfPromise(slot)
                    && memory.get(LONG, slot) > (best < 0 ? 0 : memory.get(LONG, best))) {
                best = slot;
            }
        }
        return best;
    }

    private int checksumOfPromise(int slot) {
        CRC32C crc = new CRC32C();
        crc.update(memory.asSlice(slot, PROMISE_BYTES).toArray(JAVA_BYTE));
        return (int) crc.getValue();
    }

    /** Returns the index up to which records are known to be committed, as it is in the file: it may be ahead of the log. */
    long commitIndex() {
        return (long) SHARED_LONG.getAcquire(memory, (long) COMMIT);
    }

    void commitIndex(long index) {
        SHARED_LONG.setRelease(memory, (long) COMMIT, index);
    }

    long lastIndex() {
        synchronized (lock) {
            return count;
        }
    }

    long lastTerm() {
        synchronized (lock) {
            return lastTerm;
        }
    }

    /** Returns where the log ends. */
    long tail() {
        synchronized (lock) {
            return endOf(count);
        }
    }

    /** Returns where a record ends and the next one begins; that of index 0 is where the first begins. */
    long endOf(long index) {
        synchronized (lock) {
            if (index < 0 || index > count) {
                throw new LogException(path + " has records up to " + count + ", not " + index);
            }
            return index == 0 ? FIRST : ends[(int) index - 1];
        }
    }

    /** Returns the index of the last record that ends at or before a place. */
    long indexAt(long offset) {
        synchronized (lock) {
            int found = Arrays.binarySearch(ends, 0, count, offset);
            return found >= 0 ? found + 1 : -found - 1;
        }
    }

    /** Copies the header of a record. */
    byte[] header(long index) {
        return memory.asSlice(endOf(index - 1), RECORD_HEADER).toArray(JAVA_BYTE);
    }

    long term(long index) {
        return memory.get(LONG, endOf(index - 1) + 8);
    }

    /** Copies a record. */
    LogRecord record(long index) {
        long start = endOf(index - 1);
        long room = endOf(index) - start - RECORD_HEADER;
        // A peer may have changed it.
        int length = (int) Math.clamp(memory.get(INT, start), 0, room);
        return new LogRecord(
                index,
                memory.get(LONG, start + 8),
                memory.asSlice(start + RECORD_HEADER, length).toArray(JAVA_BYTE));
    }

    private static long sizeOf(int length) {
        return RECORD_HEADER + ((length + 7L) & ~7L);
    }

    /** Returns whether a record with such a payload fits. */
    boolean hasRoom(int length) {
        return tail() + sizeOf(length) + END_MARK <= capacity();
    }

    /** Checks that a record with such a payload fits, and leaves as many bytes free. */
    void checkRoom(int length, long reserved) {
        if (tail() + sizeOf(length) + END_MARK > capacity() - reserved) {
            throw new LogException(path + " is full: it has " + capacity() + " bytes, of which " + tail() + " are used"
                    + (reserved == 0 ? "" : " and " + reserved + " reserved") + ", and a record of " + length
                    + " does not fit; make larger files on all nodes");
        }
    }

    /** Appends a record, and returns its index. */
    long append(long term, byte[] payload) {
        if (payload.length > MAX_PAYLOAD) {
            throw new LogException(
                    "a record has " + payload.length + " bytes, and at most " + MAX_PAYLOAD + " are allowed");
        }
        checkRoom(payload.length, 0);
        synchronized (lock) {
            long start = endOf(count);
            long size = sizeOf(payload.length);
            memory.set(LONG, start + size, 0);
            memory.set(LONG, start + size - 8, 0);
            MemorySegment.copy(payload, 0, memory, JAVA_BYTE, start + RECORD_HEADER, payload.length);
            memory.set(LONG, start + 8, term);
            memory.set(LONG, start + 16, count + 1L);
            memory.set(INT, start, payload.length);
            int checksum = checksum(start, payload.length, lastChecksum);
            memory.set(INT, start + 4, checksum);
            add(start + size, checksum, term);
            return count;
        }
    }

    private void add(long end, int checksum, long term) {
        if (count == ends.length) {
            ends = Arrays.copyOf(ends, 2 * count);
        }
        ends[count++] = end;
        lastChecksum = checksum;
        lastTerm = term;
    }

    /**
     * Takes the records into the log that follow it in the file and check.
     *
     * @param limit where to stop at the latest
     * @return how many there were
     */
    int extend(long limit) {
        synchronized (lock) {
            int before = count;
            long most = Math.min(limit, capacity());
            for (long start = endOf(count); start + RECORD_HEADER <= most; start = endOf(count)) {
                int length = (int) INT.varHandle().getAcquire(memory, start);
                if (length < 0 || length > MAX_PAYLOAD || start + sizeOf(length) > most) {
                    break;
                }
                int checksum = memory.get(INT, start + 4);
                long term = memory.get(LONG, start + 8);
                if (memory.get(LONG, start + 16) != count + 1L
                        || term < lastTerm
                        || term < 1
                        || checksum(start, length, lastChecksum) != checksum) {
                    break;
                }
                add(start + sizeOf(length), checksum, term);
            }
            return count - before;
        }
    }

    /** Computes the checksum of a record, padding included, from a copy: a peer may be writing it. */
    private int checksum(long start, int length, int before) {
        CRC32C crc = new CRC32C();
        for (int i = 0; i < Integer.SIZE; i += Byte.SIZE) {
            crc.update(before >>> i);
        }
        int head = RECORD_HEADER - Integer.BYTES;
        MemorySegment.copy(memory, JAVA_BYTE, start, copy, 0, Integer.BYTES);
        MemorySegment.copy(memory, JAVA_BYTE, start + 8, copy, Integer.BYTES, RECORD_HEADER - 8);
        crc.update(copy, 0, head);
        int padded = (int) (sizeOf(length) - RECORD_HEADER);
        MemorySegment.copy(memory, JAVA_BYTE, start + RECORD_HEADER, copy, 0, padded);
        crc.update(copy, 0, padded);
        return (int) crc.getValue();
    }

    /** Forgets the records behind one, and puts the mark of the end there. */
    void truncate(long index) {
        synchronized (lock) {
            long end = endOf(index);
            memory.set(LONG, end, 0);
            if (index == 0) {
                lastChecksum = 0;
                lastTerm = 0;
            } else {
                long start = endOf(index - 1);
                lastChecksum = memory.get(INT, start + 4);
                lastTerm = memory.get(LONG, start + 8);
            }
            count = (int) index;
        }
    }

    /** Writes a part of the file to the disk. */
    void force(long from, long to) {
        memory.asSlice(from, to - from).force();
    }

    /** Lets others open the file. It stays mapped until the arena closes. */
    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new LogException("cannot close " + path, e);
        }
    }

    @Override
    public String toString() {
        return path + " with " + lastIndex() + " records, the last of term " + lastTerm();
    }
}
