package org.rdmapanama.spark.transfer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsException;
import org.rdmapanama.memory.AccessFlag;

/**
 * The files that peers may read. They are registered when they are first asked for, and stay so until others need the room:
 * then those go that were not used for longest, but none that is lent.
 *
 * <p>Threads: any.
 */
final class FileRegions implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(FileRegions.class);

    private final FileRegistrar registrar;
    private final long budget;
    private final ReentrantLock lock = new ReentrantLock();

    /** Signalled when a region is registered or deregistered, and when nobody uses one any more. */
    private final Condition changed = lock.newCondition();

    /** In the order of their last use. Guarded by the lock, and the next ones. */
    private final Map<Path, FileRegion> regions = new LinkedHashMap<>(16, 0.75f, true);

    private long pinned;
    private boolean closed;

    final LongAdder registered = new LongAdder();
    final LongAdder evicted = new LongAdder();

    FileRegions(ProtectionDomain domain, long budget) {
        registrar = new FileRegistrar(memory -> domain.registerUnsafe(memory, AccessFlag.REMOTE_READ));
        this.budget = budget;
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
     * @return the region; null if there is no room for it beside those that are lent, or if it is to go
     * @throws java.nio.file.NoSuchFileException when there is no such file
     * @throws IOException when the file is empty, or cannot be mapped
     * @throws VerbsException when it cannot be registered
     * @throws InterruptedException when the thread is interrupted while another one registers it
     */
    FileRegion lend(Path file, int shuffle) throws IOException, InterruptedException {
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
                return known;
            }
            long bytes = Files.size(file);
            if (bytes == 0) {
                throw new IOException(file + " is empty");
            }
            if (closed || !makeRoom(bytes, leaving)) {
                return null;
            }
            region = new FileRegion(file, shuffle, bytes);
            region.users = 1;
            pinned += bytes;
            regions.put(file, region);
        } finally {
            lock.unlock();
            // What it evicts may be evicted though there is not enough room.
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

    private boolean makeRoom(long bytes, List<FileRegion> leaving) {
        if (bytes > budget) {
            return false;
        }
        for (Iterator<FileRegion> each = regions.values().iterator(); pinned + bytes > budget && each.hasNext(); ) {
            FileRegion oldest = each.next();
            if (oldest.users == 0 && !oldest.isChanging) {
                take(oldest, leaving);
                // Its room is taken at once, by the caller, which deregisters it before it registers another.
                pinned -= oldest.bytes();
                evicted.increment();
            }
        }
        return pinned + bytes <= budget;
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
