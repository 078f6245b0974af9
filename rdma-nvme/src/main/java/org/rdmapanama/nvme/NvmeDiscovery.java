package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.nvme.wire.DiscoveryLog;

/** Asks a discovery service which subsystems there are (Fabrics 1.1, 5). */
public final class NvmeDiscovery {
    /** Of a peer that says that there are more, the first ones count. */
    private static final int MOST_ENTRIES = 4096;

    /** How often a log that changes meanwhile is read again. */
    private static final int ATTEMPTS = 10;

    private NvmeDiscovery() {}

    /**
     * Connects to a discovery controller, reads its log, and disconnects.
     *
     * @param address the address of the target, or of the discovery service
     * @param options the host's name and times; the name of the subsystem is replaced
     * @return the entries, at most 4096
     * @throws IllegalArgumentException when the host name is unresolved
     * @throws IllegalStateException when the log has an unknown format, or changes all the time
     * @throws InterruptedException when the thread is interrupted
     * @throws NullPointerException when an argument is null
     * @throws NvmeException when the controller refuses or is lost
     * @throws org.rdmapanama.cm.ConnectionException when there is no target at the address
     */
    public static List<DiscoveryEntry> discover(InetSocketAddress address, NvmeOptions options)
            throws InterruptedException {
        try (NvmeController controller =
                NvmeController.connect(address, options.copy().subsystem(DiscoveryLog.NAME))) {
            AdminQueue admin = controller.adminQueue();
            admin.lock();
            try {
                for (int i = 0; i < ATTEMPTS; i++) {
                    List<DiscoveryEntry> entries = read(controller);
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
    private static List<DiscoveryEntry> read(NvmeController controller) {
        MemorySegment header = readLog(controller, 0);
        long generation = DiscoveryLog.generation(header);
        long records = DiscoveryLog.records(header);
        if (DiscoveryLog.format(header) != 0) {
            throw new IllegalStateException("the discovery log at " + controller.address() + " has the unknown format "
                    + DiscoveryLog.format(header));
        }
        List<DiscoveryEntry> entries = new ArrayList<>();
        for (long i = 0; i < Math.min(records, MOST_ENTRIES) && records > 0; i++) {
            entries.add(entry(readLog(controller, DiscoveryLog.HEADER_BYTES + i * DiscoveryLog.ENTRY_BYTES)));
        }
        return DiscoveryLog.generation(readLog(controller, 0)) == generation ? entries : null;
    }

    private static MemorySegment readLog(NvmeController controller, long offset) {
        return controller
                .adminQueue()
                .readLog("Get Log Page (discovery)", DiscoveryLog.PAGE, offset, DiscoveryLog.ENTRY_BYTES);
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
