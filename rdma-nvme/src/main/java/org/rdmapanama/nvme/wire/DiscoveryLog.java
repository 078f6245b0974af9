package org.rdmapanama.nvme.wire;

import java.lang.foreign.MemorySegment;

/** The discovery log page: a header and entries of 1024 bytes each (Fabrics 1.1, 5.3; Base 2.0, 5.16.1.23). */
public final class DiscoveryLog {
    public static final int PAGE = 0x70;
    public static final int HEADER_BYTES = 1024;
    public static final int ENTRY_BYTES = 1024;

    /** The name under which every discovery controller can be reached. */
    public static final String NAME = "nqn.2014-08.org.nvmexpress.discovery";

    public static final int RDMA = 1;
    public static final int IPV4 = 1;
    public static final int IPV6 = 2;

    /** Subsystem types: another discovery service, an NVM subsystem, and this discovery service itself. */
    public static final int REFERRAL = 1;

    public static final int NVM = 2;
    public static final int CURRENT = 3;

    private static final int SERVICE = 32;
    private static final int SERVICE_BYTES = 32;
    private static final int SUBSYSTEM = 256;
    private static final int ADDRESS = 512;
    private static final int ADDRESS_BYTES = 256;
    private static final int TRANSPORT_SPECIFIC = 768;

    private DiscoveryLog() {}

    public static void header(MemorySegment log, long generation, long records) {
        Fields.set64(log, 0, generation);
        Fields.set64(log, 8, records);
    }

    /** Changes with every change of the entries. */
    public static long generation(MemorySegment log) {
        return Fields.get64(log, 0);
    }

    public static long records(MemorySegment log) {
        return Fields.get64(log, 8);
    }

    public static int format(MemorySegment log) {
        return Fields.get16(log, 16);
    }

    /** Writes an entry of RDMA with connected queue pairs and the connection manager; the memory must be zero. */
    public static void entry(
            MemorySegment entry, int type, int family, String name, String address, String service, int adminSize) {
        Fields.set8(entry, 0, RDMA);
        Fields.set8(entry, 1, family);
        Fields.set8(entry, 2, type);
        Fields.set16(entry, 4, 1);
        Fields.set16(entry, 6, ConnectData.ANY_CONTROLLER);
        Fields.set16(entry, 8, adminSize);
        Fields.text(entry, SERVICE, SERVICE_BYTES, service, '\0');
        Fields.text(entry, SUBSYSTEM, Fields.NAME_BYTES, name, '\0');
        Fields.text(entry, ADDRESS, ADDRESS_BYTES, address, '\0');
        Fields.set8(entry, TRANSPORT_SPECIFIC, 1);
        Fields.set8(entry, TRANSPORT_SPECIFIC + 1L, 1);
        Fields.set8(entry, TRANSPORT_SPECIFIC + 2L, 1);
    }

    public static int transport(MemorySegment entry) {
        return Fields.get8(entry, 0);
    }

    public static int family(MemorySegment entry) {
        return Fields.get8(entry, 1);
    }

    public static int type(MemorySegment entry) {
        return Fields.get8(entry, 2);
    }

    public static int port(MemorySegment entry) {
        return Fields.get16(entry, 4);
    }

    public static int controller(MemorySegment entry) {
        return Fields.get16(entry, 6);
    }

    public static String service(MemorySegment entry) {
        return Fields.text(entry, SERVICE, SERVICE_BYTES);
    }

    public static String name(MemorySegment entry) {
        return Fields.text(entry, SUBSYSTEM, Fields.NAME_BYTES);
    }

    public static String address(MemorySegment entry) {
        return Fields.text(entry, ADDRESS, ADDRESS_BYTES);
    }
}
