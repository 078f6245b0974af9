package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_device;
import org.rdmapanama.internal.provider.ConnectionManager;

/**
 * The devices that the connection manager knows; see rdma_get_devices(3).
 *
 * <p>librdmacm opens a device when an id is bound to it, or when it lists the devices, and keeps it open, for the next id,
 * until the process ends. Some drivers, Soft-RoCE's and Software iWARP's among them, make who removes a device wait until
 * nobody has it open. Only while it lists them does librdmacm look which are gone, and closes those, each once no id is
 * bound to it. {@link EventChannel} has it do so when a {@link CmEventType#DEVICE_REMOVAL} comes; a program that has no
 * id there, to which the event could come, calls {@link #names}. So it is with the devices that {@link RdmaClient} and
 * {@link RdmaServer} have opened in an arena, once nobody is connected through them.
 *
 * <p>Threads: any.
 */
public final class RdmaDevices {
    /** Whether the library was to look for devices that are gone, and could not. */
    private static volatile boolean owed;

    private RdmaDevices() {}

    /**
     * Which devices there are at this moment. librdmacm opens those that it has not opened yet, and closes those that are
     * gone, and so do the arenas of clients and servers.
     *
     * @return their names, such as {@code rxe0}; all that can be opened
     * @throws ConnectionException when there are none, the kernel does not tell, or there are not enough file descriptors
     *     for opening them (EMFILE): librdmacm would take those that it cannot open for dead
     * @throws UnsatisfiedLinkError when librdmacm is not installed, naming the package that has it
     * @verb rdma_get_devices
     * @verb rdma_free_devices
     */
    public static List<String> names() {
        ConnectionManager manager = ConnectionManagers.preferred();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            long list = manager.getDevices(count.address());
            if (list < 0) {
                throw Failures.of("rdma_get_devices", (int) list, "");
            }
            List<String> names = new ArrayList<>();
            try {
                Set<Long> devices = devices(Native.struct(list, count.get(JAVA_INT, 0) * JAVA_LONG.byteSize()));
                devices.forEach(device -> names.add(name(MemorySegment.ofAddress(device))));
                Devices.keepOnly(devices);
            } finally {
                manager.freeDevices(list);
            }
            Devices.closeAllRemoved();
            return List.copyOf(names);
        }
    }

    /** The struct ibv_device of each context, in their order. */
    private static Set<Long> devices(MemorySegment contexts) {
        Set<Long> devices = new LinkedHashSet<>();
        for (long offset = 0; offset < contexts.byteSize(); offset += JAVA_LONG.byteSize()) {
            MemorySegment context = Native.struct(contexts.get(JAVA_LONG, offset), ibv_context.sizeof());
            devices.add(ibv_context.device(context).address());
        }
        return devices;
    }

    /** The name of a native device. */
    static String name(MemorySegment device) {
        return ibv_device
                .name(Native.struct(device.address(), ibv_device.sizeof()))
                .getString(0);
    }

    /** Has the library close devices that are gone. */
    static void letGoOfRemoved(ConnectionManager manager) {
        long list = manager.getDevices(0);
        // It fails where the last device is gone: then it has not looked.
        if (list > 0) {
            manager.freeDevices(list);
        }
        owed = list == -Errno.EMFILE;
    }

    /** As {@link #letGoOfRemoved}, if that was called when too many files were open. */
    static void letGoOfOwed(ConnectionManager manager) {
        if (owed) {
            letGoOfRemoved(manager);
        }
    }
}
