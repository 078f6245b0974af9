package org.rdmapanama.spark.transfer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsException;
import org.rdmapanama.memory.AccessFlag;

/**
 * The files that peers may read. They are registered when they are first asked for, and stay so until others need the room:
 * then those go that were not used for longest, but none that is lent, or was so a moment ago. Otherwise readers of more files
 * than there is room for would take the room from each other, and each block would cost the registration of a whole file.
 *
 * <p>Threads: any.
 */
final class FileRegions implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(FileRegions.class);

    /** The memory that may be locked is used up; see setrlimit(2). */
    private static final int ENOMEM = 12;

    /** How long nothing is said of that again. */
    private static final long PAUSE_NANOS = 60_000_000_000L;

    private final FileRegistrar registrar;
    private final long budget;

    /** For how long a file must not have been used before it may go. */
    private final long restNanos;

    private final ReentrantLock lock = new ReentrantLock();

    /** Signalled when a region is registered or deregistered, and when nobody uses one any more. */
    private final Condition changed = lock.newCondition();

    /** In the order of their last use. Guarded by the lock, and the next ones. */
    private final Map<Path, FileRegion> regions = new LinkedHashMap<>(16, 0.75f, true);

    /** When it was said last that no more memory may be locked. */
    private final AtomicLong limitTold = new AtomicLong(System.nanoTime() - 2 * PAUSE_NANOS);

    private long pinned;
    private boolean closed;

    final LongAdder registered = new LongAdder();
    final LongAdder evicted = new LongAdder();

    /**
     * Creates this without a file.
     *
     * @param domain where files are registered
     * @param budget the most bytes that are registered at once
     * @param rest for how long a file must not have been used before it may go for another one
     */
    FileRegions(ProtectionDomain domain, long budget, Duration rest) {
        registrar = new FileRegistrar(memory -> domain.registerUnsafe(memory, AccessFlag.REMOTE_READ));
        this.budget = budget;
        restNanos = rest.toNanos();
    }

    /** Returns how many bytes are registered. */
    long pinned() {
        lock.lock();
        try {
            return pinned;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lends a file, which stays registered until it is returned.
     *
     * @param file the file
     * @param shuffle to which shuffle it belongs
     * @return the region; null if there is no room for it beside those that are used, in the budget or in the memory that this
     *     process may lock, or if it is to go
     * @throws java.nio.file.NoSuchFileException when there is no such file
     * @throws IOException when the file is empty, or cannot be mapped
     * @throws VerbsException when it cannot be registered for another reason
     * @throws InterruptedException when the thread is interrupted while another one registers it
     */
    FileRegion lend(Path file, int shuffle) throws IOException, InterruptedException {
        try {
            return lend(file, shuffle, false);
        } catch (VerbsException e) {
            tellOfLimit(file, e);
        }
        try {
            return lend(file, shuffle, true);
        } catch (VerbsException e) {
            tellOfLimit(file, e);
            return null;
        }
    }

    /** Logs, now and then, that no more memory may be locked. Throws any other failure. */
    private void tellOfLimit(Path file, VerbsException failure) {
        if (failure.errno() != ENOMEM) {
            throw failure;
        }
        long now = System.nanoTime();
        long last = limitTold.get();
        boolean isNews = now - last > PAUSE_NANOS && limitTold.compareAndSet(last, now);
        LOG.log(
                isNews ? Level.WARN : Level.DEBUG,
                "{} cannot be registered beside {} bytes of other files: {}",
                file,
                pinned(),
                failure.getMessage());
    }

    /** Lends a file, and lets as much as it has go before if the memory that may be locked is used up. */
    private FileRegion lend(Path file, int shuffle, boolean isUsedUp) throws IOException, InterruptedException {
        List<FileRegion> leaving = new ArrayList<>();
        FileRegion region;
        lock.lock();
        try {
            FileRegion known = await(file);
            if (known != null) {
                if (known.isForgotten) {
                    return null;
                }
                known.users++;
                known.used = System.nanoTime();
                return known;
            }
            long bytes = Files.size(file);
            if (bytes == 0) {
                throw new IOException(file + " is empty");
            }
            long missing = pinned + bytes - budget;
            if (closed || !makeRoom(isUsedUp ? Math.max(missing, bytes) : missing, leaving)) {
                return null;
            }
            region = new FileRegion(file, shuffle, bytes);
            region.users = 1;
            pinned += bytes;
            regions.put(file, region);
        } finally {
            lock.unlock();
            close(leaving);
        }
        open(region);
        return region;
    }

    /**
     * Returns whether a file that was not lent can never be, because it is larger than the whole budget. Without a budget there
     * is no such file: then nothing is lent.
     *
     * @param file the file
     * @throws IOException when there is no such file any more
     */
    boolean isTooLarge(Path file) throws IOException {
        return budget > 0 && Files.size(file) > budget;
    }

    /** Returns the region of a file, once it is registered; null if there is none. */
    private FileRegion await(Path file) throws InterruptedException {
        FileRegion known = regions.get(file);
        while (known != null && known.isChanging) {
            changed.await();
            known = regions.get(file);
        }
        return known;
    }

    /** Lets files go that have so many bytes, or none of them if they have not. */
    private boolean makeRoom(long bytes, List<FileRegion> leaving) {
        long missing = bytes;
        long now = System.nanoTime();
        List<FileRegion> oldest = new ArrayList<>();
        for (Iterator<FileRegion> all = regions.values().iterator(); missing > 0 && all.hasNext(); ) {
            FileRegion each = all.next();
            if (each.users == 0 && !each.isChanging && now - each.used >= restNanos) {
                oldest.add(each);
                missing -= each.bytes();
            }
        }
        if (missing > 0) {
            return false;
        }
        // Their room is taken at once, by the caller, which deregisters them before it registers another.
        oldest.forEach(each -> leave(each, leaving));
        evicted.add(oldest.size());
        return true;
    }

    private static void take(FileRegion region, List<FileRegion> leaving) {
        region.isChanging = true;
        leaving.add(region);
    }

    private void open(FileRegion region) throws IOException {
        boolean opened = false;
        try {
            region.open(registrar);
            opened = true;
            registered.increment();
        } finally {
            lock.lock();
            try {
                region.isChanging = false;
                if (!opened) {
                    pinned -= region.bytes();
                    regions.remove(region.file());
                }
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Deregisters regions. One that cannot be deregistered stays mapped, and the others go all the same. */
    private void close(List<FileRegion> leaving) {
        for (FileRegion each : leaving) {
            try {
                each.close();
            } catch (RuntimeException e) {
                LOG.warn("{} stays registered: {}", each.file(), e.getMessage());
            } finally {
                lock.lock();
                try {
                    regions.remove(each.file());
                    changed.signalAll();
                } finally {
                    lock.unlock();
                }
            }
        }
    }

    /** Takes a region back that was lent. */
    void giveBack(FileRegion region) {
        List<FileRegion> leaving = new ArrayList<>();
        lock.lock();
        try {
            region.users--;
            region.used = System.nanoTime();
            if (region.users == 0) {
                if (region.isForgotten && !region.isChanging) {
                    leave(region, leaving);
                }
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
        close(leaving);
    }

    private void leave(FileRegion region, List<FileRegion> leaving) {
        take(region, leaving);
        pinned -= region.bytes();
    }

    /**
     * Lets the files of a shuffle go: those that are lent once they are given back.
     *
     * @return whether all of them are gone by the end of the time
     * @throws InterruptedException when the thread is interrupted
     */
    boolean forget(int shuffle, long nanos) throws InterruptedException {
        List<FileRegion> leaving = new ArrayList<>();
        lock.lock();
        try {
            for (FileRegion each : regions.values()) {
                if (each.shuffle() == shuffle && !each.isForgotten) {
                    each.isForgotten = true;
                    if (each.users == 0 && !each.isChanging) {
                        leave(each, leaving);
                    }
                }
            }
        } finally {
            lock.unlock();
        }
        close(leaving);
        return awaitGone(shuffle, nanos);
    }

    private boolean awaitGone(int shuffle, long nanos) throws InterruptedException {
        long left = nanos;
        lock.lock();
        try {
            while (regions.values().stream().anyMatch(each -> each.shuffle() == shuffle)) {
                if (left <= 0) {
                    return false;
                }
                left = changed.awaitNanos(left);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Deregisters everything; nothing may be lent any more, since all connections are closed. */
    @Override
    public void close() {
        List<FileRegion> leaving = new ArrayList<>();
        lock.lock();
        try {
            closed = true;
            for (FileRegion each : regions.values()) {
                if (!each.isChanging) {
                    leave(each, leaving);
                }
            }
        } finally {
            lock.unlock();
        }
        close(leaving);
    }
}
