package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.nvme.wire.DiscoveryLog;

/** Asks a discovery service which subsystems there are (Fabrics 1.1, 5). */
public final class NvmeDiscovery {
    /** Of a peer that says that there are more, the first ones count. */
    private static final int MOST_ENTRIES = 4096;

    /** How many entries one command reads, if the controller allows it. */
    private static final int ENTRIES_AT_ONCE = 16;

    /** How often a log that changes meanwhile is read again. */
    private static final int ATTEMPTS = 10;

    private NvmeDiscovery() {}

    /**
     * Connects to a discovery controller, reads its log, and disconnects. Reading ends after {@link NvmeOptions#commandTimeout},
     * however many entries there are.
     *
     * @param address the address of the target, or of the discovery service
     * @param options the host's name and times; the name of the subsystem is replaced
     * @return the entries, at most 4096
     * @throws IllegalArgumentException when the host name is unresolved
     * @throws IllegalStateException when the log has an unknown format, changes all the time, or takes too long
     * @throws InterruptedException when the thread is interrupted
     * @throws NullPointerException when an argument is null
     * @throws NvmeException when the controller refuses or is lost
     * @throws org.rdmapanama.cm.ConnectionException when there is no target at the address
     */
    public static List<DiscoveryEntry> discover(InetSocketAddress address, NvmeOptions options)
            throws InterruptedException {
        try (NvmeController controller =
                NvmeController.connect(address, options.copy().subsystem(DiscoveryLog.NAME))) {
            long deadline = System.nanoTime() + options.commandTimeout().toNanos();
            AdminQueue admin = controller.adminQueue();
            admin.lock();
            try {
                for (int i = 0; i < ATTEMPTS; i++) {
                    List<DiscoveryEntry> entries = read(controller, deadline);
                    if (entries != null) {
                        return entries;
                    }
                }
            } finally {
                admin.unlock();
            }
        }
        throw new IllegalStateException(
                "the discovery log at " + address + " has changed in each of " + ATTEMPTS + " attempts to read it");
    }

    /** Returns the entries; null if the log has changed meanwhile. */
    private static @Nullable List<DiscoveryEntry> read(NvmeController controller, long deadline)
            throws InterruptedException {
        MemorySegment header = readLog(controller, 0, 1, deadline);
        long generation = DiscoveryLog.generation(header);
        long records = DiscoveryLog.records(header);
        if (DiscoveryLog.format(header) != 0) {
            throw new IllegalStateException("the discovery log at " + controller.address() + " has the unknown format "
                    + DiscoveryLog.format(header));
        }
        int count = records < 0 ? 0 : (int) Math.min(records, MOST_ENTRIES);
        int atOnce = Math.clamp(controller.maxTransfer() / DiscoveryLog.ENTRY_BYTES, 1, ENTRIES_AT_ONCE);
        List<DiscoveryEntry> entries = new ArrayList<>();
        while (entries.size() < count) {
            int some = Math.min(atOnce, count - entries.size());
            long offset = DiscoveryLog.HEADER_BYTES + (long) entries.size() * DiscoveryLog.ENTRY_BYTES;
            MemorySegment read = readLog(controller, offset, some, deadline);
            for (int i = 0; i < some; i++) {
                entries.add(entry(read.asSlice((long) i * DiscoveryLog.ENTRY_BYTES, DiscoveryLog.ENTRY_BYTES)));
            }
        }
        return DiscoveryLog.generation(readLog(controller, 0, 1, deadline)) == generation ? entries : null;
    }

    /** Reads entries, or the header, which has the same size. */
    private static MemorySegment readLog(NvmeController controller, long offset, int entries, long deadline)
            throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (System.nanoTime() - deadline > 0) {
            throw new IllegalStateException("the discovery log at " + controller.address()
                    + " was not read in the time for commands, up to its offset " + offset
                    + ": the target is slow, or NvmeOptions.commandTimeout too short");
        }
        return controller
                .adminQueue()
                .readLog("Get Log Page (discovery)", DiscoveryLog.PAGE, offset, entries * DiscoveryLog.ENTRY_BYTES);
    }

    private static DiscoveryEntry entry(MemorySegment entry) {
        return new DiscoveryEntry(
                DiscoveryLog.transport(entry),
                DiscoveryLog.family(entry),
                DiscoveryLog.type(entry),
                DiscoveryLog.port(entry),
                DiscoveryLog.controller(entry),
                DiscoveryLog.name(entry),
                DiscoveryLog.address(entry),
                DiscoveryLog.service(entry));
    }
}
