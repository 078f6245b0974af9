package org.rdmapanama.soft.net;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Libc;
import org.rdmapanama.soft.memory.Memory;

/**
 * The memory of a {@link RingLink}: a file of the shared memory file system that two processes have mapped. It begins with
 * a magic number, a version and a secret; then each side has a block for what it tells the other one; then come the rings.
 *
 * <p>Whoever creates it chooses a random name, and tells the name and the secret to the peer. Whoever opens it trusts
 * nothing but a file that no other user can have made or can change: of its own user, with one name, the right size, and
 * rights for nobody else. Nobody can put another file in the place of that name, because nobody can guess it. Neither
 * creating nor opening it must be done with the lock of the device held.
 */
final class RingFile implements AutoCloseable {
    /** Where shared memory is, on Linux. */
    static final Path DIRECTORY = Path.of("/dev/shm");

    /** What the names of all of them begin with. */
    static final String PREFIX = "org.rdmapanama.soft.ring-";

    /** The bytes of a ring. */
    static final int RING_BYTES = 1 << 20;

    static final int VERSION = 1;

    // The head of the file.
    private static final long MAGIC = 0x72646d6152696e67L;
    private static final int VERSION_AT = 8;
    private static final int RING_BYTES_AT = 12;
    private static final int SECRET_AT = 16;

    // What each side tells the other one, in cache lines of their own, because the other one reads them often.
    private static final int SIDES_AT = 512;
    private static final int SIDE_BYTES = 512;

    /** In the block of a side: how far it has read. */
    static final int POSITION = 0;

    /** In the block of a side: whether it sleeps, so that the other one must wake it up. */
    static final int SLEEPS = 128;

    /** In the block of a side: the state of its end of the link, which is 0 at first. */
    static final int STATE = 256;

    /** In the block of a side: how many bytes of a message a packet to it may carry, if that is more than the path MTU. */
    static final int PAYLOAD = 384;

    /** The side reads what the other one writes. */
    static final int USED = 1;

    /** The side does not use the memory any more. */
    static final int ENDED = 2;

    private static final int HEAD_BYTES = 4096;

    static final int BYTES = HEAD_BYTES + 2 * RING_BYTES;

    private static final Set<PosixFilePermission> RIGHTS = PosixFilePermissions.fromString("rw-------");

    /** S_IFREG, and these rights. */
    private static final int MODE = 0100600;

    /** A file that has a name for so long was left behind by a process that died. */
    private static final long OLD_MILLIS = 60_000;

    /** The files of this process that have a name, which go when the virtual machine ends. */
    private static final Set<Path> NAMED = ConcurrentHashMap.newKeySet();

    /** Whether the virtual machine removes them. Guarded by the monitor of the class. */
    private static boolean isHooked;

    private static final SecureRandom RANDOM = new SecureRandom();

    private final Path path;

    // Not a channel: it would be closed when the thread that asks for the size is interrupted.
    private final RandomAccessFile file;
    private final Arena arena = Arena.ofShared();
    private final long address;

    /** Maps a file. The channel may be closed afterwards. */
    private RingFile(Path path, FileChannel channel) throws IOException {
        this.path = path;
        file = new RandomAccessFile(path.toFile(), "r");
        try {
            address =
                    channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES, arena).address();
        } catch (IOException | RuntimeException | Error e) {
            arena.close();
            file.close();
            throw e;
        }
    }

    /** What a file is found and recognized by: 128 bits of its name, and 128 that are in it only. */
    record Key(long nameHigh, long nameLow, long secretHigh, long secretLow) {
        static Key random() {
            return new Key(RANDOM.nextLong(), RANDOM.nextLong(), RANDOM.nextLong(), RANDOM.nextLong());
        }

        String name() {
            return String.format("%s%016x%016x", PREFIX, nameHigh, nameLow);
        }
    }

    /**
     * Creates a file. All its memory is there, so that no access can fail for the want of it.
     *
     * @throws IOException when that is not possible, for example because the directory is missing or full
     */
    static RingFile create(Path directory, Key key) throws IOException {
        removeAtExit();
        Path path = directory.resolve(key.name());
        Files.createFile(path, PosixFilePermissions.asFileAttribute(RIGHTS));
        NAMED.add(path);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer zeros = KnownMemory.directBuffer(HEAD_BYTES);
            for (int at = 0; at < BYTES; at += channel.write(zeros.clear(), at)) {
                // The size is a multiple of that of the buffer.
            }
            RingFile file = new RingFile(path, channel);
            Memory.putLong(file.address, MAGIC);
            Memory.putInt(file.address + VERSION_AT, VERSION);
            Memory.putInt(file.address + RING_BYTES_AT, RING_BYTES);
            Memory.putLong(file.address + SECRET_AT, key.secretHigh);
            Memory.putLong(file.address + SECRET_AT + Long.BYTES, key.secretLow);
            return file;
        } catch (IOException | RuntimeException | Error e) {
            unlink(path);
            throw e;
        }
    }

    /**
     * Opens the file of another process.
     *
     * @throws IOException when it is not there, or not what it has to be
     */
    static RingFile open(Path directory, Key key) throws IOException {
        Path path = directory.resolve(key.name());
        RingFile file = null;
        try (FileChannel channel =
                FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
            check(path);
            // It may be another one than that of the path only if whoever made that could guess the name.
            if (channel.size() != BYTES) {
                throw new IOException(path + " has " + channel.size() + " bytes, not " + BYTES);
            }
            file = new RingFile(path, channel);
            file.check(key);
            return file;
        } catch (IOException | RuntimeException | Error e) {
            if (file != null) {
                file.close();
            }
            throw e;
        }
    }

    /** Removes the files that processes of this user have left behind, because they died before anybody had accepted them. */
    static void removeOld(Path directory) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, PREFIX + "*")) {
            for (Path each : files) {
                removeIfOld(each);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    private static void removeIfOld(Path path) throws IOException {
        try {
            Map<String, Object> found =
                    Files.readAttributes(path, "unix:uid,lastModifiedTime", LinkOption.NOFOLLOW_LINKS);
            long age = System.currentTimeMillis() - ((FileTime) found.get("lastModifiedTime")).toMillis();
            if ((int) found.get("uid") == Libc.effectiveUser() && age > OLD_MILLIS) {
                Files.deleteIfExists(path);
            }
        } catch (NoSuchFileException e) {
            // Its owner has removed it meanwhile.
        }
    }

    private static void check(Path path) throws IOException {
        Map<String, Object> found = Files.readAttributes(path, "unix:mode,uid,nlink,size", LinkOption.NOFOLLOW_LINKS);
        int mode = (int) found.get("mode");
        int user = (int) found.get("uid");
        int names = (int) found.get("nlink");
        long size = (long) found.get("size");
        if (mode != MODE || user != Libc.effectiveUser() || names != 1 || size != BYTES) {
            throw new IOException(String.format(
                    "%s has mode %o, user %d, %d names and %d bytes; required are %o, %d, 1 and %d",
                    path, mode, user, names, size, MODE, Libc.effectiveUser(), BYTES));
        }
    }

    private void check(Key key) throws IOException {
        if (Memory.getLong(address) != MAGIC
                || Memory.getInt(address + VERSION_AT) != VERSION
                || Memory.getInt(address + RING_BYTES_AT) != RING_BYTES
                || Memory.getLong(address + SECRET_AT) != key.secretHigh
                || Memory.getLong(address + SECRET_AT + Long.BYTES) != key.secretLow) {
            throw new IOException(
                    path + " does not have the magic number, version, sizes and secret that it must have");
        }
    }

    /** Returns the address of the block of a side: 0 for the one that created the file, 1 for the other one. */
    long side(int side) {
        return address + SIDES_AT + (long) side * SIDE_BYTES;
    }

    /** Returns the address of the ring that a side writes. */
    long ring(int side) {
        return address + HEAD_BYTES + (long) side * RING_BYTES;
    }

    /** Says that a side does not use the memory any more. Does nothing if it is gone, which the other side notices by itself. */
    void end(int side) {
        if (isTruncated()) {
            // The JVM might tell of the fault when the caller has gone on.
            return;
        }
        try {
            Memory.putIntRelease(side(side) + STATE, ENDED);
        } catch (InternalError e) {
            // It has become shorter just now.
        }
    }

    /** Removes the name: the file goes when nobody has it mapped. Does nothing if it is gone. */
    void unlink() {
        unlink(path);
    }

    private static void unlink(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            // The other side does the same.
        }
        NAMED.remove(path);
    }

    private static synchronized void removeAtExit() throws IOException {
        if (!isHooked) {
            try {
                Runtime.getRuntime()
                        .addShutdownHook(new Thread(() -> List.copyOf(NAMED).forEach(RingFile::unlink)));
            } catch (IllegalStateException e) {
                throw new IOException("the process ends", e);
            }
            isHooked = true;
        }
    }

    /** Returns whether the file has become shorter, so that accesses fail. */
    boolean isTruncated() {
        try {
            return file.length() < BYTES;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Unmaps it. Nobody may access the memory any more. */
    @Override
    public void close() {
        arena.close();
        try {
            file.close();
        } catch (IOException e) {
            // It is closed either way.
        }
    }
}
